package probe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// What the kubelet does not run is no attempt that is missing: probes wait for
// their initial delay after every start of the container, for the startup probe
// of this run, and end with the pod's deletion, readiness excepted.
func TestWhenAProbeMayRun(t *testing.T) {
	startup := event.ProbeSpec{Type: event.Startup, Period: 5 * time.Second}
	pod := func(probes ...event.ProbeSpec) *identity.Pod {
		return &identity.Pod{PodRef: podRef(0), Containers: []event.ContainerSpec{{Name: "web", Probes: probes}},
			Runs: []identity.Run{{Container: "web", ID: "1", From: t0, To: t0.Add(sec(100))}, {Container: "web", ID: "2", From: t0.Add(sec(120))}}}
	}
	worker := func(p *identity.Pod, t event.ProbeType) *Worker {
		return &Worker{Pod: p, Container: "web", Type: t, Spec: p.Spec("web", t)}
	}
	delayed := event.ProbeSpec{Type: event.Readiness, Period: 5 * time.Second, InitialDelay: 30 * time.Second}

	t.Run("initial delay, after each start", func(t *testing.T) {
		w := worker(pod(delayed), event.Readiness)
		for at, may := range map[float64]bool{10: false, 40: true, 130: false, 160: true} {
			assert.Equal(t, may, w.mayRun(t0.Add(sec(at))), at)
		}
	})
	t.Run("startup gates the others, in each run anew", func(t *testing.T) {
		p := pod(startup, readiness(5*time.Second), liveness(5*time.Second))
		p.Ready = []identity.ReadyChange{{At: t0.Add(sec(40)), Probe: event.Startup, Status: "started"}, {At: t0.Add(sec(180)), Probe: event.Startup, Status: "started"}}
		for at, may := range map[float64]bool{20: false, 60: true, 150: false, 200: true} {
			assert.Equal(t, may, worker(p, event.Readiness).mayRun(t0.Add(sec(at))), at)
			assert.Equal(t, may, worker(p, event.Liveness).mayRun(t0.Add(sec(at))), at)
			assert.Equal(t, !may, worker(p, event.Startup).mayRun(t0.Add(sec(at))), at)
		}
	})
	t.Run("without a word of the startup probe nothing is excluded", func(t *testing.T) {
		assert.True(t, worker(pod(startup, readiness(5*time.Second)), event.Readiness).mayRun(t0.Add(sec(20))))
	})
	t.Run("a terminating pod keeps its readiness probe", func(t *testing.T) {
		p := pod(readiness(5*time.Second), liveness(5*time.Second), startup)
		p.DeletedAt = t0.Add(sec(130))
		assert.True(t, worker(p, event.Readiness).mayRun(t0.Add(sec(140))))
		assert.False(t, worker(p, event.Liveness).mayRun(t0.Add(sec(140))))
		assert.False(t, worker(p, event.Startup).mayRun(t0.Add(sec(140))))
		assert.True(t, worker(p, event.Liveness).mayRun(t0.Add(sec(125))))
	})
}

// The kubelet starts workers at a random part of the period: each grid has the
// phase of its own attempts, and misses its own tick.
func TestStartJitter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		end := t0.Add(41 * time.Second)
		s := newScene().captured(t0, end, 8080).sync(t0).sync(t0.Add(10 * time.Minute))
		phases := rapid.SliceOfN(rapid.Float64Range(0.3, 4.7), 1, 3).Draw(t, "phases")
		skip := rapid.IntRange(1, 5).Draw(t, "skipped tick")
		for n, phase := range phases {
			s.pod(n, readiness(5*time.Second))
			for tick := range 7 {
				if tick != skip {
					s.flow(n, t0.Add(sec(phase+5*float64(tick))), answers)
				}
			}
		}
		set := s.grown()
		for n, phase := range phases {
			got := runs(set.worker(n, event.Readiness))
			if len(got) == 0 {
				t.Fatalf("pod %d misses nothing", n)
			}
			want := phase + 5*float64(skip)
			if d := got[0].first - want; d > 0.01 || d < -0.01 || got[0].n != 1 {
				t.Fatalf("pod %d misses %v, not one tick at %v", n, got[0], want)
			}
		}
	})
}

// Another numbering of attempts and connections matches as many for as much.
func TestAssignDoesNotDependOnNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m, edges := drawn(t)
		numbers := func(n int, label string) []int {
			out := make([]int, n)
			for i := range out {
				out[i] = i
			}
			return rapid.Permutation(out).Draw(t, label)
		}
		as, cs := numbers(n, "attempts"), numbers(m, "connections")
		renamed := make([]edge, len(edges))
		for i, e := range edges {
			renamed[i] = edge{as[e.a], cs[e.c], e.cost}
		}
		x, _ := assign(n, m, edges)
		y, _ := assign(n, m, renamed)
		p, c := sum(t, edges, x)
		q, d := sum(t, renamed, y)
		if p != q || c != d {
			t.Fatalf("%d pairs for %d, renamed %d for %d", p, c, q, d)
		}
	})
}
