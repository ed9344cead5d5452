package probe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// grown runs Missing after the join.
func (s *scene) grown() *Set {
	set, caps := s.join()
	set.Thresholds()
	set.Missing(caps)
	return set
}

// run is a stretch of missing ticks: seconds after t0 of the first and last.
type run struct {
	first, last float64
	n           int64
	why         string
}

func runs(w *Worker) []run {
	var out []run
	for _, a := range w.Missing {
		out = append(out, run{a.Start.Sub(t0).Seconds(), a.End.Sub(t0).Seconds(), a.Count, a.JoinReason})
	}
	return out
}

func sec(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func TestMissing(t *testing.T) {
	five, end := readiness(5*time.Second), t0.Add(10*time.Minute)
	every := func(s *scene, at ...float64) *scene {
		for _, d := range at {
			s.flow(0, t0.Add(sec(d)), answers)
		}
		return s
	}
	seen := func() *scene { return newScene().captured(t0, t0.Add(41*time.Second), 8080).sync(t0).sync(end) }
	for _, tc := range []struct {
		name string
		s    *scene
		grid string
		want []run
	}{
		{"none", every(seen().pod(0, five), 1, 6, 11, 16, 21, 26, 31, 36), GridChecked, nil},
		{"three in step", every(seen().pod(0, five), 1, 6, 26, 31, 36), GridChecked, []run{{11, 21, 3, MissingNoSYN}}},
		{"the last of a pause is served late", every(seen().pod(0, five), 1, 6, 27.5, 31, 36), GridChecked, []run{{11, 21, 3, MissingNoSYN}}},
		{"to the end of the capture", every(seen().pod(0, five), 1, 6, 11, 16), GridChecked, []run{{21, 36, 4, MissingNoSYN}}},
		{"not before the first: who knows when the worker began", every(seen().pod(0, five), 26, 31, 36), GridChecked, nil},
		{"not without a capture", newScene().pod(0, five).sync(t0).sync(end).failed(0, event.Readiness, t0.Add(sec(1)), refused(0)).
			failed(0, event.Readiness, t0.Add(sec(31)), refused(0)), GridNoCoverage, nil},
		{"not where the capture shows nothing of the target", newScene().captured(t0, end, 9090).pod(0, five).sync(t0).sync(end).
			failed(0, event.Readiness, t0.Add(sec(1)), refused(0)), GridFiltered, nil},
		{"not without any attempt", seen().pod(0, five), GridNoAttempt, nil},
		{"a logged failure without packets serves its tick", every(seen().pod(0, five), 1, 6, 16, 21, 26, 31, 36).
			failed(0, event.Readiness, t0.Add(sec(11.0001)), "dial tcp 10.1.1.2:8080: connect: network is unreachable"), GridChecked, nil},
		{"a connection that tells no result serves its tick", every(seen().pod(0, five), 1, 6, 16, 21, 26, 31, 36).
			flow(0, t0.Add(sec(11)), nil), GridChecked, nil},
		{"an attempt longer than the period swallows ticks", every(seen().pod(0, event.ProbeSpec{Type: event.Readiness, Period: 5 * time.Second, Timeout: 12 * time.Second}), 1, 18, 21, 26, 31, 36).
			flow(0, t0.Add(sec(6)), nil).failed(0, event.Readiness, t0.Add(sec(18)), "dial tcp 10.1.1.2:8080: i/o timeout"), GridChecked, nil},
		{"a log that tells successes will do", verbose(newScene().pod(0, five).sync(end), 1, 6, 11, 31, 36), GridChecked,
			[]run{{16, 26, 3, MissingNoLine}, {41, 596, 112, MissingNoLine}}},
		{"exec leaves no packets", newScene().captured(t0, end, 8080).pod(0, event.ProbeSpec{Type: event.Readiness, Handler: "exec", Period: 5 * time.Second}).sync(t0).sync(end).
			failed(0, event.Readiness, t0.Add(sec(1)), "no"), GridExec, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := tc.s.grown().worker(0, event.Readiness)
			require.NotNil(t, w)
			assert.Equal(t, tc.grid, w.Grid)
			assert.Equal(t, tc.want, runs(w))
			for _, a := range w.Missing {
				assert.True(t, a.Missing)
				assert.Equal(t, "grid", a.Source)
				assert.False(t, a.Failed())
			}
		})
	}
}

