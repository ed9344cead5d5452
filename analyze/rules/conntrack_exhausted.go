package rules

import (
	"fmt"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "conntrack-exhausted", Family: FamilyPath, Tier: 1, Rank: 80,
	Title:      "conntrack table full",
	Definition: "The node's connection tracking table was full, so new connections were dropped on the node.",
	Notes: []string{
		"Log: the kernel's \"nf_conntrack: table full, dropping packet\". Network probes of many pods fail at once, exec probes pass.",
		"Packets: the SYN is dropped before the bridge, so a capture there does not show it.",
	},
	Needs:       []string{"Kernel line \"nf_conntrack: table full, dropping packet\" around the failures."},
	Supports:    []string{"Many pods of the node fail together, tcp, http and grpc alike, while exec probes do not.", "No SYN of the failed attempts reaches the bridge."},
	Contradicts: []string{"A single pod fails while others on the node are probed well."},
	LookAlikes:  []LookAlike{{"policy-drop", "one pod or port is affected, and the kernel log has no such line"}, {"kubelet-stall", "no probe is attempted at all"}},
	Limits:      []Limit{{"kernel log", 0.90}, {"without a kernel log", 0.30}},
	Sentence:    "The connection tracking table of the node was full, and new connections to %s were dropped.",
	Recommend:   []string{"conntrack-size", "neighbour-limits"},
	Collect:     []string{MissKernelLog},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/71261", "https://github.com/kubernetes/kubernetes/issues/18604"},
	Thresholds:  []Threshold{{"window", 120, "s", "how far from the failures the kernel line may lie"}},
	Explains:    []string{"policy-drop", "probe-timeout-too-tight", "cpu-starvation"},
	Eval:        evalConntrackExhausted,
})

func evalConntrackExhausted(c *Case) (v Verdict) {
	timed := c.TimedOut()
	if len(timed) == 0 || c.Share(timed) < 0.5 {
		return v
	}
	window := c.seconds("conntrack-exhausted", "window")
	full := c.nodeFacts(window, window, hasCode(event.NodeConntrackFull),
		func(s identity.NodeState) string { return "The kernel says: " + oneLine(s.Message) + "." })
	old := c.undated(event.NodeConntrackFull, "The kernel log, which has no times that could be placed, says that the connection tracking table was full.")
	level := c.conntrackLevel()
	together := c.othersFailing()
	unsent := c.Unsent()
	switch {
	case full.OK():
		v.Satisfied = v.Need(GroupKernel, WeightLiteral, full)
		v.Limit(0.90, "the kernel log names the cause")
	case old.OK():
		v.Satisfied = v.Need(GroupKernel, WeightState, old)
		v.Limit(0.60, "the kernel line cannot be placed in time")
	case level.OK():
		v.Satisfied = v.Need(GroupHost, WeightState, level)
		v.Limit(0.60, "a count taken once, not at the time of the failures")
	case together.N >= nodePods && (len(unsent) >= 2 || !c.HasNodeCapture()):
		v.Need(GroupTiming, WeightStateLoose, together)
		v.Limit(0.30, "no kernel log")
	default:
		return v
	}
	v.Need(GroupKubelet, WeightClass, factOf(fmt.Sprintf("%d attempts timed out.", len(timed)), timed))
	v.Sup(GroupTiming, WeightState, together)
	v.Sup(GroupNodePcap, WeightStateLoose, factOf("The SYNs of failed attempts never reached the wire: they were dropped on the node.", unsent))
	v.Sup(GroupRuntime, WeightSmell, c.execPassing())
	if well := c.othersServed(); well.OK() && !together.OK() {
		v.Con(GroupTiming, WeightSoft, well)
	}
	v.Ask(MissKernelLog)
	return v
}

// nodePods is from how many pods on a fault of the node is more likely than one
// of each pod.
const nodePods = 3

// conntrackLevel cites a count of tracked connections that was near its limit
// when the inputs were collected.
func (c *Case) conntrackLevel() Fact {
	var count, limit identity.HostFact
	for _, h := range append(c.hostFacts(event.ToolConntrack), c.hostFacts(event.ToolSysctl)...) {
		switch {
		case h.Key == "count" || strings.HasSuffix(h.Key, "nf_conntrack_count"):
			count = h
		case h.Key == "max" || strings.HasSuffix(h.Key, "nf_conntrack_max"):
			limit = h
		}
	}
	if count.HostFact == nil || limit.HostFact == nil || number(limit) <= 0 || number(count) < 0.95*number(limit) {
		return Fact{}
	}
	return Fact{Claim: fmt.Sprintf("%s of at most %s tracked connections were in use when the inputs were collected.", count.Value, limit.Value), Refs: cite(count.Ref, limit.Ref), N: 1}
}
