package probe

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// unhealthy is what Event objects tell of one kind of failure of one probe: the
// first, the last and how many; the times between are lost.
type unhealthy struct {
	outcome     event.Outcome
	output      string
	first, last event.Nanos
	count       int64
	// before and after are how far the stamps may lie before and after the attempts:
	// they have whole seconds, cut off; ages in a table grow coarse.
	before, after time.Duration
	refs          []event.Ref
}

// fromEvents takes the Unhealthy events of a pod. Where the kubelet's log tells
// the same failures, an event is one more reference; where no log covers them,
// its first and last time and its count are all that is known.
func (b *Builder) fromEvents(p *identity.Pod) {
	var order []*Worker
	told := make(map[*Worker][]*unhealthy)
	for i := range p.Events {
		e := &p.Events[i]
		if e.Reason != "Unhealthy" && e.Reason != "ProbeWarning" {
			continue
		}
		t, outcome, output, ok := ParseUnhealthy(e.Message)
		if !ok {
			continue
		}
		container := e.Container
		if container == "" && len(p.Containers) == 1 {
			container = p.Containers[0].Name
		}
		u := &unhealthy{outcome: outcome, output: output, last: cmp.Or(e.Last.At, e.At), count: max(e.Count, 1),
			before: 1500 * time.Millisecond, after: 2500 * time.Millisecond, refs: []event.Ref{e.Ref}}
		u.first = cmp.Or(e.First.At, u.last)
		if e.TimesUnknown {
			u.before = max(e.Last.Precision, e.First.Precision) + 5*time.Second
			u.after = u.before
		}
		w := b.worker(p, container, t)
		if told[w] == nil {
			order = append(order, w)
		}
		told[w] = merge(told[w], u)
	}
	for _, w := range order {
		w.sort()
		for _, u := range told[w] {
			b.tell(w, u)
		}
	}
}

// merge adds what an event tells. The same object often stands in several files,
// as YAML, in a table, in a description, maybe of different moments: what tells the
// same failure of overlapping times is one object, its highest count the right one.
func merge(list []*unhealthy, u *unhealthy) []*unhealthy {
	for _, o := range list {
		slack := max(o.before, u.before, o.after, u.after)
		if o.outcome == u.outcome && o.output == u.output && u.first <= o.last.Add(slack) && o.first <= u.last.Add(slack) {
			if u.before < o.before { // the finer stamps
				o.first, o.before, o.after = u.first, u.before, u.after
			}
			o.last, o.count = max(o.last, u.last), max(o.count, u.count)
			o.refs = append(o.refs, u.refs...)
			return list
		}
	}
	return append(list, u)
}

// tell adds the attempts that only an event knows: those before the log of the
// node begins or after it ends, or all where there is none.
func (b *Builder) tell(w *Worker, u *unhealthy) {
	log := w.Attempts // by End; those of events are added behind them
	at := func(t event.Nanos) int {
		i, _ := slices.BinarySearchFunc(log, t, func(a *Attempt, t event.Nanos) int { return cmp.Compare(a.End, t) })
		return i
	}
	near := func(t event.Nanos) *Attempt {
		var best *Attempt
		for _, a := range log[at(t.Add(-u.before)):] {
			if a.End > t.Add(u.after) {
				break
			}
			if a.Source == "log" && a.Outcome == u.outcome && (best == nil || a.End.Sub(t).Abs() < best.End.Sub(t).Abs()) {
				best = a
			}
		}
		return best
	}
	told := false
	for _, t := range [...]event.Nanos{u.first, u.last} {
		if a := near(t); a != nil {
			told = true
			for _, r := range u.refs {
				a.addRef(r)
			}
		}
	}
	first, last, count := u.first, u.last, u.count
	if s := b.logs[w.Pod.Node]; s != nil && (told || first <= s.to && last >= s.from) {
		// The log tells the part that it covers.
		for _, a := range log[at(first.Add(-u.before)):] {
			if a.End > last.Add(u.after) {
				break
			}
			if a.Source == "log" && a.Outcome == u.outcome {
				count--
			}
		}
		switch {
		case first.Add(u.after) < s.from:
			last = min(last, s.from)
		case last.Add(-u.before) > s.to:
			first = max(first, s.to)
		default:
			return
		}
	} else if told {
		return
	}
	if count < 1 {
		return
	}
	r := Classify(u.outcome, u.output, w.Handler)
	add := func(t event.Nanos, n int64, since event.Nanos) {
		w.Attempts = append(w.Attempts, &Attempt{Worker: w, Outcome: u.outcome, Source: "event", Class: r.Class, Output: u.output,
			Target: r.Target, Addr: r.Addr, Local: r.Local, Status: r.Status, End: t, Count: n, Since: since, Refs: slices.Clone(u.refs), Phases: Phases{-1, -1, -1}})
	}
	switch {
	case count == 1 && first == u.first && last != u.last:
		add(first, 1, 0)
	case count == 1 || first == last:
		add(last, count, 0)
	default:
		add(first, 1, 0)
		add(last, count-1, first)
	}
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