// verbose adds the lines of a kubelet that tells successes.
func verbose(s *scene, at ...float64) *scene {
	for _, d := range at {
		s.add(logStream, t0.Add(sec(d)), &event.ProbeResult{Pod: podRef(0), Container: "web", Probe: event.Readiness, Outcome: event.OutcomeSucceeded})
	}
	return s
}

// What a worker does not have to do is not missing.
func TestNotDue(t *testing.T) {
	five, end := readiness(5*time.Second), t0.Add(2*time.Minute)
	base := func(p ...event.ProbeSpec) *scene {
		return newScene().captured(t0, end, 8080).pod(0, p...).sync(t0).sync(end)
	}
	seen := func(s *scene, at ...float64) *scene {
		for _, d := range at {
			s.flow(0, t0.Add(sec(d)), answers)
		}
		return s
	}
	t.Run("the container was gone", func(t *testing.T) {
		s := seen(base(five), 1, 6, 61, 66)
		s.add(logStream, t0.Add(sec(8)), &event.ContainerState{Pod: podRef(0), Container: "web", ID: "c-0", Op: event.ContainerDied})
		s.add(logStream, t0.Add(sec(60)), &event.ContainerState{Pod: podRef(0), Container: "web", ID: "c-1", Op: event.ContainerStarted})
		s.add(logStream, t0.Add(sec(68)), &event.ContainerState{Pod: podRef(0), Container: "web", ID: "c-1", Op: event.ContainerDied})
		assert.Empty(t, runs(s.grown().worker(0, event.Readiness)))
	})
	t.Run("the pod was deleted", func(t *testing.T) {
		s := seen(base(five), 1, 6)
		s.add(logStream, t0.Add(sec(8)), &event.PodSync{Op: event.SyncDelete, Source: "api", Pod: podRef(0)})
		assert.Empty(t, runs(s.grown().worker(0, event.Readiness)))
	})
	t.Run("liveness waits for the new container", func(t *testing.T) {
		s := base(liveness(5 * time.Second))
		for i := range 3 {
			at := t0.Add(sec(1 + 5*float64(i)))
			s.flow(0, at, refuses).failed(0, event.Liveness, at.Add(100*time.Microsecond), refused(0))
		}
		w := s.grown().worker(0, event.Liveness)
		assert.Equal(t, CrossedFailure, w.Attempts[2].Threshold)
		assert.Empty(t, runs(w))
	})
	t.Run("two workers that tick alike", func(t *testing.T) {
		s := seen(base(five, liveness(5*time.Second)), 1, 2, 6, 7, 11, 12, 16)
		set := s.grown()
		assert.Equal(t, GridUndecided, set.worker(0, event.Readiness).Grid)
		assert.Empty(t, runs(set.worker(0, event.Liveness)))
	})
}

// Whatever ticks are dropped from a grid, those and no others are missing.
func TestMissingAreTheDropped(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		period := time.Duration(rapid.IntRange(1, 30).Draw(rt, "period")) * time.Second
		const ticks = 30
		end := t0.Add(period * (ticks + 3))
		s := newScene().captured(t0, end, 8080).pod(0, readiness(period)).sync(t0).sync(end)
		dropped := int64(0)
		for i := range ticks {
			// The first and last are kept: the grid lies between them.
			if i > 0 && i < ticks-1 && rapid.IntRange(0, 3).Draw(rt, "drop") == 0 {
				dropped++
				continue
			}
			late := time.Duration(rapid.IntRange(0, 5).Draw(rt, "late")) * time.Millisecond
			s.flow(0, t0.Add(time.Second+time.Duration(i)*period+late), answers)
		}
		set, caps := s.join()
		w := set.worker(0, event.Readiness)
		// Long enough for the last tick, not for one more.
		caps.Captures[0].Last = t0.Add(time.Second + ticks*period - period/2 + w.lateness())
		set.Missing(caps)
		var n int64
		for _, a := range w.Missing {
			n += a.Count
			for _, b := range w.Attempts {
				if b.Start >= a.Start.Add(-period/3) && b.Start <= a.End.Add(period/3) {
					rt.Fatalf("%s to %s is missing, an attempt began at %s", a.Start.Sub(t0), a.End.Sub(t0), b.Start.Sub(t0))
				}
			}
		}
		if n != dropped {
			rt.Fatalf("%d missing, %d were dropped: %v", n, dropped, runs(w))
		}
		if len(w.Missing) > len(w.Attempts) {
			rt.Fatalf("%d rows for %d attempts", len(w.Missing), len(w.Attempts))
		}
	})
}
