package probe

import (
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// fromEvent takes an Unhealthy event. Where the kubelet's log tells the same
// failures, the event is one more reference; where no log covers them, its
// first and last time and its count are all that is known.
func (b *Builder) fromEvent(p *identity.Pod, e *identity.PodEvent) {
	if e.Reason != "Unhealthy" && e.Reason != "ProbeWarning" {
		return
	}
	t, outcome, output, ok := ParseUnhealthy(e.Message)
	if !ok {
		return
	}
	container := e.Container
	if container == "" && len(p.Containers) == 1 {
		container = p.Containers[0].Name
	}
	w := b.worker(p, container, t)
	first, last := e.First.At, e.Last.At
	if last == 0 {
		last = e.At
	}
	if first == 0 {
		first = last
	}
	// Event times are whole seconds, cut off; ages in a table grow coarse.
	before, after := 1500*time.Millisecond, 2500*time.Millisecond
	if e.TimesUnknown {
		coarse := max(e.Last.Precision, e.First.Precision) + 5*time.Second
		before, after = coarse, coarse
	}
	near := func(at event.Nanos) *Attempt {
		var best *Attempt
		for _, a := range w.Attempts {
			if a.Source != "log" || a.Outcome != outcome {
				continue
			}
			if d := a.End.Sub(at); d >= -before && d <= after && (best == nil || abs(d) < abs(best.End.Sub(at))) {
				best = a
			}
		}
		return best
	}
	told := false
	for _, at := range [...]event.Nanos{first, last} {
		if a := near(at); a != nil {
			told = true
			a.addRef(e.Ref)
		}
	}
	if told || b.logCovers(p.Node, first.Add(before), last.Add(-after)) {
		return
	}
	count := max(e.Count, 1)
	r := Classify(outcome, output, w.Handler)
	add := func(at event.Nanos, n int64) {
		w.Attempts = append(w.Attempts, &Attempt{Worker: w, Outcome: outcome, Source: "event", Class: r.Class, Output: output,
			Target: r.Target, Addr: r.Addr, Local: r.Local, Status: r.Status, End: at, Count: n, Refs: []event.Ref{e.Ref}, Phases: Phases{-1, -1, -1}})
	}
	if count == 1 || first == last {
		add(last, count)
		return
	}
	add(first, 1)
	add(last, count-1)
}

// logCovers reports whether a kubelet log of the node that shows probe failures
// spans the time.
func (b *Builder) logCovers(node string, from, to event.Nanos) bool {
	s := b.logs[node]
	return s != nil && s.from <= from && to <= s.to
}

func (a *Attempt) addRef(r event.Ref) {
	for _, o := range a.Refs {
		if o == r {
			return
		}
	}
	a.Refs = append(a.Refs, r)
}

// ParseUnhealthy splits the message of an Unhealthy or ProbeWarning event into
// probe type, outcome and output.
func ParseUnhealthy(msg string) (event.ProbeType, event.Outcome, string, bool) {
	msg = strings.TrimPrefix(msg, "(combined from similar events): ")
	word, rest, ok := strings.Cut(msg, " probe ")
	if !ok {
		return 0, 0, "", false
	}
	var t event.ProbeType
	switch word {
	case "Readiness":
		t = event.Readiness
	case "Liveness":
		t = event.Liveness
	case "Startup":
		t = event.Startup
	default:
		return 0, 0, "", false
	}
	for _, v := range [...]struct {
		prefix  string
		outcome event.Outcome
	}{
		{"failed: ", event.OutcomeFailed},
		{"errored and resulted in unknown state: ", event.OutcomeErrored},
		{"errored: ", event.OutcomeErrored},
		{"warning: ", event.OutcomeWarning},
	} {
		if out, ok := strings.CutPrefix(rest, v.prefix); ok {
			return t, v.outcome, out, true
		}
	}
	if strings.TrimSpace(rest) == "failed:" {
		return t, event.OutcomeFailed, "", true
	}
	return 0, 0, "", false
}

func abs(d time.Duration) time.Duration {
	if d < 0 {
		return -d
	}
	return d
}
