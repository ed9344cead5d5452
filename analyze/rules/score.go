package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// Limits of the arithmetic.
const (
	Ceiling        = 0.97 // no verdict is certain
	CapUnsatisfied = 0.35 // while necessary evidence is missing
	AbstainBelow   = 0.40 // no candidate reaches it: inconclusive
	AbstainMargin  = 0.10 // two unrelated candidates closer than this: inconclusive
	PrimaryRatio   = 0.70 // a cause may outrank what it explains from this share of its score
)

// score computes a verdict's confidence and writes down every step, so that a
// reader can redo it with pencil and paper:
//
//	base   = 1 - (1-w1)(1-w2)...   the strongest need or sup of each evidence group
//	need   : at most 0.35 while necessary evidence is missing
//	contra : times (1-c) for the strongest contradiction of each group
//	cap    : at most what the inputs at hand can prove
//	ceiling: at most 0.97
//
// Predicates without a reference are left out.
func score(v *Verdict) (float64, []model.ScoreStep) {
	if v.Gated != "" || v.NotEvaluable != "" {
		return 0, nil
	}
	var steps []model.ScoreStep
	rest := 1.0
	for _, p := range strongest(v.Predicates, Need, Sup) {
		rest *= 1 - p.Weight
		steps = append(steps, model.ScoreStep{Text: p.Claim, Group: p.Group, Weight: p.Weight, Result: round(1 - rest)})
	}
	s := 1 - rest
	if len(steps) == 0 {
		return 0, nil
	}
	if !v.Satisfied && s > CapUnsatisfied {
		s = CapUnsatisfied
		steps = append(steps, model.ScoreStep{Text: "necessary evidence is incomplete", Weight: CapUnsatisfied, Result: round(s)})
	}
	for _, p := range strongest(v.Predicates, Con) {
		s *= 1 - p.Weight
		steps = append(steps, model.ScoreStep{Text: model.Against + p.Claim, Group: p.Group, Weight: p.Weight, Result: round(s)})
	}
	if v.Cap > 0 && s > v.Cap {
		s = v.Cap
		steps = append(steps, model.ScoreStep{Text: "limit: " + v.CapWhy, Weight: v.Cap, Result: round(s)})
	}
	if s > Ceiling {
		s = Ceiling
		steps = append(steps, model.ScoreStep{Text: "limit: no verdict is certain", Weight: Ceiling, Result: round(s)})
	}
	s = round(s)
	return s, append(steps, model.ScoreStep{Text: fmt.Sprintf("confidence, %s", model.Word(s)), Result: s})
}

// strongest returns, for the given roles, the heaviest counting predicate of
// each evidence group, heaviest first.
func strongest(all []Predicate, roles ...Role) []Predicate {
	var out []Predicate
	for _, p := range all {
		if !slices.Contains(roles, p.Role) || !p.counts() {
			continue
		}
		i := slices.IndexFunc(out, func(q Predicate) bool { return q.Group == p.Group })
		switch {
		case i < 0:
			out = append(out, p)
		case p.Weight > out[i].Weight:
			out[i] = p
		}
	}
	slices.SortStableFunc(out, func(a, b Predicate) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Group, b.Group))
	})
	return out
}

// counts reports whether the predicate may carry weight: a claim that cites
// nothing proves nothing.
func (p *Predicate) counts() bool { return len(p.Refs) > 0 && p.Weight > 0 }

// round keeps four digits, so that sums print and compare alike everywhere.
func round(x float64) float64 { return float64(int64(x*1e4+0.5)) / 1e4 }
