package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "duplicate-pod-ip", Family: FamilyIdentity, Tier: 1, Rank: 60,
	Title:      "two network stacks own the pod's IP",
	Definition: "Two live network stacks own the pod's IP at the same time: two pods, a leaked network namespace, or the node itself. Who answers a probe depends on where the bridge forwards the frame.",
	Notes: []string{
		"Who can refuse a SYN to an address? Only a stack that owns it, or a packet filter that acts for it. A wrong pod that does not own it stays silent.",
		"The impostor's RST on the bridge equals that of a closed port in every field. What separates them: a capture inside the pod without the SYN, the interface the answer comes from, two MACs that answer one ARP request, or failures that stop right after a frame from the pod.",
		"Completed pods keep their IP in status, and host-network pods share the node's: neither is a duplicate.",
	},
	Needs: []string{"One of: two running pods with the IP; two MACs answer one ARP request; IPAM lists two sandboxes for the IP; the refusal leaves through an interface that is not the pod's; the IP is local to the node, or its SYNs go through the node's loopback interface or nowhere at all; " +
		"refused connections on the node that never appear inside the pod; refusals that stop right after a frame from the pod without any container event."},
	Supports: []string{"Failures begin or end with a frame sent from the pod's address, without a restart.", "Success and refusal alternate in one container run.", "The address management was restarted before."},
	Contradicts: []string{"Every RST was also seen inside the right pod: the pod itself refused.",
		"The probed port never answered: a second owner explains alternation, not a constant refusal."},
	LookAlikes: []LookAlike{
		{"bridge-fdb-flip", "the SYNs stay unanswered: a wrong port that does not own the IP drops them silently and cannot refuse"},
		{"app-not-listening", "SYN and RST are visible inside the pod; on the bridge the two look alike"},
		{"policy-reject", "an ICMP error answers, or a rule in a dump does"},
	},
	Limits: []Limit{{"objects and events alone", 0.90}, {"objects and the log of the address management", 0.95}, {"SYNs on loopback, no routes", 0.65}, {"refused without a SYN on the way", 0.50},
		{"node capture with two MACs answering", 0.80}, {"healed by a frame from the pod alone", 0.65}, {"node and pod capture", 0.95}},
	Sentence:  "A second network stack owned the IP of %s and answered in its place.",
	Recommend: []string{"remove-duplicate", "capture-l2", "ping-heals", "ptr-route-check", "local-pods-by-owner"},
	Collect:   []string{MissVethCapture, MissPodCapture, MissL2Tables, MissIPAM, MissRoutes},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/64464", "https://github.com/kubernetes/kubernetes/issues/43910", "https://github.com/aws/amazon-vpc-cni-k8s/issues/711",
		"https://github.com/cozystack/cozystack/issues/3615", "https://github.com/cilium/cilium/issues/38313"},
	Thresholds: []Threshold{{"overlap", 5, "s", "shortest overlap of two owners' intervals that counts"}},
	Explains:   []string{"bridge-fdb-flip", "arp-conflict"},
	Eval:       evalDuplicatePodIP,
})

