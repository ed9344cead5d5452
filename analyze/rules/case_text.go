package rules

import (
	"slices"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
)

// othersOfClass cites attempts of other pods of the node that failed with the
// same class of text while the incident lasted; N counts the attempts.
func (c *Case) othersOfClass(class probe.Class, claim string) Fact {
	f := Fact{}
	for _, w := range c.Probes.Workers {
		if w.Pod.Node != c.Node || slices.Contains(c.Pods, w.Pod) {
			continue
		}
		for _, a := range w.Attempts {
			if a.Class == class && a.End >= c.First && a.End <= c.Last && len(a.Refs) > 0 {
				f.add(claim, a.End, a.Refs[0])
			}
		}
	}
	return f
}
