package probe

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

const (
	// sayGap is how long the kubelet's sync loop may take to tell of a changed result;
	// the line may also carry a stamp a moment earlier than the attempt's.
	sayGap   = 2 * time.Second
	sayEarly = 50 * time.Millisecond
	// killGap is how long after the deciding attempt the kill may be told: the pod's
	// worker may be busy.
	killGap = time.Minute
	// apiGap is how late the API may learn of it.
	apiGap = 15 * time.Second
)

// Thresholds marks the attempts at which a probe's result changed for the
// kubelet, and links what that led to. The kubelet's own lines decide where the
// log has them; else attempts are counted against the declared thresholds, from
// tick to tick: a failure after a tick without one counts from one again, for a
// success may lie between.
func (s *Set) Thresholds() {
	x := s.index
	says := make(map[string]bool) // nodes whose kubelet tells of every change
	for _, p := range x.Pods {
		for _, c := range p.Ready {
			if c.Probe == event.Readiness && c.Status == "not ready" {
				says[p.Node] = true
			}
		}
	}
	said := newSayings(s)
	for _, w := range s.Workers {
		w.cross(said.of[w], says[w.Pod.Node] && s.logs[w.Pod.Node] != nil)
		w.killed()
	}
	s.toldByAPI(x)
}

// sayings gives each "SyncLoop (probe)" line, which names no container, to the
// worker whose attempt ended just before it.
type sayings struct {
	of map[*Worker][]saying
}

type saying struct {
	identity.ReadyChange
	by *Attempt // nil where none fits: the result a new container begins with
}

func newSayings(s *Set) *sayings {
	out := &sayings{of: make(map[*Worker][]saying)}
	byPod := make(map[*identity.Pod][]*Worker)
	for _, w := range s.Workers {
		byPod[w.Pod] = append(byPod[w.Pod], w)
	}
	for _, w := range s.Workers {
		ws := byPod[w.Pod]
		if ws == nil {
			continue
		}
		delete(byPod, w.Pod) // once a pod
		for _, c := range w.Pod.Ready {
			var best *Attempt
			var only *Worker
			n := 0
			for _, v := range ws {
				if v.Type != c.Probe {
					continue
				}
				n++
				only = v
				if a := v.before(c.At.Add(sayEarly), isBad(c.Status)); a != nil && c.At.Sub(a.End) <= sayGap && (best == nil || a.End > best.End) {
					best = a
				}
			}
			switch {
			case best != nil:
				out.of[best.Worker] = append(out.of[best.Worker], saying{c, best})
			case n == 1:
				out.of[only] = append(out.of[only], saying{c, nil})
			}
		}
	}
	return out
}

func isBad(status string) bool { return status == "not ready" || status == "unhealthy" }

// before returns the last counted attempt that ended by t, when its result is the
// one asked for.
func (w *Worker) before(t event.Nanos, failed bool) *Attempt {
	i, _ := slices.BinarySearchFunc(w.Attempts, t, func(a *Attempt, t event.Nanos) int {
		if a.End <= t {
			return -1
		}
		return 1
	})
	for i--; i >= 0; i-- {
		a := w.Attempts[i]
		if a.counted() {
			if (a.Outcome == event.OutcomeFailed) == failed {
				return a
			}
			return nil
		}
	}
	return nil
}

// counted reports whether the kubelet counts the attempt: it throws errors away,
// and of an event's attempts only the first and last have a time.
func (a *Attempt) counted() bool {
	return a.Source != "event" && a.Outcome != event.OutcomeErrored && a.Outcome != event.OutcomeUnknown
}

// state is what the kubelet holds of a probe.
type state uint8

const (
	unknown state = iota
	good
	bad
)

