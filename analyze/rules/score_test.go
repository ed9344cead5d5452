package rules

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var someRef = []event.Ref{{Stream: 1, Line: 7}}

// verdict builds a satisfied verdict from predicates that all cite something.
func verdictWith(ps ...Predicate) *Verdict {
	for i := range ps {
		if ps[i].Refs == nil {
			ps[i].Refs = someRef
		}
	}
	return &Verdict{Predicates: ps, Satisfied: true}
}

func TestScore(t *testing.T) {
	need := func(group string, w float64) Predicate { return Predicate{Role: Need, Group: group, Weight: w} }
	sup := func(group string, w float64) Predicate { return Predicate{Role: Sup, Group: group, Weight: w} }
	con := func(group string, w float64) Predicate { return Predicate{Role: Con, Group: group, Weight: w} }
	limited := func(v *Verdict, most float64) *Verdict {
		v.Limit(most, "inputs")
		return v
	}
	unsatisfied := func(v *Verdict) *Verdict {
		v.Satisfied = false
		return v
	}
	for _, tc := range []struct {
		name string
		v    *Verdict
		want float64
	}{
		{"nothing", &Verdict{Satisfied: true}, 0},
		{"one", verdictWith(need("a", 0.5)), 0.5},
		{"two groups", verdictWith(need("a", 0.5), sup("b", 0.5)), 0.75},
		{"one group counts its strongest once", verdictWith(need("a", 0.3), sup("a", 0.5)), 0.5},
		{"necessary evidence incomplete", unsatisfied(verdictWith(sup("a", 0.9))), 0.35},
		{"contradiction", verdictWith(need("a", 0.5), con("c", 0.8)), 0.1},
		{"contradictions of one group count once", verdictWith(need("a", 0.5), con("c", 0.4), con("c", 0.4)), 0.3},
		{"contradictions of two groups", verdictWith(need("a", 0.5), con("c", 0.4), con("d", 0.4)), 0.18},
		{"the need limit comes before contradictions", unsatisfied(verdictWith(sup("a", 0.9), con("c", 0.4))), 0.21},
		{"limit", limited(verdictWith(need("a", 0.9)), 0.6), 0.6},
		{"a limit above changes nothing", limited(verdictWith(need("a", 0.5)), 0.6), 0.5},
		{"never certain", verdictWith(need("a", 0.9), need("b", 0.9)), 0.97},
		{"context has no weight", verdictWith(Predicate{Role: Context, Group: "a", Weight: 0.9}), 0},
		{"a claim that cites nothing", verdictWith(Predicate{Role: Need, Group: "a", Weight: 0.9, Refs: []event.Ref{}}), 0},
		{"gated", &Verdict{Predicates: verdictWith(need("a", 0.9)).Predicates, Satisfied: true, Gated: "no mesh"}, 0},
		{"not evaluable", &Verdict{Predicates: verdictWith(need("a", 0.9)).Predicates, Satisfied: true, NotEvaluable: "no capture"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, steps := score(tc.v)
			assert.InDelta(t, tc.want, got, 1e-9)
			if got > 0 {
				require.NotEmpty(t, steps)
				assert.InDelta(t, got, steps[len(steps)-1].Result, 1e-9, "the last step is the result")
			}
		})
	}
}

func TestLimitOnlyLowers(t *testing.T) {
	v := Verdict{}
	v.Limit(0.7, "first")
	v.Limit(0.9, "second")
	assert.InDelta(t, 0.7, v.Cap, 0)
	v.Limit(0.5, "third")
	assert.Equal(t, "third", v.CapWhy)
}

// Whatever the predicates: the score lies in [0, Ceiling], more support never
// lowers it and a contradiction never raises it.
func TestScoreProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) Predicate {
			return Predicate{Role: rapid.SampledFrom([]Role{Need, Sup, Con}).Draw(t, "role"), Group: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "group"),
				Weight: rapid.Float64Range(0, 0.99).Draw(t, "weight"), Refs: someRef}
		})
		v := Verdict{Predicates: rapid.SliceOfN(gen, 0, 8).Draw(t, "predicates"), Satisfied: rapid.Bool().Draw(t, "satisfied"), Cap: rapid.Float64Range(0, 1).Draw(t, "cap")}
		base, _ := score(&v)
		assert.True(t, base >= 0 && base <= Ceiling)
		more := v
		more.Predicates = append(append([]Predicate{}, v.Predicates...), Predicate{Role: Sup, Group: "new", Weight: 0.5, Refs: someRef})
		up, _ := score(&more)
		assert.GreaterOrEqual(t, up, base)
		less := v
		less.Predicates = append(append([]Predicate{}, v.Predicates...), Predicate{Role: Con, Group: "new", Weight: 0.5, Refs: someRef})
		down, _ := score(&less)
		assert.LessOrEqual(t, down, base)
	})
}
