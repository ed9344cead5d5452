package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// Inconclusive is the id of the verdict that names no cause.
const Inconclusive = "inconclusive"

// candidate is a rule that had something to say about a case.
type candidate struct {
	rule    *Rule
	verdict Verdict
	score   float64
	steps   []model.ScoreStep
}

// Judge evaluates all rules on a case and returns an incident with the fields
// of the verdict filled: cause, summary, contributing, alternatives, evidence,
// score, would_change, missing and recommendations. The caller adds what the
// incident is (id, subjects, window), excerpts, and how to reproduce it.
func Judge(c *Case) model.Incident {
	cands := evaluate(c)
	// Failures of a pod that is being deleted are expected: nothing else is looked
	// for (F.6, first test).
	if t := find(cands, "pod-terminating"); t != nil && t.score >= 0.7 {
		for _, o := range cands {
			if o != t {
				o.verdict.Gated, o.score = "the pod was being deleted", 0
			}
		}
	}
	sortCandidates(cands)
	return verdictOf(c, cands)
}

// evaluate runs every rule that the gates let through.
func evaluate(c *Case) []*candidate {
	var out []*candidate
	for _, r := range Rules() {
		if r.Eval == nil {
			continue
		}
		cand := &candidate{rule: r}
		if why := gate(c, r); why != "" {
			cand.verdict.Gated = why
		} else {
			cand.verdict = r.Eval(c)
			if c.ClockUncertain && r.usesPackets() {
				cand.verdict.Limit(capClock, "the clocks of capture and log are not settled")
			}
		}
		cand.score, cand.steps = score(&cand.verdict)
		out = append(out, cand)
	}
	return out
}

// capClock caps verdicts that set packets beside log lines while the offset
// between the two is ambiguous.
const capClock = 0.60

// usesPackets reports whether the rule's family is judged by joining packets to
// log lines.
func (r *Rule) usesPackets() bool { return r.Family == FamilyL2 || r.Family == FamilyPath }

func sortCandidates(cands []*candidate) {
	slices.SortStableFunc(cands, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.rule.Rank, b.rule.Rank), strings.Compare(a.rule.ID, b.rule.ID))
	})
}

func find(cands []*candidate, id string) *candidate {
	for _, k := range cands {
		if k.rule.ID == id {
			return k
		}
	}
	return nil
}

// explains reports whether a is a cause of which b is a mechanism or a
// consequence, directly or through other rules.
func explains(a, b string) bool {
	return reaches(a, b, make(map[string]bool))
}

func reaches(from, to string, seen map[string]bool) bool {
	if seen[from] || registry[from] == nil {
		return false
	}
	seen[from] = true
	for _, next := range registry[from].Explains {
		if next == to || reaches(next, to, seen) {
			return true
		}
	}
	return false
}

// linked reports whether one of two causes explains the other.
func linked(a, b string) bool { return explains(a, b) || explains(b, a) }

// choose names the primary cause among sorted candidates, and the rivals that
// are too close to it without a causal link; with a rival, or below the least
// confidence, there is no primary.
//
// The best score wins, unless a cause that explains it (F.5: earlier in the
// causal order) reaches PrimaryRatio of that score.
func choose(cands []*candidate) (primary *candidate, rivals []*candidate) {
	var able []*candidate
	for _, k := range cands {
		if k.score >= AbstainBelow && !k.verdict.OnlyContributes {
			able = append(able, k)
		}
	}
	if len(able) == 0 {
		return nil, nil
	}
	best := able[0]
	primary = best
	for _, k := range able[1:] {
		if k.score >= PrimaryRatio*best.score && k.rule.Rank < primary.rule.Rank && explains(k.rule.ID, primary.rule.ID) && !explains(primary.rule.ID, k.rule.ID) {
			primary = k
		}
	}
	for _, k := range able {
		if k != primary && best.score-k.score < AbstainMargin-1e-9 && !linked(primary.rule.ID, k.rule.ID) {
			rivals = append(rivals, k)
		}
	}
	return primary, rivals
}

