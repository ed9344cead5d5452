package clock

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// world writes what two clocks note about pods that are created, taken by the
// kubelet, probed and written about. API times are off by -by: by must be added.
type world struct {
	events []*event.Event
	by     time.Duration
	zone   time.Duration // of the log's stamps, which name none
}

const logStream, auditStream, objectStream = event.StreamID(1), event.StreamID(2), event.StreamID(3)

func (w *world) log(at event.Nanos, p event.Payload) {
	w.events = append(w.events, &event.Event{Node: "n", Ref: event.Ref{Stream: logStream, Line: int64(len(w.events) + 1)},
		Time: event.Stamp{At: at.Add(w.zone), Precision: time.Microsecond, Missing: event.MissingZone}, Payload: p})
}

func (w *world) api(at event.Nanos) event.Nanos { return at.Add(-w.by) }

func (w *world) audit(at event.Nanos, p event.Payload) {
	w.events = append(w.events, &event.Event{Ref: event.Ref{Stream: auditStream}, Time: event.Known(w.api(at), time.Microsecond), Payload: p})
}

func (w *world) object(p event.Payload) {
	w.events = append(w.events, &event.Event{Ref: event.Ref{Stream: objectStream}, Payload: p})
}

func seconds(at event.Nanos) event.Nanos { return at - at%event.Nanos(time.Second) }

// pod plays the life of one pod; wait draws how long each step takes.
func (w *world) pod(name string, at event.Nanos, wait func() time.Duration) event.Nanos {
	ref := event.PodRef{Namespace: "ns", Name: name, UID: "uid-" + name}
	created := w.api(at)
	at = at.Add(wait())
	w.audit(at, &event.PodSync{Op: event.SyncAdd, Source: "audit", Pod: ref})
	at = at.Add(wait())
	w.log(at, &event.PodSync{Op: event.SyncAdd, Source: "api", Pod: ref})
	started := seconds(at)
	at = at.Add(wait())
	w.audit(at, &event.PodSync{Op: event.SyncUpdate, Source: "audit", Pod: ref})
	at = at.Add(wait())
	w.log(at, &event.PodSync{Op: event.SyncStatus, Source: "status-patch", Pod: ref, Newest: started})
	w.object(&event.PodSeen{Pod: ref, Node: "n", Created: seconds(created), StartTime: started})
	at = at.Add(10 * time.Second)
	w.log(at, &event.ProbeResult{Pod: ref, Container: "c", Probe: event.Readiness, Outcome: event.OutcomeFailed, Output: "refused"})
	first := event.Known(seconds(at), time.Second)
	at = at.Add(wait())
	w.object(&event.K8sEvent{ObjectKind: "Pod", Namespace: "ns", Name: name, Container: "c", Reason: "Unhealthy", Component: "kubelet", Host: "n",
		Message: "Readiness probe failed: refused", Count: 1, First: first, Last: first, Created: seconds(w.api(at))})
	return at
}

func compare(events []*event.Event) (map[Kind]Comparison, *Resolver) {
	r, c := New(nil, Hints{}), NewComparer()
	for _, e := range events {
		r.Observe(e)
		c.Observe(e)
	}
	c.Zones(r)
	r.Settle()
	out := make(map[Kind]Comparison)
	for _, x := range c.Compare(r) {
		out[x.Kind] = x
	}
	return out, r
}

// Whatever the API server's clock is off by and whatever the zone of the log,
// the range found for each clock holds the true offset, in any order of records.
func TestCompareHoldsTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{
			by:   time.Duration(rapid.Int64Range(-int64(3*time.Minute), int64(3*time.Minute)).Draw(t, "by")),
			zone: time.Duration(rapid.IntRange(-40, 40).Draw(t, "zone")) * 15 * time.Minute,
		}
		wait := func() time.Duration {
			return time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(3*time.Second)).Draw(t, "wait"))
		}
		at := event.FromTime(time.Date(2026, 12, 2, 5, 0, 0, 0, time.UTC))
		for i := range rapid.IntRange(3, 12).Draw(t, "pods") {
			at = w.pod(fmt.Sprintf("p%d", i), at, wait)
		}
		found, _ := compare(rapid.Permutation(w.events).Draw(t, "order"))
		for kind, truth := range map[Kind]time.Duration{KindAPI: w.by, KindAudit: w.by, KindEvents: 0} {
			c, ok := found[kind]
			require.True(t, ok, "%s is missing", kind)
			require.True(t, c.Determined(), "%s: %+v", kind, c)
			assert.True(t, c.Span.Contains(truth), "%s: %s is outside of %v", kind, truth, c.Span)
			if truth == 0 {
				assert.False(t, c.Differs())
			}
		}
	})
}

