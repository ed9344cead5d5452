package clock

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Span is what one pair of records says about an offset: it lies from From to
// To, both included. An end that the pair leaves open is Open or -Open.
type Span struct{ From, To time.Duration }

// Open is an end that nothing bounds.
const Open = time.Duration(math.MaxInt64)

// Bounded reports whether both ends are known.
func (s Span) Bounded() bool { return s.From != -Open && s.To != Open }

// Contains reports whether the offset d is possible.
func (s Span) Contains(d time.Duration) bool { return s.From <= d && d <= s.To }

// Middle is the offset halfway, and how far it may be off; ok is false when an
// end is open.
func (s Span) Middle() (offset, uncertainty time.Duration, ok bool) {
	if !s.Bounded() {
		return 0, 0, false
	}
	half := (s.To - s.From) / 2
	return s.From + half, half, true
}

// Meet returns the offsets that most of the spans allow and how many spans those
// are. Records that were paired wrongly, and answers that came late, give spans
// that disagree with the others: they lose the vote, they do not widen or move
// the result. only is false when another range of offsets has as many votes.
func Meet(spans []Span) (met Span, agree int, only bool) {
	type end struct {
		at   time.Duration
		open bool
	}
	ends := make([]end, 0, 2*len(spans))
	for _, s := range spans {
		if s.From > s.To {
			continue
		}
		ends = append(ends, end{s.From, true}, end{s.To, false})
	}
	slices.SortFunc(ends, func(a, b end) int {
		if a.at == b.at && a.open != b.open {
			if a.open { // both ends belong to a span: those that begin come first
				return -1
			}
			return 1
		}
		return cmp.Compare(a.at, b.at)
	})
	now, in := 0, false
	for _, e := range ends {
		switch {
		case e.open:
			now++
			if now > agree {
				agree, met.From, in, only = now, e.at, true, true
			} else if now == agree {
				only, in = false, false
			}
		default:
			if in && now == agree {
				met.To, in = e.at, false
			}
			now--
		}
	}
	return met, agree, only
}
