package probe

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Two tcpSocket probes of one port: the packets are equal, their steps are not.
func TestOnePortTwoWorkers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		fast := time.Duration(rapid.IntRange(2, 10).Draw(rt, "fast")) * time.Second
		slow := fast * time.Duration(rapid.IntRange(1, 3).Draw(rt, "times"))
		a := time.Duration(rapid.IntRange(0, int(fast/time.Millisecond)-1).Draw(rt, "a")) * time.Millisecond
		b := time.Duration(rapid.IntRange(0, int(slow/time.Millisecond)-1).Draw(rt, "b")) * time.Millisecond
		if d := (a - b).Abs() % fast; min(d, fast-d) < time.Second/2 {
			rt.Skip("their ticks fall together")
		}
		s := newScene().pod(0, readiness(fast), liveness(slow)).captured(t0, t0.Add(10*time.Minute), 8080)
		s.sync(t0).sync(t0.Add(10 * time.Minute))
		var ready, live []time.Duration
		for i := range 12 {
			ready = append(ready, a+time.Duration(i)*fast)
			if at := b + time.Duration(i)*slow; at <= a+11*fast {
				live = append(live, at)
			}
		}
		all := append(slices.Clone(ready), live...)
		slices.Sort(all)
		for _, d := range all {
			s.flow(0, t0.Add(d), answers)
		}
		set, _ := s.join()
		r, l := starts(set.worker(0, event.Readiness)), starts(set.worker(0, event.Liveness))
		if slow == fast {
			// Nothing tells which is which, only that there are two.
			if !slices.Equal(r, ready) && !slices.Equal(r, live) {
				rt.Fatalf("readiness %v, liveness %v", r, l)
			}
			return
		}
		if !slices.Equal(r, ready) || !slices.Equal(l, live) {
			rt.Fatalf("readiness %v, want %v; liveness %v, want %v", r, ready, l, live)
		}
	})
}

// A kubelet that stood still runs one late tick of each worker and keeps step; a
// status change makes an extra readiness probe.
func TestOnePortLateAndExtraTicks(t *testing.T) {
	s := newScene().pod(0, readiness(5*time.Second), liveness(15*time.Second)).captured(t0, t0.Add(10*time.Minute), 8080)
	s.sync(t0).sync(t0.Add(10 * time.Minute))
	for _, d := range []float64{1, 6, 9, 11, 16, 21, 24, 26, 60.30, 60.31, 61, 66, 69, 71, 71.002, 76.002, 81.002, 84, 86.002} {
		s.flow(0, t0.Add(time.Duration(d*1000)*time.Millisecond), answers)
	}
	set, _ := s.join()
	var live []float64
	for _, d := range starts(set.worker(0, event.Liveness)) {
		live = append(live, d.Seconds())
	}
	assert.Equal(t, []float64{9, 24, 60.31, 69, 84}, live)
}