// Quick answers leave little room: an offset of seconds is seen as one.
func TestCompareSeesSeconds(t *testing.T) {
	w := &world{by: -7 * time.Second}
	at := event.FromTime(time.Date(2026, 12, 2, 5, 0, 0, 300e6, time.UTC))
	for i := range 6 {
		at = w.pod(fmt.Sprintf("p%d", i), at, func() time.Duration { return 70 * time.Millisecond })
	}
	found, _ := compare(w.events)
	for _, kind := range []Kind{KindAPI, KindAudit} {
		c := found[kind]
		d, u, _ := c.Span.Middle()
		assert.True(t, c.Differs(), "%s", kind)
		assert.InDelta(t, -7, d.Seconds(), 1, "%s", kind)
		assert.Less(t, u, 1100*time.Millisecond, "%s", kind)
	}
	e := found[KindEvents]
	assert.False(t, e.Differs())
}

// Without a record that the API wrote after the kubelet's, nothing says how far
// ahead it may be: that is not determined.
func TestOneSidedIsUndetermined(t *testing.T) {
	w := &world{}
	at := event.FromTime(time.Date(2026, 12, 2, 5, 0, 0, 0, time.UTC))
	for i := range 5 {
		ref := event.PodRef{Namespace: "ns", Name: fmt.Sprint("p", i)}
		w.object(&event.PodSeen{Pod: ref, Node: "n", Created: at})
		at = at.Add(time.Second)
		w.log(at, &event.PodSync{Op: event.SyncAdd, Source: "api", Pod: ref})
	}
	found, _ := compare(w.events)
	c := found[KindAPI]
	assert.False(t, c.Determined())
	assert.False(t, c.Differs())
	assert.Equal(t, time.Second, c.Span.To)
}

func TestZoneFromEvents(t *testing.T) {
	w := &world{zone: 9 * time.Hour}
	at := event.FromTime(time.Date(2026, 12, 2, 5, 0, 0, 0, time.UTC))
	w.pod("p", at, func() time.Duration { return time.Millisecond })
	_, r := compare(w.events)
	local := event.Stamp{At: at.Add(9 * time.Hour), Missing: event.MissingZone}
	assert.Equal(t, at.Time(), r.Resolve(local, "n", logStream).At.Time())
	assert.Zero(t, r.Resolve(local, "n", logStream).Basis&event.BasisZoneAssumed)
}

// prefixed is a line whose log prefix and header say different times.
func prefixed(i int, prefix, header event.Nanos) *event.Event {
	return &event.Event{Node: "n", Ref: event.Ref{Stream: logStream, Line: int64(i)}, Time: event.Known(header, time.Microsecond),
		Logged: event.Known(prefix, time.Microsecond), Payload: &event.ProbeState{}}
}

func TestPrefixAgainstHeader(t *testing.T) {
	at := event.FromTime(time.Date(2026, 12, 2, 5, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		name    string
		before  time.Duration // header minus prefix of the first ten lines
		after   time.Duration // of the last ten
		differs bool
		steps   int
	}{
		{"one clock", -time.Millisecond, -time.Millisecond, false, 0},
		{"late lines", -800 * time.Millisecond, -time.Millisecond, false, 0},
		{"another clock", 25 * time.Second, 25 * time.Second, true, 0},
		{"a step", 0, -12 * time.Second, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events []*event.Event
			for i := range 20 {
				d := c.before
				if i >= 10 {
					d = c.after
				}
				prefix := at.Add(time.Duration(i) * time.Second)
				events = append(events, prefixed(i+1, prefix, prefix.Add(d)))
			}
			found, _ := compare(events)
			j := found[KindJournal]
			assert.Equal(t, c.differs, j.Differs())
			require.Len(t, j.Steps, c.steps)
			if c.steps > 0 {
				assert.Equal(t, c.after-c.before, j.Steps[0].By)
				assert.Equal(t, int64(11), j.Steps[0].Ref.Line)
			}
		})
	}
}

// A step that the journal's monotonic clock shows stands with the journal.
func TestStepOfTheJournal(t *testing.T) {
	at := event.FromTime(time.Date(2026, 12, 2, 5, 0, 0, 0, time.UTC))
	found, _ := compare([]*event.Event{{Node: "n", Ref: event.Ref{Stream: logStream, Line: 7}, Time: event.Known(at, time.Microsecond),
		Payload: &event.NodeState{Code: event.NodeTimeChanged, Value: "-3.000", Message: "the wall clock moved"}}})
	j := found[KindJournal]
	assert.False(t, j.Determined())
	assert.Equal(t, []Step{{At: at, By: -3 * time.Second, Ref: event.Ref{Stream: logStream, Line: 7}, Against: "monotonic clock"}}, j.Steps)
}