// verdictOf writes the verdict down.
func verdictOf(c *Case, cands []*candidate) model.Incident {
	inc := model.Incident{
		Contributing: []model.Contributing{}, Alternatives: []model.Alternative{}, Evidence: []model.Evidence{},
		Score: []model.ScoreStep{}, WouldChange: []string{}, Missing: []model.Missing{}, Recommend: []model.Recommendation{},
	}
	primary, rivals := choose(cands)
	if primary == nil || len(rivals) > 0 {
		abstain(c, &inc, cands, primary, rivals)
		return inc
	}
	r, v := primary.rule, &primary.verdict
	inc.Cause = model.Cause{ID: r.ID, Family: string(r.Family), Title: r.Title, SubReason: v.SubReason, Confidence: primary.score, Word: model.Word(primary.score)}
	inc.Summary = fmt.Sprintf(r.Sentence, c.Subject())
	inc.Score = primary.steps
	inc.Evidence = append(inc.Evidence, evidenceOf(primary)...)
	ids := slices.Clone(r.Recommend)
	missing := slices.Clone(v.Missing)
	for _, k := range cands {
		if k == primary || k.score == 0 {
			continue
		}
		if contributes(primary, k) {
			inc.Contributing = append(inc.Contributing, model.Contributing{ID: k.rule.ID, Confidence: k.score, Note: contributingNote(primary, k)})
			inc.Evidence = append(inc.Evidence, lead(k)...)
			ids = append(ids, k.rule.Recommend...)
			if primary.score < 0.7 && k.score >= AbstainBelow && !k.verdict.OnlyContributes {
				// Too little is proven to say which of the two it is.
				inc.Alternatives = append(inc.Alternatives, model.Alternative{ID: k.rule.ID, Confidence: k.score, WhyNot: "may be the mechanism or the cause itself: " + whyNot(primary, k)})
				missing = append(missing, k.verdict.Missing...)
			}
			continue
		}
		inc.Alternatives = append(inc.Alternatives, model.Alternative{ID: k.rule.ID, Confidence: k.score, WhyNot: whyNot(primary, k)})
		if primary.score < confirmedEnough {
			missing = append(missing, k.verdict.Missing...)
		}
	}
	if primary.score >= confirmedEnough {
		missing = v.Missing
	}
	inc.Missing = c.stillMissing(missing, primary.score)
	inc.WouldChange = wouldChange(primary)
	inc.Evidence = append(inc.Evidence, c.harmless()...)
	inc.Evidence = append(inc.Evidence, c.discarded()...)
	inc.Recommend = recommend(ids...)
	return inc
}

// confirmedEnough is the confidence from which the questions of alternatives
// are no longer worth printing.
const confirmedEnough = 0.85

// contributes reports whether k belongs to the story of the primary cause: one
// explains the other and k is likely enough, or k is a smell that only ever
// contributes.
func contributes(primary, k *candidate) bool {
	if k.verdict.OnlyContributes {
		return k.score >= 0.15
	}
	return k.score >= AbstainBelow && linked(primary.rule.ID, k.rule.ID)
}

func contributingNote(primary, k *candidate) string {
	switch {
	case k.verdict.OnlyContributes:
		return "made it worse or visible"
	case explains(primary.rule.ID, k.rule.ID):
		return "follows from " + primary.rule.ID + " or is its mechanism"
	default:
		return "may lie behind " + primary.rule.ID
	}
}

// whyNot says in one sentence why a candidate did not win.
func whyNot(primary, k *candidate) string {
	switch v := &k.verdict; {
	case v.Gated != "":
		return "excluded: " + v.Gated
	case v.NotEvaluable != "":
		return "not judged: " + v.NotEvaluable
	default:
		if con := strongest(v.Predicates, Con); len(con) > 0 {
			return "against it: " + con[0].Claim
		}
		if !v.Satisfied && len(k.rule.Needs) > 0 {
			return "what it needs was not found: " + lowerFirst(k.rule.Needs[0])
		}
		if primary != nil {
			if d := discriminator(primary.rule, k.rule); d != "" {
				return "it would show itself so: " + d
			}
		}
		return "scores lower with the same inputs"
	}
}

// discriminator returns what tells k from r, as r (or k) documents it.
func discriminator(r, k *Rule) string {
	for _, l := range r.LookAlikes {
		if l.ID == k.ID {
			return l.Discriminator
		}
	}
	return ""
}

// wouldChange lists observations that would turn the verdict.
func wouldChange(primary *candidate) []string {
	out := []string{}
	for _, l := range primary.rule.LookAlikes {
		out = append(out, "It would be "+l.ID+" if: "+l.Discriminator+".")
	}
	if !primary.verdict.Satisfied && len(primary.rule.Needs) > 0 {
		out = append(out, "It would be firmer with: "+lowerFirst(primary.rule.Needs[0]))
	}
	return out
}

// missingOf turns ids into rows, without repeats, in order.
func missingOf(ids []string) []model.Missing {
	out := []model.Missing{}
	seen := map[string]bool{}
	for _, id := range ids {
		if m, ok := missingTable[id]; ok && !seen[id] {
			seen[id] = true
			out = append(out, m)
		}
	}
	return out
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
