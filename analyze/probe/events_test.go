package probe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// happened adds an Unhealthy event of pod 0's readiness probe.
func (s *scene) happened(first, last float64, count int64, output string) *scene {
	s.add(objectStream, t0.Add(sec(last)), &event.K8sEvent{ObjectKind: "Pod", Namespace: podRef(0).Namespace, Name: podRef(0).Name, UID: podRef(0).UID, Container: "web",
		Type: "Warning", Reason: "Unhealthy", Message: "Readiness probe failed: " + output, Count: count,
		First: event.Known(t0.Add(sec(first)), time.Second), Last: event.Known(t0.Add(sec(last)), time.Second)})
	return s
}

// row is an attempt as far as events tell it.
type row struct {
	source string
	end    float64
	count  int64
	since  float64
	refs   int
}

func rows(w *Worker) []row {
	var out []row
	for _, a := range w.Attempts {
		r := row{source: a.Source, end: a.End.Sub(t0).Seconds(), count: a.Count, refs: len(a.Refs)}
		if a.Since != 0 {
			r.since = a.Since.Sub(t0).Seconds()
		}
		out = append(out, r)
	}
	return out
}

func TestEvents(t *testing.T) {
	lines := func(s *scene, at ...float64) *scene {
		for _, d := range at {
			s.failed(0, event.Readiness, t0.Add(sec(d)), refused(0))
		}
		return s
	}
	base := func() *scene { return newScene().pod(0, readiness(5*time.Second)) }
	for _, tc := range []struct {
		name string
		s    *scene
		want []row
	}{
		{"a series is its first, its last and its count", base().happened(10, 60, 11, refused(0)),
			[]row{{"event", 10, 1, 0, 1}, {"event", 60, 10, 10, 1}}},
		{"one is one", base().happened(10, 10, 1, refused(0)), []row{{"event", 10, 1, 0, 1}}},
		{"many in one second", base().happened(10, 10, 3, refused(0)), []row{{"event", 10, 3, 0, 1}}},
		{"the same object in several files, seen at different times", base().happened(10, 60, 11, refused(0)).happened(10, 60, 11, refused(0)).happened(10, 80, 15, refused(0)),
			[]row{{"event", 10, 1, 0, 3}, {"event", 80, 14, 10, 3}}},
		{"two objects", base().happened(10, 60, 11, refused(0)).happened(900, 950, 11, refused(0)),
			[]row{{"event", 10, 1, 0, 1}, {"event", 60, 10, 10, 1}, {"event", 900, 1, 0, 1}, {"event", 950, 10, 900, 1}}},
		{"other words are another failure", base().happened(10, 10, 1, refused(0)).happened(10, 10, 1, "HTTP probe failed with statuscode: 500"),
			[]row{{"event", 10, 1, 0, 1}, {"event", 10, 1, 0, 1}}},
		{"the log tells the same: one attempt with two references", lines(base(), 10.4, 15.4, 20.4).happened(10, 20, 3, refused(0)),
			[]row{{"log", 10.4, 1, 0, 2}, {"log", 15.4, 1, 0, 1}, {"log", 20.4, 1, 0, 2}}},
		{"an event that under-counts adds nothing", lines(base(), 10.4, 15.4, 20.4).happened(10, 20, 2, refused(0)),
			[]row{{"log", 10.4, 1, 0, 2}, {"log", 15.4, 1, 0, 1}, {"log", 20.4, 1, 0, 2}}},
		{"the log begins in the middle", lines(base(), 50.4, 55.4, 60.4).happened(10, 60, 11, refused(0)),
			[]row{{"event", 10, 1, 0, 1}, {"log", 50.4, 1, 0, 1}, {"event", 50.4, 7, 10, 1}, {"log", 55.4, 1, 0, 1}, {"log", 60.4, 1, 0, 2}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			set, _ := tc.s.join()
			assert.ElementsMatch(t, tc.want, rows(set.worker(0, event.Readiness)))
		})
	}
}

// A line that stands in several streams is one attempt.
func TestLinesInSeveralStreams(t *testing.T) {
	s := newScene().pod(0, readiness(5*time.Second))
	for range 3 {
		s.failed(0, event.Readiness, t0.Add(sec(10.4)), refused(0))
	}
	set, _ := s.join()
	assert.Equal(t, []row{{"log", 10.4, 1, 0, 3}}, rows(set.worker(0, event.Readiness)))
}
