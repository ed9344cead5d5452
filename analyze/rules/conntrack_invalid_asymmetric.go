package rules

import (
	"fmt"
	"net/netip"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "conntrack-invalid-asymmetric", Family: FamilyPath, Tier: 2, Rank: 83,
	Title:      "the reply was dropped on its way back",
	Definition: "The pod answered, but the SYN-ACK was not delivered to the kubelet: connection tracking saw it as invalid or was bypassed, or the reply took another path.",
	Notes: []string{
		"Packets: SYN and prompt SYN-ACK inside the pod, the SYN-ACK repeated after 1 and 3 s, no ACK. If one gets through late, the node answers it with a RST: that is the prober's side and not the fault.",
		"A drop in PREROUTING on a node with bridge-nf-call-iptables hides the SYN-ACK from a capture on the bridge.",
	},
	Needs:       []string{"SYN and SYN-ACK at the pod or on the node, repeated SYN-ACKs, and no ACK from the node."},
	Supports:    []string{"The node repeats its SYN although it was answered at once.", "The probe's source is a dummy or service address.", "The kernel logs martian sources.", "Rules drop packets in state INVALID or switch tracking off."},
	Contradicts: []string{"The node acknowledges the SYN-ACK.", "The SYN-ACK comes late: then the node answers it, with ACK or RST."},
	LookAlikes:  []LookAlike{{"packet-loss-latency", "some handshakes complete, or the SYN-ACK comes late"}, {"policy-drop", "no SYN-ACK leaves the pod"}},
	Limits:      []Limit{{"a drop log of the answers", 0.95}, {"node and pod capture", 0.90}, {"one capture", 0.70}, {"logs alone", 0.30}},
	Sentence:    "The answers of %s reached the node but were dropped before the kubelet saw them.",
	Recommend:   []string{"reply-path"},
	Collect:     []string{MissNodeRules, MissKernelLog, MissVethCapture},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/89898"},
	Thresholds:  []Threshold{{"min-half-open", 2, "count", "connections with SYN-ACK and without ACK needed"}},
	Explains:    []string{"probe-timeout-too-tight"},
	Eval:        evalConntrackInvalid,
})

func evalConntrackInvalid(c *Case) (v Verdict) {
	half := c.HalfOpen()
	if old := c.answersToOldMAC(); len(old)*2 > len(half) {
		return v // the answers went to a MAC of the past: no rule dropped them
	}
	if float64(len(half)) < c.Thresholds("conntrack-invalid-asymmetric", "min-half-open") {
		return v
	}
	v.Satisfied = v.Need(GroupNodePcap, 0.70, flowFact(fmt.Sprintf("%d attempts: the pod answered the SYN at once, and the prober never took the SYN-ACK.", len(half)), half))
	var both, again []*probe.Attempt
	for _, a := range half {
		if a.Conn.Inside != nil && a.Conn.Node != nil {
			both = append(both, a)
		}
		if f := a.Conn.Seen().Flow; f.SYNACKs > 1 || f.SYNs > 1 {
			again = append(again, a)
		}
	}
	if len(both) > 0 {
		v.Sup(GroupTwoPoints, 0.70, flowFact("Node and pod capture both hold the SYN, and the SYN-ACK left the pod.", both))
	}
	if len(again) > 0 {
		v.Sup(GroupTiming, WeightStateLoose, flowFact("SYN and SYN-ACK are repeated: neither side gets further.", again))
	}
	if f := c.nodeState(event.NodeMartian); f.OK() {
		v.Sup(GroupKernel, WeightState, f)
	}
	dropped := c.dropLines(func(line string, server netip.AddrPort) bool { return ends(line, "SRC=", "SPT=", server) })
	v.Sup(GroupKernel, WeightTwoPoints, dropped)
	v.Sup(GroupSpec, WeightSmell, c.oddSource(half))
	if n := len(c.TimedOut()); len(half)*2 < n {
		v.Con(GroupPodPcap, WeightSoft, factOf("Most timed-out attempts look different.", c.TimedOut()))
	}
	if dropped.OK() {
		v.Limit(0.95, "a drop log of the answers")
	} else if len(both) > 0 {
		v.Limit(0.90, "node and pod capture")
	} else {
		v.Limit(0.70, "one capture point")
	}
	v.Ask(MissNodeRules, MissKernelLog)
	return v
}

// oddSource tells whether the probes come from an address that no interface
// towards pods should have: a link-local one, as node-local caches and service
// proxies put on dummy interfaces.
func (c *Case) oddSource(as []*probe.Attempt) Fact {
	odd := joined(as, func(_ *probe.Attempt, f *event.Flow) bool {
		return f.Client.Addr().Is4() && f.Client.Addr().IsLinkLocalUnicast()
	})
	if len(odd) == 0 {
		return Fact{}
	}
	return flowFact("The probes come from "+odd[0].Conn.Seen().Flow.Client.Addr().String()+", an address of a dummy interface: answers to it may take another way.", odd)
}
