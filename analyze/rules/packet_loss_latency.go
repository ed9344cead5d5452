package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "packet-loss-latency", Family: FamilyPath, Tier: 2, Rank: 85,
	Title:      "loss or delay on the path",
	Definition: "Packets between node and pod are lost now and then, or delayed, and push attempts over timeoutSeconds.",
	Notes: []string{
		"Packets: a SYN that is answered only after its repetition, a SYN-ACK many times later than the usual 30-100 us on one node, in some attempts and not in others.",
		"An HTTP dial goes on in the background after the probe gave up: SYNs outnumber the attempts, and a late SYN-ACK is acknowledged and closed at once.",
	},
	Needs:       []string{"Handshakes that complete late or only after a repeated SYN, mixed with good ones or with lost ones."},
	Supports:    []string{"Round-trip times near the timeout.", "Lost SYNs next to connections that work, in the same minute.", "Repeated data segments."},
	Contradicts: []string{"The failures are deterministic: every SYN is silent, or none is.", "The handshake is quick and only the response is late."},
	LookAlikes:  []LookAlike{{"app-hang", "the handshake is immediate, the response is missing"}, {"policy-drop", "no SYN is answered at all"}, {"accept-queue-overflow", "the silence begins after connections nobody served"}},
	Limits:      []Limit{{"node capture", 0.75}, {"node and pod capture", 0.90}, {"logs alone", 0.35}},
	Sentence:    "Packets between the node and %s are lost or late.",
	Recommend:   []string{"raise-timeout", "find-loss"},
	Collect:     []string{MissNodeCapture, MissPodCapture, MissKernelLog, MissCPU},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/89898"},
	Thresholds:  []Threshold{{"late-handshake", 300, "ms", "a SYN-ACK later than this is late for a node-local path"}},
	Explains:    []string{"probe-timeout-too-tight"},
	Eval:        evalPacketLoss,
})

func evalPacketLoss(c *Case) (v Verdict) {
	timed := c.TimedOut()
	if len(timed) == 0 {
		return v
	}
	limit := time.Duration(c.Thresholds("packet-loss-latency", "late-handshake") * float64(time.Millisecond))
	late := c.LateHandshakes(limit)
	between := c.between()
	lost := joined(timed, silent)
	switch {
	case len(late) >= 2:
		v.Satisfied = v.Need(GroupNodePcap, 0.70, flowFact(fmt.Sprintf("%d handshakes took longer than %s on a path that takes microseconds.", len(late), limit), late))
	case len(late)+c.repeated() >= 2 && between.OK():
		v.Satisfied = v.Need(GroupNodePcap, WeightState, flowFact("Single SYNs or SYN-ACKs were lost; repeats of other attempts got through.", slices.Concat(late, lost)))
	default:
		if !c.HasNodeCapture() {
			c.undecided(&v, timed)
			v.Ask(MissNodeCapture)
		}
		return v
	}
	if between.OK() {
		v.Sup(GroupTiming, WeightState, between.Say("Attempts succeeded in between: the loss is sporadic."))
	}
	if n := c.repeated(); n > 0 {
		v.Sup(GroupPodPcap, 0.2, Fact{Claim: fmt.Sprintf("%d connections repeated a SYN or a SYN-ACK before they succeeded.", n), Refs: cite(c.repeats()...), N: n})
	}
	if half := c.HalfOpen(); len(half)*2 > len(timed) {
		v.Con(GroupTwoPoints, WeightDirect, flowFact("Prompt SYN-ACKs were never taken by the prober: they are dropped, not late.", half))
	}
	if wrong, _ := c.WrongMAC(); len(wrong)*2 > len(timed) {
		v.Con(GroupARP, WeightDirect, flowFact("The SYNs went to a MAC that is not the pod's.", wrong))
	}
	if c.HasPodCapture() {
		v.Limit(0.90, "node and pod capture")
	} else {
		v.Limit(0.75, "node packets alone")
		v.Ask(MissPodCapture)
	}
	v.Ask(MissKernelLog, MissCPU)
	return v
}

// repeats cites connections to the probed targets that needed a second SYN or
// SYN-ACK and then completed.
func (c *Case) repeats() []event.Ref {
	var refs []event.Ref
	for _, s := range c.servers() {
		for _, k := range c.Captures.Between(s, c.First.Add(-time.Minute), c.Last.Add(time.Minute)) {
			if f := k.Seen().Flow; f.SYNACK.Seen() && (f.SYNs > 1 || f.SYNACKs > 1) && f.ACK.Seen() {
				refs = append(refs, k.Seen().Ref)
			}
		}
	}
	return refs
}

func (c *Case) repeated() int { return len(c.repeats()) }
