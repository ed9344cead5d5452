package probe

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/clock"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Alignment is the offset of a group of captures that share a clock against the
// kubelet's log of their node.
type Alignment struct {
	Captures []*capture.Capture
	clock.Offset
	// Method says what the offset rests on: "attempts" (log lines against the ends of
	// connections), "none" (nothing to compare).
	Method string
	// Applied is set when the captures were moved by the offset.
	Applied bool
}

// Settled reports whether one offset stands alone.
func (a *Alignment) Settled() bool { return a.Method == "none" || len(a.Rivals) == 0 }

// applyFrom is the smallest offset worth moving a capture for: below it lies the
// usual distance of a log line from its packets.
const applyFrom = 100 * time.Millisecond

// Align estimates the clocks of the captures against the log, captures that hold
// the same connections together, and moves those that are off. fixed are
// captures whose offset the user gave.
func (s *Set) Align(caps *capture.Set, fixed func(*capture.Capture) bool) []Alignment {
	var out []Alignment
	move := make(map[*capture.Capture]time.Duration)
	for _, g := range sameClock(caps) {
		al := Alignment{Captures: g, Method: "none"}
		if fixed(g[0]) {
			al.Method = "given"
			out = append(out, al)
			continue
		}
		most := clock.MaxOffset
		if slices.Contains(g[0].Info.Capture.Lacks, "date") {
			most = 36 * time.Hour
		}
		anchors, marks, against := s.anchors(caps, g)
		if o, ok := clock.Estimate(anchors, marks, against, most); ok {
			al.Offset, al.Method = o, "attempts"
			if o.Value > applyFrom || o.Value < -applyFrom {
				al.Applied = true
				for _, c := range g {
					move[c] = o.Value
				}
			}
		}
		out = append(out, al)
	}
	caps.Apply(move)
	return out
}

// sameClock groups captures: those of one node that saw the same connections run
// on one clock up to the differences of those sightings, which are small when the
// files were written on one machine. A capture whose sightings lie apart by more
// is moved onto the clock of the first.
func sameClock(caps *capture.Set) [][]*capture.Capture {
	var groups [][]*capture.Capture
	move := make(map[*capture.Capture]time.Duration)
	apart := distances(caps)
	for _, c := range caps.Captures {
		placed := false
		for i, g := range groups {
			d, n := median(apart[[2]*capture.Capture{g[0], c}])
			if n == 0 && (g[0].Node != c.Node || c.Node == "") {
				continue
			}
			if n >= 3 && d.Abs() > applyFrom {
				move[c] = d
			}
			groups[i] = append(g, c)
			placed = true
			break
		}
		if !placed {
			groups = append(groups, []*capture.Capture{c})
		}
	}
	caps.Apply(move)
	return groups
}

// distances tells of each two captures, in both orders, how much later the first
// saw the SYNs that both saw.
func distances(caps *capture.Set) map[[2]*capture.Capture][]time.Duration {
	apart := make(map[[2]*capture.Capture][]time.Duration)
	for _, c := range caps.Conns {
		for i := range c.Sightings {
			x := &c.Sightings[i]
			for j := range c.Sightings {
				y := &c.Sightings[j]
				if i != j && x.Flow.SYN.Seen() && y.Flow.SYN.Seen() {
					k := [2]*capture.Capture{x.Capture, y.Capture}
					apart[k] = append(apart[k], x.Flow.SYN.At.Sub(y.Flow.SYN.At))
				}
			}
		}
	}
	return apart
}

// median sorts the durations and returns the middle one, and how many there are.
func median(ds []time.Duration) (time.Duration, int) {
	if len(ds) == 0 {
		return 0, 0
	}
	slices.Sort(ds)
	return ds[len(ds)/2], len(ds)
}

// anchors collects what both sides tell: the log's failed (and logged successful)
// attempts, the moments at which connections ended in a way that fits, and the
// failed connections that a log of the node should know.
func (s *Set) anchors(caps *capture.Set, g []*capture.Capture) (anchors, marks, against []clock.Anchor) {
	probers := make(map[string][]*Worker)
	for _, w := range s.Workers {
		if g[0].Node != "" && w.Pod.Node != "" && w.Pod.Node != g[0].Node {
			continue
		}
		for _, a := range w.Attempts {
			server := a.Server()
			k := outcomeKey(a)
			if a.Source != "log" || !server.IsValid() || k == "" {
				continue
			}
			if ws := probers[server.String()]; !slices.Contains(ws, w) {
				probers[server.String()] = append(ws, w)
			}
			anchors = append(anchors, clock.Anchor{At: a.End, Key: workerKeyText(server.String(), w, k)})
		}
	}
	for _, c := range caps.Conns {
		f := c.Seen().Flow
		if !f.SYN.Seen() || !slices.ContainsFunc(c.Sightings, func(x capture.Sighting) bool { return slices.Contains(g, x.Capture) }) {
			continue
		}
		// Without a path in the packets a connection may be any worker's of the port.
		for _, w := range probers[c.Server.String()] {
			if f.Path != "" && w.Path != "" && f.Path != w.Path {
				continue
			}
			outcome, class, end := FlowOutcome(f, w.Handler, cmp.Or(w.Timeout, time.Second))
			k := outcomeKey(&Attempt{Outcome: outcome, Class: class, Status: f.Status})
			if k == "" {
				continue
			}
			m := clock.Anchor{At: end, Key: workerKeyText(c.Server.String(), w, k)}
			marks = append(marks, m)
			if k != "success" && (f.Path != "" || len(probers[c.Server.String()]) == 1) {
				against = append(against, m)
			}
		}
	}
	return anchors, marks, against
}

// workerKeyText keeps the anchors of one worker and outcome together.
func workerKeyText(server string, w *Worker, outcome string) string {
	return fmt.Sprintf("%s %s %s %s", server, w.Container, w.Type, outcome)
}

// outcomeKey puts an attempt's outcome in the words that a connection's end has,
// "" where packets do not tell it.
func outcomeKey(a *Attempt) string {
	switch {
	case a.Outcome == event.OutcomeSucceeded:
		return "success"
	case a.Class == ClassRefused:
		return "refused"
	case a.Class == ClassNoRoute:
		return "noroute"
	case a.Class == ClassStatus:
		return fmt.Sprint("status ", a.Status)
	case a.Class.Timeout():
		return "timeout"
	case a.Class == ClassReset, a.Class == ClassEOF:
		return "closed"
	}
	return ""
}
