package clock

import (
	"cmp"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Anchor is a moment that one clock recorded as At and that, by what it says,
// may be one of several moments another clock recorded.
type Anchor struct {
	At event.Nanos
	// Key limits what it may be compared with: same target, compatible outcome.
	Key string
}

// Offset is what must be added to the other clock to get the reference clock.
type Offset struct {
	Value       time.Duration
	Uncertainty time.Duration // median absolute deviation of the pairs
	Pairs       int           // anchors explained
	Of          int           // anchors there are
	// Rivals are other offsets that explain almost as many anchors, in order: probing
	// is periodic, so whole periods often do.
	Rivals []time.Duration
}

// Bounds of the search.
const (
	// MaxOffset is how far two clocks may lie apart.
	MaxOffset = 5 * time.Minute
	// near is how close a pair must be to count: a kubelet line follows the end of its
	// connection by up to tens of milliseconds.
	near       = 60 * time.Millisecond
	bin        = 20 * time.Millisecond
	maxAnchors = 600
	candidates = 40
)

// Estimate finds the offset that lets the marks of the other clock explain most
// anchors of the reference clock, one mark to one anchor. against are marks that
// ought to have an anchor: one without speaks against an offset. ok is false when
// fewer than three anchors are explained by any offset.
//
// The offset zero wins ties: clocks of one machine are one clock.
func Estimate(anchors, marks, against []Anchor, most time.Duration) (Offset, bool) {
	anchors = thin(anchors)
	byKey := group(marks)
	votes := make(map[int64]int)
	for _, a := range anchors {
		for _, m := range byKey[a.Key] {
			if d := a.At.Sub(m); d <= most && d >= -most {
				votes[int64(d/bin)]++
			}
		}
	}
	bins := make([]int64, 0, len(votes))
	for b := range votes {
		bins = append(bins, b)
	}
	slices.SortFunc(bins, func(a, b int64) int {
		return cmp.Or(-cmp.Compare(votes[a], votes[b]), cmp.Compare(max(a, -a), max(b, -b)), cmp.Compare(a, b))
	})
	bins = bins[:min(len(bins), candidates)]
	if !slices.Contains(bins, 0) {
		bins = append(bins, 0)
	}
	var all []fit
	for _, b := range bins {
		f := explain(anchors, byKey, time.Duration(b)*bin)
		if f.pairs == 0 {
			continue
		}
		// Refine at the median of what was paired.
		f = explain(anchors, byKey, f.offset)
		f.score = float64(f.pairs) - 0.5*float64(contradictions(anchors, against, f.offset))
		if !slices.ContainsFunc(all, func(o fit) bool { return (o.offset - f.offset).Abs() < near }) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b fit) int {
		return cmp.Or(-cmp.Compare(a.score, b.score), cmp.Compare(a.offset.Abs(), b.offset.Abs()))
	})
	if len(all) == 0 || all[0].pairs < 3 {
		return Offset{Of: len(anchors)}, false
	}
	best := all[0]
	// One machine has one clock: an offset must explain clearly more than none does.
	for _, f := range all[1:] {
		if f.offset.Abs() < 2*near && 10*f.pairs >= 6*len(anchors) && best.score-f.score < max(3, 0.25*best.score) {
			best = f
		}
	}
	o := Offset{Value: best.offset, Uncertainty: best.mad, Pairs: best.pairs, Of: len(anchors)}
	for _, f := range all {
		if f != best && best.score-f.score < max(1.5, 0.15*best.score) {
			o.Rivals = append(o.Rivals, f.offset)
		}
	}
	return o, true
}

// thin bounds the work, keeping the spread over time.
func thin(as []Anchor) []Anchor {
	as = slices.Clone(as)
	slices.SortFunc(as, func(a, b Anchor) int { return cmp.Compare(a.At, b.At) })
	if len(as) <= maxAnchors {
		return as
	}
	out := make([]Anchor, 0, maxAnchors)
	for i := range maxAnchors {
		out = append(out, as[i*len(as)/maxAnchors])
	}
	return out
}

func group(as []Anchor) map[string][]event.Nanos {
	m := make(map[string][]event.Nanos)
	for _, a := range as {
		m[a.Key] = append(m[a.Key], a.At)
	}
	for _, v := range m {
		slices.Sort(v)
	}
	return m
}

type fit struct {
	offset, mad time.Duration
	pairs       int
	score       float64
}

// explain pairs each anchor with the nearest unused mark of its key at an offset
// and returns the median distance as the refined offset.
func explain(anchors []Anchor, marks map[string][]event.Nanos, offset time.Duration) fit {
	next := make(map[string]int)
	var ds []time.Duration
	for _, a := range anchors { // by time, and marks by time: one sweep per key
		ms := marks[a.Key]
		i := next[a.Key]
		for i < len(ms) && a.At.Sub(ms[i].Add(offset)) > near {
			i++
		}
		if i < len(ms) && a.At.Sub(ms[i].Add(offset)) >= -near {
			ds = append(ds, a.At.Sub(ms[i]))
			i++
		}
		next[a.Key] = i
	}
	if len(ds) == 0 {
		return fit{offset: offset}
	}
	med := median(ds)
	dev := make([]time.Duration, len(ds))
	for i, d := range ds {
		dev[i] = (d - med).Abs()
	}
	return fit{offset: med, mad: median(dev), pairs: len(ds)}
}

// contradictions counts marks that should have an anchor and have none.
func contradictions(anchors, against []Anchor, offset time.Duration) int {
	if len(against) == 0 || len(anchors) == 0 {
		return 0
	}
	have := group(anchors)
	first, last := anchors[0].At, anchors[len(anchors)-1].At
	n := 0
	for _, m := range against {
		at := m.At.Add(offset)
		if at < first || at > last {
			continue
		}
		as := have[m.Key]
		i, _ := slices.BinarySearch(as, at.Add(-near))
		if i == len(as) || as[i] > at.Add(near) {
			n++
		}
	}
	return n
}

func median(ds []time.Duration) time.Duration {
	ds = slices.Clone(ds)
	slices.Sort(ds)
	return ds[len(ds)/2]
}
