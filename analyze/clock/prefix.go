package clock

import (
	"cmp"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// prefixes are pairs of stamps of one line: that of the log's prefix and that of
// the kubelet's header. Of many lines every stride-th is kept.
type prefixes struct {
	seen, stride int
	pairs        []prefixPair
	steps        []stepSeen
}

type prefixPair struct {
	prefix, header event.Stamp
	ref            event.Ref
}

type stepSeen struct {
	stamp event.Stamp
	Step
}

const (
	maxPairs = 2048
	// side is how many lines before and after must agree for a step.
	side = 5
)

func (c *Comparer) origin(o origin) *prefixes {
	x := c.prefixes[o]
	if x == nil {
		x = &prefixes{stride: 1}
		c.prefixes[o] = x
	}
	return x
}

func (c *Comparer) prefix(e *event.Event) {
	if _, ok := e.Payload.(*event.Notice); ok || e.Time.Missing&event.MissingEpoch != 0 || e.Logged.Missing&event.MissingEpoch != 0 {
		return // a time that a line only speaks of is no header
	}
	x := c.origin(origin{e.Ref.Stream, e.Node})
	if x.seen++; x.seen%x.stride != 0 {
		return
	}
	if len(x.pairs) >= maxPairs {
		for i := range maxPairs / 2 {
			x.pairs[i] = x.pairs[2*i+1]
		}
		x.pairs = x.pairs[:maxPairs/2]
		x.stride *= 2
	}
	x.pairs = append(x.pairs, prefixPair{e.Logged, e.Time, e.Ref})
}

// gap is how much later than the prefix the header says it is, and the
// resolution of the prefix.
type gap struct {
	at    event.Nanos
	by    time.Duration
	prec  time.Duration
	exact time.Duration // resolution of the header
	ref   event.Ref
}

func (x *prefixes) gaps(r *Resolver, o origin) []gap {
	out := make([]gap, 0, len(x.pairs))
	for _, p := range x.pairs {
		at := r.Resolve(p.header, o.node, o.stream).At
		out = append(out, gap{at, at.Sub(r.Resolve(p.prefix, o.node, o.stream).At), p.prefix.Precision, p.header.Precision, p.ref})
	}
	slices.SortStableFunc(out, func(a, b gap) int { return a.ref.Compare(b.ref) })
	return out
}

// journal compares the prefixes of a log with the kubelet's headers.
func (x *prefixes) journal(r *Resolver, o origin) Comparison {
	c := Comparison{Kind: KindJournal, Node: o.node, Stream: o.stream}
	gaps := x.gaps(r, o)
	spans := make([]Span, len(gaps))
	for i, g := range gaps {
		spans[i] = Span{g.by - g.prec, g.by + g.exact + soon}
	}
	c.set(spans)
	for _, s := range x.steps {
		s.Step.At = r.Resolve(s.stamp, o.node, o.stream).At
		c.Steps = append(c.Steps, s.Step)
	}
	c.Steps = append(c.Steps, headerSteps(gaps)...)
	slices.SortStableFunc(c.Steps, func(a, b Step) int { return cmp.Or(cmp.Compare(a.At, b.At), a.Ref.Compare(b.Ref)) })
	return c
}

// headerSteps are the places at which headers and prefixes begin to differ by
// another amount, for good: a line or two that came late are none.
func headerSteps(gaps []gap) []Step {
	var out []Step
	for i := side; i+side <= len(gaps); i++ {
		before, after := gaps[i-side:i], gaps[i:i+side]
		byGap := func(a, b gap) int { return cmp.Compare(a.by, b.by) }
		lowBefore, highBefore := slices.MinFunc(before, byGap).by, slices.MaxFunc(before, byGap).by
		lowAfter, highAfter := slices.MinFunc(after, byGap).by, slices.MaxFunc(after, byGap).by
		room := receipt + gaps[i].prec
		if lowAfter-highBefore > room || lowBefore-highAfter > room {
			out = append(out, Step{At: gaps[i].at, By: after[side/2].by - before[side/2].by, Ref: gaps[i].ref, Against: "prefix of its lines"})
			i += side - 1
		}
	}
	return out
}

func (c *Comparison) set(spans []Span) {
	c.Of = len(spans)
	met, agree, only := Meet(spans)
	if only {
		c.Span, c.Agree = met, agree
	} else {
		c.Span = Span{-Open, Open}
	}
}
