package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "arp-unanswered", Family: FamilyL2, Tier: 1, Rank: 72,
	Title:      "nobody answers ARP for the pod IP",
	Definition: "Nobody answered ARP (or neighbour discovery) for the pod IP, or the pod could not resolve its gateway, so the probe's SYN never left the node.",
	Notes: []string{
		"Packets: who-has at 0, 1 and 2 s without a reply, and no SYN at all: it waits in the neighbour queue.",
		"Log: with timeoutSeconds of 4 or more \"no route to host\" after about 3 s; with 1 to 3 s only \"i/o timeout\".",
	},
	Needs: []string{"At least two requests for the pod IP without a reply in a capture that covers the failures."},
	Supports: []string{"\"no route to host\" after about three seconds; with a shorter timeout the text is a plain timeout.", "No SYN of the failed attempts on the wire.",
		"The interface is down or its namespace is gone.", "The kernel's neighbour table overflowed."},
	Contradicts: []string{"A reply was seen during the failures.", "SYNs went out and were answered in the same time."},
	LookAlikes: []LookAlike{
		{"policy-reject", "\"no route to host\" comes at once, with an ICMP error on the wire"},
		{"sandbox-recreated-ip-changed", "the IP is gone on purpose: the pod has another one by now"},
		{"stale-neighbour", "the unanswered requests are unicast to the MAC of an earlier owner, and a broadcast is answered"},
	},
	Limits:     []Limit{{"node capture", 0.85}, {"kubelet log alone", 0.45}, {"kernel log of a neighbour overflow", 0.80}},
	Sentence:   "Nobody answered ARP for the IP of %s: its link or network namespace is gone.",
	Recommend:  []string{"check-veth", "neighbour-limits"},
	Collect:    []string{MissNodeCapture, MissL2Tables},
	Precedents: []string{"https://github.com/lyft/cni-ipvlan-vpc-k8s/issues/70"},
	Thresholds: []Threshold{{"requests", 2, "count", "unanswered requests needed"}},
	Eval:       evalARPUnanswered,
})

func evalARPUnanswered(c *Case) (v Verdict) {
	un := c.ARPUnanswered()
	if float64(un.N) < c.Thresholds("arp-unanswered", "requests") {
		if as := c.OfClass(probe.ClassNoRoute); len(as) > 0 && !c.HasNodeCapture() {
			v.Need(GroupKubelet, 0.45, factOf("\"no route to host\": either ARP for the pod failed or an ICMP error answered.", as))
			v.Satisfied = true
			v.Limit(0.45, "the text alone does not tell a missing neighbour from a REJECT")
			v.Ask(MissNodeCapture, MissL2Tables)
		} else if !c.HasNodeCapture() {
			c.undecided(&v, c.TimedOut())
			v.Ask(MissNodeCapture, MissL2Tables)
		}
		return v
	}
	v.Satisfied = v.Need(GroupARP, 0.80, un)
	waiting := 0
	for _, a := range c.Failed() {
		if a.JoinReason == "arp-pending" {
			waiting++
		}
	}
	if waiting > 0 {
		v.Sup(GroupNodePcap, WeightState, factOf(fmt.Sprintf("%d failed attempts put no SYN on the wire while ARP was pending.", waiting), c.Failed()))
	}
	if as := c.OfClass(probe.ClassNoRoute); len(as) > 0 {
		v.Sup(GroupKubelet, WeightClass, factOf("\"no route to host\" after about three seconds is what failed ARP prints.", as))
	}
	if f := c.nodeState(event.NodeLinkDown, event.NodeNeighbourFull); f.OK() {
		v.Sup(GroupKernel, WeightState, f)
	}
	if ans := c.ARPAnswered(); ans.OK() && ans.N > un.N {
		v.Con(GroupARP, WeightDirect, ans)
	}
	if as := c.Rejected(); len(as) > 0 {
		v.Con(GroupNodePcap, WeightDirect, flowFact("An ICMP error answered the SYN.", as))
	}
	if wrong, _ := c.WrongMAC(); len(wrong) > 0 && float64(len(wrong)) >= c.Share(wrong)*float64(len(c.Failed()))/2 && waiting < len(wrong) {
		v.Con(GroupNodePcap, WeightSoft, flowFact("Most SYNs left, to another MAC than the pod's: the entry was stale, not missing.", wrong))
	}
	v.Limit(0.85, "packets of the node")
	v.Ask(MissL2Tables)
	return v
}

// nodeState cites facts about the node with one of the codes around the
// incident.
func (c *Case) nodeState(codes ...string) Fact {
	f := Fact{}
	n := c.Index.Node(c.Node)
	if n == nil {
		return f
	}
	for _, s := range n.States {
		if slices.Contains(codes, s.Code) && s.At >= c.First.Add(-2*time.Minute) && s.At <= c.Last.Add(2*time.Minute) {
			f.add(oneLine(s.Message), s.At, s.Ref)
		}
	}
	return f
}
