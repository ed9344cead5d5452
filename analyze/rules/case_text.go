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

// undecided notes that attempts timed out while no capture tells why: the words
// are the same for a lost SYN, a lost reply, a full queue and a silent
// application. It never satisfies a rule; it only lists the cause among those
// that remain.
func (c *Case) undecided(v *Verdict, timed []*probe.Attempt) {
	v.Need(GroupKubelet, WeightClass, factOf("The probes time out; the text alone does not tell where the packets or the answer were lost.", timed))
}
