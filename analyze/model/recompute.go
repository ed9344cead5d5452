package model

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Against begins the text of a step that lowers a confidence because of evidence
// against the cause.
const Against = "against: "

// Recompute redoes the arithmetic of a verdict from its printed steps, as a reader
// would with pencil and paper, and returns the confidence. The error names the
// first step that does not follow from those before it or from the evidence.
//
// One more support leaves less to doubt; a contradiction and a limit lower what is
// there. An abstention carries the confidence of its best candidate.
func (i *Incident) Recompute() (float64, error) {
	if i.Cause.Word == Inconclusive {
		best := 0.0
		for _, a := range i.Alternatives {
			best = max(best, a.Confidence)
		}
		return best, nil
	}
	if len(i.Score) == 0 {
		return 0, fmt.Errorf("%s: no steps", i.Cause.ID)
	}
	doubt, value, lowered := 1.0, 0.0, false
	last := len(i.Score) - 1
	for n, s := range i.Score[:last] {
		claim, against := strings.CutPrefix(s.Text, Against)
		switch {
		case s.Group == "":
			value, lowered = min(value, s.Weight), true
		case against:
			value, lowered = value*(1-s.Weight), true
		case lowered:
			return 0, fmt.Errorf("%s: step %d adds support after a limit: %s", i.Cause.ID, n+1, s.Text)
		default:
			doubt *= 1 - s.Weight
			value = 1 - doubt
		}
		if math.Abs(value-s.Result) > 1e-4 {
			return 0, fmt.Errorf("%s: step %d gives %.4f, printed is %.4f: %s", i.Cause.ID, n+1, value, s.Result, s.Text)
		}
		role := RoleFor
		if against {
			role = RoleAgainst
		}
		if s.Group != "" && !slices.ContainsFunc(i.Evidence, func(e Evidence) bool {
			return e.Rule == i.Cause.ID && e.Role == role && e.Claim == claim && e.Weight == s.Weight
		}) {
			return 0, fmt.Errorf("%s: step %d rests on no evidence: %s", i.Cause.ID, n+1, s.Text)
		}
	}
	if math.Abs(value-i.Score[last].Result) > 1e-4 {
		return 0, fmt.Errorf("%s: the steps give %.4f, printed is %.4f", i.Cause.ID, value, i.Score[last].Result)
	}
	return i.Score[last].Result, nil
}
