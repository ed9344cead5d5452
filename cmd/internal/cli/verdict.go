package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// exitFlags turn findings into exit codes.
type exitFlags struct {
	FailOn        []string `group:"exit" placeholder:"CAUSE" help:"Exit with 3 when this cause (an id, a family, or any) is found. Repeatable."`
	MinConfidence float64  `group:"exit" default:"0.7" placeholder:"NUMBER" help:"... with at least this confidence (default: ${default})."`
	Strict        bool     `group:"exit" help:"Exit with 4 when an input was damaged or partly unreadable."`
}

// anyCause is the word of --fail-on for every cause but inconclusive.
const anyCause = "any"

// check refuses words that can never match: a gate with a typing error in it
// would always be open.
func (f *exitFlags) check() error {
	if f.MinConfidence < 0 || f.MinConfidence > 1 {
		return usagef("--min-confidence: %v is not between 0 and 1", f.MinConfidence)
	}
	known := []string{anyCause}
	for _, r := range rules.Rules() {
		known = append(known, r.ID, string(r.Family))
	}
	slices.Sort(known)
	known = slices.Compact(known)
	for _, word := range f.FailOn {
		if slices.Contains(known, word) {
			continue
		}
		err := usagef("--fail-on: %q is no cause, no family and not any", word)
		if near := nearest(word, known); near != "" {
			return err.try("did you mean %q?", near)
		}
		return err.try("%s rules lists the causes", programName)
	}
	return nil
}

// verdict is the exit code's error, nil when there is nothing to tell. A cause
// that was found counts before damage: damage hides causes, it adds none.
func (f *exitFlags) verdict(res *model.Result, damaged []event.Problem) error {
	var found []string
	for _, i := range res.Incidents {
		if i.Cause.Confidence >= f.MinConfidence && f.matches(i.Cause) {
			found = append(found, fmt.Sprintf("%s %.2f", i.Cause.ID, i.Cause.Confidence))
		}
	}
	if len(found) > 0 {
		return &exitError{code: ExitFailOn, err: fmt.Errorf("--fail-on reached: %s", strings.Join(found, ", "))}
	}
	if f.Strict && len(damaged) > 0 {
		err := fmt.Errorf("--strict: %d problems in the inputs, the first at %s: %s: %s", len(damaged), place(damaged[0]), damaged[0].Code, damaged[0].Message)
		return &exitError{code: ExitDamaged, err: err, hints: []string{damaged[0].Kind().Try}}
	}
	return nil
}

func (f *exitFlags) matches(c model.Cause) bool {
	if slices.Contains(f.FailOn, c.ID) || slices.Contains(f.FailOn, c.Family) {
		return true
	}
	return slices.Contains(f.FailOn, anyCause) && c.ID != model.Inconclusive
}