// cross walks through the attempts and the kubelet's words in time order. told is
// set where the log has a word for every change.
func (w *Worker) cross(said []saying, told bool) {
	limit, enough := 3, 1
	if w.Spec != nil {
		limit, enough = max(w.Spec.Failure, 1), max(w.Spec.Success, 1)
	}
	now := unknown
	fails, goods := 0, 0
	// chain is how many failures in a row are known since the container began: fewer
	// than the threshold, and a bad result is what a new container begins with.
	chain := 0
	hear := func(c saying) { now = w.heard(c, w.Spec == nil || chain >= limit) }
	var last *Attempt
	run := 0
	for _, a := range w.Attempts {
		if !a.counted() {
			continue
		}
		for ; run < len(w.Pod.Runs) && w.Pod.Runs[run].From <= a.Start; run++ {
			if r := &w.Pod.Runs[run]; r.Container == w.Container && r.From != 0 {
				now, chain = w.initial(a.Start.Sub(r.From)), 0
			}
		}
		for len(said) > 0 && said[0].At < a.End.Add(-sayEarly) {
			hear(said[0])
			said = said[1:]
		}
		if a.Outcome != event.OutcomeFailed {
			fails, chain = 0, 0
			goods++
			if now == bad && goods >= enough {
				a.Threshold = CrossedSuccess
			}
			if goods >= enough {
				now = good
			}
			last = a
			continue
		}
		goods = 0
		if last != nil && last.Outcome == event.OutcomeFailed && !w.adjacent(last, a) {
			fails = 0
		}
		fails++
		chain++
		if !told && w.Spec != nil && now != bad && fails >= limit {
			a.Threshold = CrossedFailure
			now = bad
		}
		last = a
	}
	for _, c := range said {
		hear(c)
	}
}

// initial is the result a new container begins with, if it can still have it at
// its first attempt known, so long after it began: a success in between need not
// have left a trace.
func (w *Worker) initial(age time.Duration) state {
	delay := time.Duration(0)
	if w.Spec != nil {
		delay = w.Spec.InitialDelay
	}
	switch {
	case w.Type == event.Liveness:
		return good
	case w.Type == event.Readiness && age <= delay+2*w.Period+statusSlack:
		return bad
	}
	return unknown
}

// heard takes a word of the kubelet, and marks the attempt that made it say so:
// for a bad result only one that decided it.
func (w *Worker) heard(c saying, decided bool) state {
	crossed, kind, now := CrossedSuccess, EffectReady, good
	switch {
	case isBad(c.Status):
		crossed, kind, now = CrossedFailure, EffectNotReady, bad
		if c.Probe != event.Readiness {
			kind = EffectUnhealthy
		}
	case c.Status == "started":
		kind = EffectStarted
	}
	if c.by != nil && (now == good || decided) {
		c.by.Threshold = crossed
		c.by.Effects = append(c.by.Effects, Effect{Kind: kind, At: c.At, Ref: c.Ref, Text: fmt.Sprintf("%s became %s", w.Pod.PodRef, c.Status)})
	}
	return now
}

// adjacent reports whether no tick lies between two attempts.
func (w *Worker) adjacent(a, b *Attempt) bool {
	if w.Period == 0 {
		return false
	}
	return b.Start.Sub(max(a.Start, a.End.Add(-w.Period))) <= w.Period*3/2
}

// killed links each kill of a run to the attempt that decided it: the last failed
// one before it.
func (w *Worker) killed() {
	for i := range w.Pod.Runs {
		r := &w.Pod.Runs[i]
		if r.KilledBy != w.Type || r.Container != w.Container || r.KilledAt == 0 || len(r.KillRefs) == 0 {
			continue
		}
		// An event's stamp has whole seconds, cut off.
		a := w.before(r.KilledAt.Add(time.Second), true)
		if a == nil || r.KilledAt.Sub(a.End) > killGap {
			continue
		}
		// The attempts that go on while the sync loop is busy decide nothing.
		if b := w.crossedBefore(a); b != nil && b.Start >= r.From && r.KilledAt.Sub(b.End) <= killGap {
			a = b
		}
		a.Threshold = CrossedFailure
		a.Effects = append(a.Effects, Effect{Kind: EffectRestart, At: r.KilledAt, Ref: r.KillRefs[0],
			Text: fmt.Sprintf("the kubelet restarted container %s of %s: its %s probe failed too often", w.Container, w.Pod.PodRef, w.Type)})
	}
}

