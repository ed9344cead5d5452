package rules

import (
	"fmt"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "policy-reject", Family: FamilyPath, Tier: 2, Rank: 82,
	Title:      "a rule rejected the probes",
	Definition: "A packet filter rule answered the probe's SYN with an RST or an ICMP error.",
	Notes: []string{
		"ICMP port-unreachable reads \"connection refused\", host-unreachable and administratively prohibited read \"no route to host\", network-unreachable reads \"network is unreachable\"; a tcp-reset reads \"connection refused\". A mix with timeouts is the kernel's limit on ICMP.",
		"A tcp-reset inside the pod's namespace equals a closed port in every bit; a hop away its TTL differs.",
	},
	Needs: []string{"An ICMP unreachable that quotes the SYN; or an RST that the pod's own stack did not send; or a REJECT rule in a dump; or a port that refuses from the very moment at which the node's rules began to reject others."},
	Supports: []string{"The error text fits the code: port unreachable reads \"connection refused\", host unreachable and admin prohibited read \"no route to host\", net unreachable \"network is unreachable\".",
		"The error comes at once, ARP is answered."},
	Contradicts: []string{"The RST leaves the right pod and the port had never answered."},
	LookAlikes: []LookAlike{
		{"app-not-listening", "the pod's socket list shows no listener; on the wire a reject with tcp-reset inside the pod looks the same"},
		{"arp-unanswered", "\"no route to host\" after seconds, without ICMP"},
		{"mesh-redirect-dead-port", "the pod's nat table redirects instead of rejecting"},
	},
	Limits:     []Limit{{"capture with ICMP", 0.90}, {"capture with RST only", 0.50}, {"rejects of others at the same moment", 0.65}, {"kubelet log alone", 0.45}},
	Sentence:   "A packet filter rule rejected the probes of %s.",
	Recommend:  []string{"scope-reject", "allow-node", "who-stands-between"},
	Collect:    []string{MissPodRules, MissPolicies, MissNodeCapture, MissListeners},
	Precedents: []string{"https://github.com/kubernetes-sigs/kind/issues/3875"},
	Thresholds: []Threshold{{"same-start", 5, "s", "another pod's rejects within this time share the moment"}},
	Explains:   []string{"app-not-listening"},
	Eval:       evalPolicyReject,
})

func evalPolicyReject(c *Case) (v Verdict) {
	if icmp := c.Rejected(); len(icmp) > 0 {
		e := icmp[0].Conn.Seen().Flow.ICMP
		f := Fact{At: e.At, N: len(icmp), Claim: fmt.Sprintf("ICMP type %d code %d from %s quotes the SYN of %d failed attempts.", e.Type, e.Code, e.From, len(icmp))}
		for _, a := range icmp {
			s := a.Conn.Seen()
			f.Refs = append(f.Refs, event.Ref{Stream: s.Ref.Stream, Packet: s.Flow.ICMP.Packet})
		}
		f.Refs = cite(f.Refs...)
		v.Satisfied = v.Need(GroupNodePcap, WeightLiteral, f)
		if e.From == icmp[0].Conn.Server.Addr() {
			v.Sup(GroupARP, 0.2, c.ARPAnswered())
		}
		v.Limit(0.90, "an ICMP error on the wire")
		v.Ask(MissPodRules, MissPolicies)
		return v
	}
	refused := c.Refused()
	if len(refused) == 0 {
		if as := c.OfClass(probe.ClassNoRoute); len(as) > 0 && !c.HasNodeCapture() {
			v.Need(GroupKubelet, 0.45, factOf("\"no route to host\": either an ICMP error answered or ARP for the pod failed.", as))
			v.Satisfied = true
			v.Limit(0.45, "the text alone does not tell a REJECT from a missing neighbour")
			v.Ask(MissNodeCapture, MissPodRules)
		}
		return v
	}
	// A RST made by a rule equals that of a closed port. What speaks for a rule is a
	// port that was served before and after in one container run.
	before, after := c.AnsweredInRun()
	if !before.OK() {
		return v
	}
	v.Need(GroupNodePcap, WeightClass, flowFact("Refused by RST although the container ran on.", refused))
	neighbours, words := c.rejectedNeighbours()
	rule := c.rejectRule()
	v.Satisfied = neighbours.OK() || rule.OK() || words.OK()
	v.Need(GroupHost, WeightTwoPoints, rule)
	v.Sup(GroupKubelet, WeightStateLoose, before)
	v.Sup(GroupTiming, 0.2, after)
	v.Sup(GroupTwoPoints, WeightState, neighbours)
	v.Sup(GroupRuntime, WeightState, words)
	if len(c.NotInPod(refused)) >= 2 && !c.HealedByEgress().OK() {
		v.Sup(GroupPodPcap, WeightStateLoose, flowFact("The pod did not see the connections.", c.NotInPod(refused)))
	}
	if f := c.HealedByEgress(); f.OK() {
		v.Con(GroupTiming, WeightDirect, f)
	}
	switch {
	case rule.OK():
		v.Limit(0.90, "a rule of the pod rejects the port")
	case neighbours.OK():
		v.Limit(0.69, "a RST made by a rule looks like a closed port; the neighbour's rejects share the moment")
	case words.OK():
		v.Limit(0.55, "a RST made by a rule looks like a closed port; a neighbour's error text shares the moment")
	default:
		v.Limit(0.50, "a RST made by a rule looks like a closed port")
	}
	v.Ask(MissPodRules, MissListeners)
	return v
}

// rejectRule cites a rule from a dump of the pod's packet filter that rejects
// the probed port.
func (c *Case) rejectRule() Fact {
	f := Fact{}
	for _, h := range c.Index.Facts {
		if h.Key != event.FirewallReject || c.Pod() == nil || h.Pod.Name != c.Pod().Name || h.Pod.Namespace != c.Pod().Namespace {
			continue
		}
		for _, s := range c.servers() {
			if h.Port == int(s.Port()) {
				f.add("The pod's rules reject the port: "+oneLine(h.Value), 0, h.Ref)
			}
		}
	}
	return f
}

// rejectedNeighbours cites ICMP rejects of other pods on the node that began at
// the same time: one change of rules may stand behind both.
func (c *Case) rejectedNeighbours() (f, text Fact) {
	near := c.seconds("policy-reject", "same-start")
	for _, i := range c.Incidents {
		if i == c.Incident || i.Node != c.Node || i.First.Sub(c.First) > near || c.First.Sub(i.First) > near {
			continue
		}
		o := Case{Incident: i, Index: c.Index, Captures: c.Captures, Probes: c.Probes}
		for _, a := range o.Rejected() {
			f.add("Another pod of the node is rejected with ICMP since the same moment.", a.End, a.Conn.Seen().Ref)
		}
		if f.OK() {
			continue
		}
		// ARP fails after three seconds; only an ICMP error lets a short probe say so.
		for _, a := range o.OfClass(probe.ClassNoRoute) {
			if t := a.Worker.Timeout; t > 0 && t < 3*time.Second && len(a.Refs) > 0 {
				text.add("A probe of another pod of the node meets \"no route to host\" since the same moment, sooner than ARP can fail.", a.End, a.Refs[0])
			}
		}
	}
	return f, text
}
