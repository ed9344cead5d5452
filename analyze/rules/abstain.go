package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// maxCandidates is how many candidates an abstention discusses.
const maxCandidates = 5

// abstain writes the verdict "inconclusive": the candidates with their scores,
// what is missing and how to collect it.
func abstain(c *Case, inc *model.Incident, cands []*candidate, primary *candidate, rivals []*candidate) {
	set := rivals
	if primary != nil {
		set = append([]*candidate{primary}, rivals...)
	} else {
		for _, k := range cands {
			if k.score > 0 && !k.verdict.OnlyContributes {
				set = append(set, k)
			}
		}
	}
	set = set[:min(len(set), maxCandidates)]
	r := Lookup(Inconclusive)
	best := 0.0
	var names, missing []string
	for _, k := range set {
		best = max(best, k.score)
		names = append(names, fmt.Sprintf("%s %.2f", k.rule.ID, k.score))
		missing = append(missing, k.verdict.Missing...)
		inc.Evidence = append(inc.Evidence, lead(k)...)
		inc.Alternatives = append(inc.Alternatives, model.Alternative{ID: k.rule.ID, Confidence: k.score, WhyNot: whyUnsettled(set, k)})
		inc.WouldChange = append(inc.WouldChange, settledBy(k, set)...)
	}
	for _, k := range cands {
		if k.score == 0 || slices.Contains(set, k) {
			continue
		}
		if k.verdict.OnlyContributes {
			inc.Contributing = append(inc.Contributing, model.Contributing{ID: k.rule.ID, Confidence: k.score, Note: "made it worse or visible"})
			continue
		}
		inc.Alternatives = append(inc.Alternatives, model.Alternative{ID: k.rule.ID, Confidence: k.score, WhyNot: whyNot(primary, k)})
	}
	inc.Cause = model.Cause{ID: r.ID, Family: string(r.Family), Title: r.Title, Confidence: best, Word: model.Inconclusive}
	inc.Summary = fmt.Sprintf(r.Sentence, c.Subject())
	switch {
	case primary != nil:
		inc.Cause.SubReason = "ambiguous"
		inc.Summary += " Equally likely: " + strings.Join(names, ", ") + "."
		inc.Score = []model.ScoreStep{{Text: "too close to call without a causal link: " + strings.Join(names, ", "), Weight: AbstainMargin, Result: best}}
	case len(set) > 0:
		inc.Cause.SubReason = "weak"
		inc.Summary += " Candidates: " + strings.Join(names, ", ") + "."
		inc.Score = []model.ScoreStep{{Text: "no candidate reaches the least confidence: " + strings.Join(names, ", "), Weight: AbstainBelow, Result: best}}
	default:
		inc.Cause.SubReason = "no-candidate"
		inc.Score = []model.ScoreStep{{Text: "no rule found anything that speaks for it", Weight: AbstainBelow}}
	}
	// What happened is still evidence: the reader must see which attempts are meant.
	inc.Evidence = append(append(inc.Evidence, c.symptoms()...), c.discarded()...)
	if len(missing) == 0 {
		missing = c.generallyMissing()
	}
	inc.Missing = c.stillMissing(missing, best)
	if len(inc.WouldChange) == 0 {
		for _, m := range inc.Missing {
			inc.WouldChange = append(inc.WouldChange, "It could be settled by "+m.What+".")
		}
	}
	inc.Recommend = recommend(r.Recommend...)
}

// whyUnsettled says why a candidate of the ambiguity set was not chosen.
func whyUnsettled(set []*candidate, k *candidate) string {
	if k.score < AbstainBelow {
		return fmt.Sprintf("too weak: %s", whyNot(nil, k))
	}
	var others []string
	for _, o := range set {
		if o != k {
			others = append(others, o.rule.ID)
		}
	}
	return "the inputs do not tell it from " + strings.Join(others, ", ")
}

// settledBy says which observation would decide for a candidate's look-alikes
// in the set.
func settledBy(k *candidate, set []*candidate) []string {
	var out []string
	for _, o := range set {
		if d := discriminator(k.rule, o.rule); o != k && d != "" {
			out = append(out, "It would be "+o.rule.ID+" and not "+k.rule.ID+" if: "+d+".")
		}
	}
	return out
}