func evalDuplicatePodIP(c *Case) (v Verdict) {
	refused := c.Refused()
	strong := false
	if out := c.NotInPod(refused); len(out) >= 2 {
		strong = v.Need(GroupTwoPoints, WeightTwoPoints, flowFact(fmt.Sprintf("%d connections were refused on the node while the capture inside the pod saw nothing of them: another stack answered for the IP.", len(out)), out))
	}
	if f := c.OtherDoor(); f.OK() {
		strong = v.Need(GroupNodePcap, 0.75, f) || strong
	}
	if f := c.TwoOwners(); f.OK() {
		v.Need(GroupStatus, WeightLiteral, f)
		strong = true
		if assigned := c.assignedTwice(); assigned.OK() {
			v.Need(GroupRuntime, WeightState, assigned)
			v.Sup(GroupHost, WeightStateLoose, c.nodeState(event.NodeIPAMStarted))
		} else {
			v.Limit(0.90, "two objects claim the IP; packets were not needed")
		}
	}
	if f := c.localOnNode(); f.OK() {
		strong = v.Need(GroupHost, WeightLiteral, f) || strong
		v.Sup(GroupNodePcap, WeightState, c.onLoopback(refused))
	} else if f := c.onLoopback(refused); f.OK() {
		strong = v.Need(GroupNodePcap, 0.65, f) || strong
		v.Limit(0.65, "no routes that say whose address it is")
		v.Ask(MissRoutes)
	} else if f := c.refusedUnseen(); f.OK() && !strong {
		strong = v.Need(GroupNodePcap, WeightState, f)
		v.Limit(0.50, "no routes that say whose address it is")
		v.Ask(MissRoutes)
	}
	two := c.TwoMACs()
	if two.OK() {
		v.Need(GroupARP, 0.80, two)
		if !strong {
			v.Limit(0.80, "two MACs answer, and no capture in the pod")
		}
		strong = true
	}
	heal := c.HealedByEgress()
	if heal.OK() && len(refused) > 0 {
		v.Need(GroupTiming, 0.65, heal)
		if !strong {
			v.Limit(0.65, "healing by a frame from the pod is the only sign")
		}
	}
	v.Satisfied = strong || heal.OK() && len(refused) > 0
	if !v.Satisfied {
		return v
	}
	if before, after := c.AnsweredInRun(); before.OK() && after.OK() {
		v.Sup(GroupKubelet, WeightStateLoose, before.Say("The probe succeeded before and after in one container run."))
	} else if c.NeverAnswered() && !strong {
		v.Con(GroupKubelet, WeightDirect, factOf("The probed port never answered.", c.Failed()[:1]))
	}
	if in := c.InsidePod(refused); len(in) > 0 && len(in) == len(refused) {
		v.Con(GroupPodPcap, WeightDirect, flowFact("The pod itself saw and refused every one of the connections.", in))
	}
	v.Limit(0.95, "located by two capture points")
	v.Ask(MissVethCapture, MissPodCapture, MissL2Tables, MissIPAM)
	return v
}

// OtherDoor tells whether refusals left through another interface than the
// pod's handshakes, in a capture that names interfaces.
func (c *Case) OtherDoor() Fact {
	own := make(map[string]event.Ref)
	for _, m := range c.Members {
		for _, a := range m.Worker.Attempts {
			if a.Conn == nil || a.Failed() {
				continue
			}
			for _, s := range a.Conn.Sightings {
				if f := s.Flow; f.SYNACK.Seen() && len(f.AnswerInterfaces) > 0 {
					own[f.AnswerInterfaces[0]] = s.Ref
				}
			}
		}
	}
	if len(own) == 0 {
		return Fact{}
	}
	f := Fact{}
	for _, a := range c.Refused() {
		for _, s := range a.Conn.Sightings {
			if len(s.Flow.AnswerInterfaces) == 0 {
				continue
			}
			if _, ok := own[s.Flow.AnswerInterfaces[0]]; !ok {
				f.add("Refusals came in through interface "+s.Flow.AnswerInterfaces[0]+", the pod's handshakes through another one.", s.Flow.ServerRST.At, s.Ref)
			}
		}
	}
	return f
}

// TwoOwners tells of another running pod that held the probed IP at the same
// time, by sources that know.
func (c *Case) TwoOwners() Fact {
	least := c.seconds("duplicate-pod-ip", "overlap")
	for _, p := range c.Pods {
		for _, s := range c.servers() {
			if p.HostNetwork || c.shared(s.Addr()) {
				continue
			}
			for _, h := range c.Index.Holders(s.Addr(), c.First) {
				if h.Pod == p || h.Pod.UID == p.UID || h.Pod.PodRef.String() == p.PodRef.String() || !owns(h.Interval) || h.Interval.To != 0 && h.Interval.To.Sub(c.First) < least {
					continue
				}
				mine := slices.ContainsFunc(c.Index.Holders(s.Addr(), c.First), func(o identity.Holder) bool {
					return o.Pod == p && owns(o.Interval)
				})
				if !mine || len(h.Interval.Sources) == 0 {
					continue
				}
				return Fact{Claim: fmt.Sprintf("Pod %s held %s at the same time.", h.Pod.PodRef, s.Addr()), At: c.First, N: 1,
					Refs: cite(h.Interval.Sources[0].Ref, p.Snapshot)}
			}
		}
	}
	return Fact{}
}

