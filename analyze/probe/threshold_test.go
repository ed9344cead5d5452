package probe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// failing adds refused attempts of a probe of pod 0, one every five seconds from
// one on, and returns when the last was over.
func (s *scene) failing(t event.ProbeType, from float64, n int) event.Nanos {
	var at event.Nanos
	for i := range n {
		at = t0.Add(sec(from + 5*float64(i)))
		s.failed(0, t, at, refused(0))
	}
	return at
}

func (s *scene) says(t event.ProbeType, status string, at event.Nanos) {
	s.add(logStream, at, &event.ProbeState{Pod: podRef(0), Probe: t, Status: status})
}

// crossings are the positions of marked attempts.
func crossings(w *Worker, which string) []int {
	var out []int
	for i, a := range w.Attempts {
		if a.Threshold == which {
			out = append(out, i)
		}
	}
	return out
}

func kinds(a *Attempt) []string {
	var out []string
	for _, e := range a.Effects {
		out = append(out, e.Kind)
	}
	return out
}

func TestThresholdsTheKubeletTells(t *testing.T) {
	s := newScene().pod(0, readiness(5*time.Second))
	s.failing(event.Readiness, 1, 3)
	s.says(event.Readiness, "not ready", t0.Add(sec(11)+300*time.Microsecond))
	s.failing(event.Readiness, 11.1, 4)
	s.says(event.Readiness, "ready", t0.Add(sec(61)))
	w := s.grown().worker(0, event.Readiness)
	require.Equal(t, []int{2}, crossings(w, CrossedFailure))
	assert.Equal(t, []string{EffectNotReady}, kinds(w.Attempts[2]))
	assert.NotZero(t, w.Attempts[2].Effects[0].Ref)
}

// Without a word of the kubelet attempts are counted, and counted from one again
// where a success may lie between.
func TestThresholdsCounted(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(s *scene)
		want []int
	}{
		{"three in a row", func(s *scene) { s.failing(event.Liveness, 1, 5) }, []int{2}},
		{"two and a pause", func(s *scene) {
			s.failing(event.Liveness, 1, 2)
			s.failing(event.Liveness, 21, 3)
		}, []int{4}},
		{"errors do not count", func(s *scene) {
			s.failing(event.Liveness, 1, 2)
			s.add(logStream, t0.Add(sec(11)), &event.ProbeResult{Pod: podRef(0), Container: "web", Probe: event.Liveness, Outcome: event.OutcomeErrored, Output: "rpc error"})
			s.failed(0, event.Liveness, t0.Add(sec(12)), refused(0))
		}, []int{3}},
		{"once until it succeeds", func(s *scene) {
			s.failing(event.Liveness, 1, 7)
		}, []int{2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene().pod(0, liveness(5*time.Second))
			tc.make(s)
			assert.Equal(t, tc.want, crossings(s.grown().worker(0, event.Liveness), CrossedFailure))
		})
	}
}

// A kill belongs to the attempt that decided it, not to those that went on while
// the kubelet was busy.
func TestKillIsLinked(t *testing.T) {
	s := newScene().pod(0, liveness(5*time.Second))
	s.failing(event.Liveness, 1, 4)
	s.add(logStream, t0.Add(sec(17)), &event.ContainerState{Pod: podRef(0), Container: "web", ID: "c-0", Op: event.ContainerUnhealthy, Probe: event.Liveness})
	w := s.grown().worker(0, event.Liveness)
	require.Equal(t, []int{2}, crossings(w, CrossedFailure))
	require.Equal(t, []string{EffectRestart}, kinds(w.Attempts[2]))
	assert.Equal(t, t0.Add(sec(17)), w.Attempts[2].Effects[0].At)
}

// What the API and the endpoints say is linked where it follows the crossing.
func TestAPIIsLinked(t *testing.T) {
	s := newScene().pod(0, readiness(5*time.Second))
	end := s.failing(event.Readiness, 1, 3)
	seen := s.events[0].Payload.(*event.PodSeen)
	seen.Conditions = []event.Condition{{Type: "Ready", Status: "False", Reason: "ContainersNotReady", Since: end}}
	s.add(objectStream, end, &event.ObjectSeen{ObjectKind: "Endpoints", Namespace: "shop", Name: "web", Facts: []event.Fact{
		{Key: event.FactLastChange, Value: end.Add(2 * time.Second).Time().Format(time.RFC3339)}, {Key: event.FactNotReady, Value: "web-0"}}})
	w := s.grown().worker(0, event.Readiness)
	assert.Equal(t, []string{EffectAPINotReady, EffectEndpoint}, kinds(w.Attempts[2]))
}

// A probe that is good again is marked by the attempt that made it so.
func TestCrossedSuccess(t *testing.T) {
	s := newScene().captured(t0, t0.Add(5*time.Minute), 8080).pod(0, event.ProbeSpec{Type: event.Readiness, Period: 5 * time.Second, Success: 2}).sync(t0).sync(t0.Add(5 * time.Minute))
	for i := range 3 {
		at := t0.Add(sec(1 + 5*float64(i)))
		s.flow(0, at, refuses).failed(0, event.Readiness, at.Add(100*time.Microsecond), refused(0))
	}
	for i := range 4 {
		s.flow(0, t0.Add(sec(16+5*float64(i))), answers)
	}
	w := s.grown().worker(0, event.Readiness)
	assert.Equal(t, []int{2}, crossings(w, CrossedFailure))
	assert.Equal(t, []int{4}, crossings(w, CrossedSuccess))
}

// A new container begins as not ready: the kubelet says so with its first attempt,
// which decided nothing.
func TestInitialResultIsNoCrossing(t *testing.T) {
	s := newScene().pod(0, readiness(5*time.Second))
	s.failing(event.Readiness, 1, 1)
	s.says(event.Readiness, "not ready", t0.Add(sec(1)+300*time.Microsecond))
	s.failing(event.Readiness, 6, 4)
	w := s.grown().worker(0, event.Readiness)
	assert.Empty(t, crossings(w, CrossedFailure))
}
