package rules

import (
	"github.com/probe-forensics/probe-forensics/analyze/probe"
)

// undecided notes that attempts timed out while no capture tells why: the words
// are the same for a lost SYN, a lost reply, a full queue and a silent
// application. It never satisfies a rule; it only lists the cause among those
// that remain.
func (c *Case) undecided(v *Verdict, timed []*probe.Attempt) {
	v.Need(GroupKubelet, WeightClass, factOf("The probes time out; the text alone does not tell where the packets or the answer were lost.", timed))
}