// assignedTwice cites the address management handing out a probed IP that
// another pod held.
func (c *Case) assignedTwice() Fact {
	for _, s := range c.servers() {
		for _, p := range c.Index.PodsWith(s.Addr()) {
			for i := range p.Intervals {
				iv := &p.Intervals[i]
				if iv.IP != s.Addr() || p.HostNetwork {
					continue
				}
				for _, src := range iv.Sources {
					if src.Kind != "ipam" || src.At > c.Last {
						continue
					}
					for _, h := range c.Index.Holders(s.Addr(), src.At) {
						if h.Pod != p && owns(h.Interval) && h.Interval.From < src.At {
							return Fact{Claim: fmt.Sprintf("The address management gave %s to %s while %s held it.", s.Addr(), p.PodRef, h.Pod.PodRef), At: src.At,
								Refs: cite(src.Ref, h.Interval.Sources[0].Ref), N: 1}
						}
					}
				}
			}
		}
	}
	return Fact{}
}

// onLoopback cites attempts whose SYN went out through the node's loopback
// interface.
func (c *Case) onLoopback(as []*probe.Attempt) Fact {
	lo := joined(as, func(_ *probe.Attempt, f *event.Flow) bool { return slices.Contains(f.SYNInterfaces, "lo") })
	if len(lo) == 0 {
		return Fact{}
	}
	return flowFact("The SYNs go through the node's own loopback interface.", lo)
}

// refusedUnseen cites refusals whose SYN a covering capture between node and pod
// does not hold, although it shows other pods: something on the node itself
// refused.
func (c *Case) refusedUnseen() Fact {
	text := c.OfClass(probe.ClassRefused)
	var out []*probe.Attempt
	for _, a := range text {
		if a.JoinReason == "no-syn" {
			out = append(out, a)
		}
	}
	if len(out) < 2 || len(out)*2 < len(text) || c.hostNetworkOnly() {
		return Fact{}
	}
	return factOf(fmt.Sprintf("%d attempts were refused without a SYN on the way to the pod.", len(out)), out)
}

// owns reports whether a source that knows of ownership stands behind an
// interval: what consumers of an address believe is not enough.
func owns(iv *identity.Interval) bool {
	return iv.State == identity.Held && slices.ContainsFunc(iv.Sources, func(s identity.Source) bool { return s.Trust >= 0.85 })
}

// shared reports whether several pods may rightly have the address: a node's, or
// that of a pod on the host network. Objects of static pods that are gone do not
// always say that they were such.
func (c *Case) shared(ip netip.Addr) bool {
	for _, n := range c.Index.Nodes {
		if slices.Contains(n.Addresses, ip) {
			return true
		}
	}
	return slices.ContainsFunc(c.Index.PodsWith(ip), func(p *identity.Pod) bool { return p.HostNetwork || slices.Contains(p.HostIPs, ip) })
}

// TwoMACs tells whether two MACs answered for the probed IP at the same time:
// both spoke for it after the other had begun. A re-created sandbox or a reused
// address changes the MAC once and for all.
func (c *Case) TwoMACs() Fact {
	for _, s := range c.servers() {
		ms := c.owners(s.Addr(), c.First.Add(-time.Minute), c.Last.Add(time.Minute))
		for i := range ms {
			for _, m := range ms[i+1:] {
				if ms[i].last > m.first {
					return Fact{Claim: fmt.Sprintf("Two MACs speak for %s at the same time: %s and %s.", s.Addr(), ms[i].mac, m.mac), At: m.first, Refs: cite(ms[i].ref, m.ref), N: 2}
				}
			}
		}
	}
	return Fact{}
}

// localOnNode tells whether the node itself owns the probed IP.
func (c *Case) localOnNode() Fact {
	for _, f := range c.Index.Facts {
		if f.Tool == "ip-route" && strings.HasPrefix(f.Value, "local") && slices.ContainsFunc(c.servers(), func(s netip.AddrPort) bool { return s.Addr() == f.IP }) {
			return Fact{Claim: "The node routes " + f.IP.String() + " to itself: " + oneLine(f.Value), Refs: cite(f.Ref), N: 1}
		}
	}
	return Fact{}
}
