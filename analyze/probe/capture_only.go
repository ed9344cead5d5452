package probe

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Bounds of the prober's fingerprint: a client that opens a connection to one
// address again and again at one pace, and sends nothing or one request.
const (
	minTicks   = 4
	maxJitter  = 0.25 // standard deviation over mean of the distances
	minPeriod  = time.Second
	maxPeriod  = 5 * time.Minute
	maxTargets = 256
)

// captureOnly makes workers of what only packets tell: where no input names a
// pod, a periodic client and its target are taken for a probe. The worker's pod
// has no name; it is a guess, and the attempts say that packets are all they
// rest on.
func (s *Set) captureOnly(caps *capture.Set) {
	type pair struct {
		client netip.Addr
		server netip.AddrPort
	}
	counted := make(map[pair][]*capture.Stretch)
	for _, x := range caps.Stretches {
		k := pair{x.Client, x.Server}
		counted[k] = append(counted[k], x)
	}
	by := make(map[pair][]*capture.Conn)
	var order []pair
	for _, c := range s.Strays {
		k := pair{c.Client.Addr(), c.Server}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], c)
	}
	taken := make(map[*capture.Conn]bool)
	for _, k := range order {
		period, ok := pace(by[k])
		if !ok || len(s.Workers) >= maxTargets {
			continue
		}
		w := &Worker{Pod: &identity.Pod{Node: by[k][0].Seen().Capture.Node}, Port: int(k.server.Port()), Handler: "tcp", Period: period, Timeout: time.Second}
		for _, c := range by[k] {
			if f := c.Seen().Flow; f.App == "http" {
				w.Handler, w.Path = "http", f.Path
			}
		}
		for _, c := range by[k] {
			if a, why := s.judge(w, c); why == "" {
				w.Attempts = append(w.Attempts, a)
				taken[c] = true
				delete(s.StrayWhy, c)
			}
		}
		for _, x := range counted[k] {
			w.Attempts = append(w.Attempts, uneventful(w, x))
		}
		w.sort()
		s.Workers = append(s.Workers, w)
		s.Probers[k.client] = true
	}
	s.Strays = slices.DeleteFunc(s.Strays, func(c *capture.Conn) bool { return taken[c] })
}

// uneventful is the attempt that stands for successes that were counted.
func uneventful(w *Worker, x *capture.Stretch) *Attempt {
	return &Attempt{Worker: w, Outcome: event.OutcomeSucceeded, Source: "packets", Start: x.First, End: x.End, Addr: x.Server, Count: x.Count,
		Refs: []event.Ref{x.Ref}, JoinReason: "packets only", JoinScore: 0.8, Phases: Phases{-1, -1, -1},
		Target: model.Target{Scheme: w.scheme(), Host: x.Server.Addr().String(), Port: int(x.Server.Port()), Path: w.Path}}
}

// pace returns the usual distance of the connections' starts when they keep one.
// A single tick out of step (an extra probe when a result flips, a missed one) is
// allowed for: the median distance is what the others are held against.
func pace(cs []*capture.Conn) (time.Duration, bool) {
	if len(cs) < minTicks {
		return 0, false
	}
	var ds []time.Duration
	for i := 1; i < len(cs); i++ {
		ds = append(ds, cs[i].Start().Sub(cs[i-1].Start()))
	}
	slices.Sort(ds)
	med := ds[len(ds)/2]
	if med < minPeriod || med > maxPeriod {
		return 0, false
	}
	var sum float64
	n := 0
	for _, d := range ds {
		// A whole number of periods between two ticks is in step.
		r := float64(d) / float64(med)
		off := math.Abs(r - math.Round(r))
		if r >= 0.5 {
			sum += off * off
			n++
		}
	}
	if n*4 < len(ds)*3 {
		return 0, false
	}
	return med.Round(100 * time.Millisecond), math.Sqrt(sum/float64(n)) < maxJitter/2
}
