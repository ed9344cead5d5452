package incident

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

const (
	minSilence = 10 * time.Second // a shorter pause of all probes is not told
	minDue     = 2                // how many probes must have missed a tick at least
	// maxReach bounds how far from a pause its last and next attempts are looked for.
	maxReach = 10 * time.Minute
)

// mark is a trace of a probe at work: an attempt in log or packets, or a
// connection of the prober that belongs to no attempt.
type mark struct {
	from, to event.Nanos
	ref      event.Ref
	pod      *identity.Pod
	// seen is set where successes are visible too: in packets, or in a log that tells
	// them. Without them a pause between failures is no silence.
	seen *probe.Worker
}

// silences finds, per node, the spans in which no probe of any pod ran although
// several were due: what a frozen kubelet looks like from outside.
func silences(s *probe.Set, caps *capture.Set) map[string][]State {
	byNode := make(map[string][]mark)
	for _, w := range s.Workers {
		for _, a := range w.Attempts {
			if a.Source == "event" || len(a.Refs) == 0 {
				continue // whole seconds, and counts instead of times
			}
			m := mark{from: a.Start, to: a.End, ref: a.Refs[0], pod: w.Pod}
			if a.Conn != nil || a.Outcome == event.OutcomeSucceeded {
				m.seen = w
			}
			byNode[w.Pod.Node] = append(byNode[w.Pod.Node], m)
		}
	}
	for _, c := range s.Strays {
		if c.Pod != nil {
			byNode[c.Pod.Node] = append(byNode[c.Pod.Node], mark{from: c.Start(), to: c.Start(), ref: c.Seen().Ref, pod: c.Pod})
		}
	}
	out := make(map[string][]State)
	for node, marks := range byNode {
		slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Compare(a.from, b.from) })
		out[node] = silencesOf(node, marks, caps)
	}
	return out
}

func silencesOf(node string, marks []mark, caps *capture.Set) []State {
	var out []State
	var last mark // the one that ended last so far
	for i, m := range marks {
		if i > 0 && m.from.Sub(last.to) >= minSilence {
			due := dueIn(marks[:i], marks[i:], last.to, m.from)
			if len(due) >= minDue && covered(node, caps, due, last.to, m.from) {
				out = append(out, State{Code: StateKubeletSilent, At: last.to, To: m.from, Refs: []event.Ref{last.ref, m.ref},
					Text: fmt.Sprintf("no probe of any pod of the node for %s, although %d probes were due", m.from.Sub(last.to).Round(100*time.Millisecond), len(due))})
			}
		}
		if m.to >= last.to {
			last = m
		}
	}
	return out
}

// dueIn returns the workers that ran before and after the span, close to it, and
// had at least one tick inside.
func dueIn(before, after []mark, from, to event.Nanos) []*probe.Worker {
	var was, is []*probe.Worker
	add := func(ws []*probe.Worker, m mark, away time.Duration) []*probe.Worker {
		if w := m.seen; w != nil && w.Period > 0 && to.Sub(from) > 2*w.Period && away <= 3*w.Period && !slices.Contains(ws, w) {
			ws = append(ws, w)
		}
		return ws
	}
	for i := len(before) - 1; i >= 0 && from.Sub(before[i].from) < maxReach; i-- {
		was = add(was, before[i], from.Sub(before[i].to))
	}
	for i := 0; i < len(after) && after[i].from.Sub(to) < maxReach; i++ {
		is = add(is, after[i], after[i].from.Sub(to))
	}
	return slices.DeleteFunc(was, func(w *probe.Worker) bool { return !slices.Contains(is, w) })
}

// covered reports whether the probes' absence can be relied on: a capture runs
// through the span without a hole, or the log tells successes.
func covered(node string, caps *capture.Set, due []*probe.Worker, from, to event.Nanos) bool {
	if len(caps.NodeSide(node, from, to)) > 0 {
		return true
	}
	return !slices.ContainsFunc(due, func(w *probe.Worker) bool {
		return slices.ContainsFunc(w.Attempts, func(a *probe.Attempt) bool { return a.Source == "packets" })
	})
}