// crossedBefore returns the marked failure in the unbroken run of failures that
// ends with a, nil for none.
func (w *Worker) crossedBefore(a *Attempt) *Attempt {
	i := slices.Index(w.Attempts, a)
	for ; i >= 0 && w.Attempts[i].Outcome == event.OutcomeFailed; i-- {
		if w.Attempts[i].Threshold == CrossedFailure {
			return w.Attempts[i]
		}
	}
	return nil
}

// toldByAPI links the condition Ready and the endpoints to the readiness failure
// before them.
func (s *Set) toldByAPI(x *identity.Index) {
	byPod := make(map[*identity.Pod][]*Worker)
	for _, w := range s.Workers {
		if w.Type == event.Readiness {
			byPod[w.Pod] = append(byPod[w.Pod], w)
		}
	}
	link := func(p *identity.Pod, at event.Nanos, e Effect) {
		var best *Attempt
		crossed := false
		for _, w := range byPod[p] {
			for _, a := range w.Attempts {
				if a.End > at.Add(time.Second) || !a.counted() || a.Outcome != event.OutcomeFailed {
					continue
				}
				// A kubelet that was started anew holds its pods for not ready until a probe
				// succeeds: then a single failure is enough.
				c := a.Threshold == CrossedFailure && at.Sub(a.End) <= apiGap
				if near := at.Sub(a.End) <= time.Second && w.settled(a.Start); !c && !near {
					continue
				}
				if best == nil || c && !crossed || c == crossed && a.End > best.End {
					best, crossed = a, c
				}
			}
		}
		if best != nil {
			best.Effects = append(best.Effects, e)
		}
	}
	for _, p := range x.Pods {
		for _, c := range p.ReadyConditions {
			if c.Status != "False" || c.Since == 0 {
				continue
			}
			text := fmt.Sprintf("%s is shown as not ready by the API", p.PodRef)
			if c.Reason != "" {
				text += " (" + c.Reason + ")"
			}
			link(p, c.Since, Effect{Kind: EffectAPINotReady, At: c.Since, Ref: c.Ref, Text: text})
		}
	}
	s.endpoints(x, link)
	for _, w := range s.Workers {
		for _, a := range w.Attempts {
			slices.SortStableFunc(a.Effects, func(b, c Effect) int { return cmp.Or(cmp.Compare(b.At, c.At), b.Ref.Compare(c.Ref)) })
		}
	}
}

// settled reports whether the container had run for long enough at t for the pod to
// have been ready before.
func (w *Worker) settled(t event.Nanos) bool {
	r := w.Pod.RunAt(w.Container, t)
	return r != nil && w.initial(t.Sub(r.From)) == unknown
}

// endpoints links Endpoints and EndpointSlices that list a pod as not ready and
// say when a pod's change last made them change.
func (s *Set) endpoints(x *identity.Index, link func(*identity.Pod, event.Nanos, Effect)) {
	for i := range x.Objects {
		o := &x.Objects[i]
		if o.ObjectKind != "EndpointSlice" && o.ObjectKind != "Endpoints" {
			continue
		}
		var changed event.Nanos
		for _, f := range o.Facts {
			if f.Key == event.FactLastChange {
				if t, err := time.Parse(time.RFC3339, f.Value); err == nil {
					changed = event.FromTime(t)
				}
			}
		}
		if changed == 0 {
			continue
		}
		for _, f := range o.Facts {
			if f.Key != event.FactNotReady {
				continue
			}
			for _, p := range x.ByName(o.Namespace, f.Value) {
				link(p, changed, Effect{Kind: EffectEndpoint, At: changed, Ref: o.Ref,
					Text: fmt.Sprintf("%s %s/%s lists %s as not ready", o.ObjectKind, o.Namespace, o.Name, p.Name)})
			}
		}
	}
}
