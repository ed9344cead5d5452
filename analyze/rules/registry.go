package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// registry holds the rules by id. Rules register themselves while the package
// is initialized; nothing changes it afterwards.
var registry = map[string]*Rule{}

// register adds a rule. Two rules with one id, or a rule that names itself a
// look-alike, are mistakes of the programmer and stop the program.
func register(r Rule) *Rule {
	if _, dup := registry[r.ID]; dup {
		panic("rules: id registered twice: " + r.ID)
	}
	registry[r.ID] = &r
	return &r
}

// Rules returns all rules sorted by id. The caller must not change them.
func Rules() []*Rule {
	out := make([]*Rule, 0, len(registry))
	for _, r := range registry {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Rule) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Lookup returns the rule with the id, nil if there is none.
func Lookup(id string) *Rule { return registry[id] }

// Threshold returns the default of a rule's threshold; ok is false when the
// rule has none of that name.
func (r *Rule) Threshold(name string) (t Threshold, ok bool) {
	for _, t := range r.Thresholds {
		if t.Name == name {
			return t, true
		}
	}
	return Threshold{}, false
}

// Key returns the configuration key of a threshold, "<rule>.<name>".
func (r *Rule) Key(t Threshold) string { return r.ID + "." + t.Name }

// DefaultThresholds returns a lookup over the defaults with overrides by key
// applied; it is what Case.Thresholds is usually set to.
func DefaultThresholds(overrides map[string]float64) func(rule, name string) float64 {
	return func(rule, name string) float64 {
		if v, ok := overrides[rule+"."+name]; ok {
			return v
		}
		r := registry[rule]
		if r == nil {
			panic("rules: threshold of unknown rule " + rule)
		}
		t, ok := r.Threshold(name)
		if !ok {
			panic(fmt.Sprintf("rules: %s has no threshold %q", rule, name))
		}
		return t.Default
	}
}

// weightTable names the weights in the order in which they are documented.
var weightTable = []struct {
	Name   string
	Weight float64
}{
	{"literal", WeightLiteral}, {"two-points", WeightTwoPoints}, {"state", WeightState},
	{"state-loose", WeightStateLoose}, {"class", WeightClass}, {"smell", WeightSmell},
	{"direct", WeightDirect}, {"soft", WeightSoft}, {"ceiling", Ceiling}, {"unsatisfied", CapUnsatisfied},
	{"abstain-below", AbstainBelow}, {"abstain-margin", AbstainMargin}, {"primary-ratio", PrimaryRatio},
}

// RulesHash identifies the knowledge behind a verdict: a sha256 over the ids,
// the documentation, the thresholds and the weights of all rules, and the texts
// of recommendations and missing observations.
func RulesHash() string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, r := range Rules() {
		meta := *r
		meta.Eval = nil
		mustEncode(enc, struct {
			Rule
			Eval any `json:"Eval,omitempty"` // shadows the function, which has no JSON form
		}{Rule: meta})
	}
	mustEncode(enc, weightTable)
	mustEncode(enc, recommendations)
	mustEncode(enc, missingTable)
	return hex.EncodeToString(h.Sum(nil))
}

func mustEncode(enc *json.Encoder, v any) {
	if err := enc.Encode(v); err != nil {
		panic("rules: hash: " + err.Error()) // plain data and a hash: cannot fail
	}
}
