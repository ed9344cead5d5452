package identity

import (
	"cmp"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// ReadyCondition is the condition Ready of a pod as a snapshot or an audited
// write has it: since when it has been so, and why.
type ReadyCondition struct {
	Since           event.Nanos // lastTransitionTime, whole seconds; zero where the source has none
	Status          string      // "True", "False", "Unknown"
	Reason, Message string
	Ref             event.Ref
}

// readyCondition keeps what a snapshot says about readiness.
func (p *Pod) readyCondition(s *event.PodSeen, ref event.Ref) {
	for _, c := range s.Conditions {
		if c.Type != "Ready" || c.Status == "" {
			continue
		}
		r := ReadyCondition{Since: c.Since, Status: c.Status, Reason: c.Reason, Message: c.Message, Ref: ref}
		if !slices.ContainsFunc(p.ReadyConditions, func(o ReadyCondition) bool { return o.Since == r.Since && o.Status == r.Status }) {
			p.ReadyConditions = append(p.ReadyConditions, r)
		}
	}
}

func (p *Pod) sortConditions() {
	slices.SortStableFunc(p.ReadyConditions, func(a, b ReadyCondition) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), a.Ref.Compare(b.Ref))
	})
}
