package rules

import (
	"net/netip"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "bridge-fdb-flip", Family: FamilyL2, Tier: 1, Rank: 70,
	Title:      "bridge forwarded to the wrong port",
	Definition: "The bridge forwarded the probe's frames to the wrong port because its MAC table had moved: a duplicate MAC, a changed bridge MAC, a learning race.",
	Notes: []string{
		"Packets: the frame to the pod's MAC is on the bridge and not on the pod's own interface. A port that does not own the IP drops the frame without an answer, so the probe times out; a refusal means that the stack behind the wrong port owns the IP too.",
		"Broadcasts (ARP) still reach the pod, and a frame from the pod moves the entry back.",
	},
	Needs: []string{"Frames to the pod's MAC on the node that do not appear at the pod while it is up, a forwarding table that names another port, or a change of the bridge's own MAC."},
	Supports: []string{"The first SYN after a frame from the pod succeeds, without a container event.", "Broadcasts (ARP) still reach the pod.", "The kernel received packets with its own address as source.",
		"A new pod appeared just before: a bridge without a fixed MAC takes the lowest one of its ports."},
	Contradicts: []string{"The SYN was seen inside the pod.", "A unicast ARP request to the same MAC was answered during the silence: the bridge forwards it rightly."},
	LookAlikes: []LookAlike{
		{"duplicate-pod-ip", "SYNs are refused instead of lost: a stack that owns the IP answers"},
		{"policy-drop", "it heals with a rule, not with a frame from the pod"},
		{"app-hang", "the handshake completes"},
	},
	Limits:     []Limit{{"node capture alone", 0.65}, {"node capture, healed by the pod's frames at least twice, or answers to the bridge's earlier MAC", 0.75}, {"node and pod capture", 0.95}, {"log and objects alone", 0.35}},
	Sentence:   "The node's bridge forwarded the probes of %s to the wrong port.",
	Recommend:  []string{"fix-bridge-mac", "capture-l2", "ping-heals"},
	Collect:    []string{MissL2Tables, MissVethCapture, MissPodCapture, MissBeforeAfter},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/64464", "https://github.com/kubernetes/kubernetes/issues/63922", "https://github.com/kubernetes/kubernetes/issues/30783"},
	Explains:   []string{"arp-conflict"},
	Eval:       evalBridgeFDBFlip,
})

func evalBridgeFDBFlip(c *Case) (v Verdict) {
	silent := c.Silent()
	refused := c.Refused()
	wrong, _ := c.WrongMAC()
	lost := c.NotInPod(silent)
	misled := c.NotInPod(refused)
	heal := c.HealedByEgress()
	moved := c.answersToOldMAC()
	switch {
	case len(wrong) > 0 && len(wrong)*2 > len(silent):
		// The frame was addressed to another MAC: the bridge did as it was told.
		return v
	case len(moved) >= 2:
		v.Satisfied = v.Need(GroupNodePcap, 0.75, flowFact("The pod answered to a MAC that the node had used before and uses no more: the bridge's own MAC changed, and the answers never arrive.", moved))
		v.Limit(0.75, "one capture point")
	case len(misled) >= 2:
		v.Satisfied = v.Need(GroupTwoPoints, WeightTwoPoints, flowFact("Frames to the pod's MAC were on the bridge and never reached the pod: its entry in the forwarding table pointed elsewhere.", misled))
		// Something answered in the pod's place, so a second owner is the larger story.
		v.Limit(0.75, "a second stack answered; the forwarding entry is how the frames got there")
	case len(lost) >= 2 && heal.OK():
		v.Satisfied = v.Need(GroupTwoPoints, WeightTwoPoints, flowFact("Frames to the pod were on the bridge and never reached the pod.", lost))
		v.Need(GroupTiming, WeightState, heal)
		v.Limit(0.95, "located by two capture points")
	case heal.OK() && len(silent) > 0:
		v.Satisfied = v.Need(GroupTiming, 0.65, heal)
		v.Limit(0.65+0.1*float64(min(heal.N-1, 1)), "healing by a frame from the pod, seen on the node only")
	case heal.OK() && len(refused) > 0:
		v.Satisfied = v.Need(GroupTiming, 0.55, heal)
		v.Limit(0.55, "a silent wrong port could not have answered")
	default:
		return v
	}
	if f := c.ownAddress(); f.OK() {
		v.Sup(GroupKernel, WeightState, f)
	}
	if in := c.InsidePod(silent); len(in) > 0 && len(in) == len(silent) {
		v.Con(GroupPodPcap, WeightDirect, flowFact("The pod saw every one of the SYNs.", in))
	}
	v.Ask(MissL2Tables, MissVethCapture, MissPodCapture, MissBeforeAfter)
	return v
}

// answersToOldMAC returns the attempts whose SYN-ACK went to another MAC than the
// SYN had come from, one that an earlier SYN of the node did come from.
func (c *Case) answersToOldMAC() []*probe.Attempt {
	astray := joined(c.HalfOpen(), func(_ *probe.Attempt, f *event.Flow) bool {
		return !f.ClientMAC.IsZero() && !f.AnswerDstMAC.IsZero() && !f.AnswerDstMAC.IsBroadcast() && f.AnswerDstMAC != f.ClientMAC
	})
	if len(astray) == 0 {
		return nil
	}
	type sender struct {
		ip  netip.Addr
		mac event.MAC
	}
	first := make(map[sender]event.Nanos) // of its SYNs
	for _, k := range c.Captures.Conns {
		s := sender{k.Client.Addr(), k.Seen().Flow.ClientMAC}
		if at := k.Seen().Flow.SYN.At; at != 0 && (first[s] == 0 || at < first[s]) {
			first[s] = at
		}
	}
	return joined(astray, func(_ *probe.Attempt, f *event.Flow) bool {
		at := first[sender{f.Client.Addr(), f.AnswerDstMAC}]
		return at != 0 && at < f.SYN.At
	})
}

// ownAddress cites the kernel's complaint about a frame with the node's own
// address.
func (c *Case) ownAddress() Fact {
	f := Fact{}
	if n := c.Index.Node(c.Node); n != nil {
		for _, s := range n.States {
			if s.Code == event.NodeOwnAddress && s.At >= c.First.Add(-time.Minute) && s.At <= c.Last.Add(time.Minute) {
				f.add("The kernel received a frame with its own address: "+oneLine(s.Message), s.At, s.Ref)
			}
		}
	}
	return f
}
