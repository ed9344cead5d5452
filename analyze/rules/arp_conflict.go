package rules

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "arp-conflict", Family: FamilyL2, Tier: 2, Rank: 71,
	Title:       "another MAC claimed the pod IP",
	Definition:  "A gratuitous ARP, an unsolicited neighbour advertisement or a competing reply overwrote the node's mapping for the pod IP.",
	Needs:       []string{"An ARP frame that claims the pod IP for a MAC other than the pod's, followed by SYNs to that MAC."},
	Supports:    []string{"The claims alternate between two MACs.", "The MAC is that of a VIP manager or of another machine."},
	Contradicts: []string{"The change of MAC coincides with a new sandbox of the same pod."},
	LookAlikes: []LookAlike{
		{"duplicate-pod-ip", "a stack behind the other MAC answers SYNs; an announcer alone does not"},
		{"stale-neighbour", "nobody announced anything: the entry is a leftover"},
	},
	Limits:     []Limit{{"node capture", 0.85}, {"anything else", 0.30}},
	Sentence:   "Another machine claimed the IP of %s by ARP.",
	Recommend:  []string{"exclude-pod-cidr", "capture-l2"},
	Precedents: []string{"https://github.com/moby/moby/issues/36069"},
	Eval:       evalARPConflict,
})

func evalARPConflict(c *Case) (v Verdict) {
	for _, s := range c.servers() {
		ip := s.Addr()
		claim, own := c.foreignClaim(ip)
		if !claim.OK() {
			continue
		}
		v.Satisfied = v.Need(GroupARP, WeightState, claim)
		v.Sup(GroupStatus, WeightStateLoose, Fact{Claim: fmt.Sprintf("The pod's own MAC is %s.", own.mac), At: own.first, Refs: cite(own.ref), N: 1})
		after := joined(c.TimedOut(), func(_ *probe.Attempt, f *event.Flow) bool {
			return f.SYN.At >= claim.At && !f.SYNDstMAC.IsZero() && f.SYNDstMAC != own.mac
		})
		if len(after) == 0 {
			v.Satisfied = false
		}
		v.Need(GroupNodePcap, WeightState, flowFact("SYNs went to the other MAC after that.", after))
		for _, ch := range c.SandboxChanges() {
			if d := ch.newAt.Sub(claim.At); d < 10*time.Second && d > -10*time.Second {
				v.Con(GroupRuntime, WeightDirect, Fact{Claim: "The pod got a new sandbox at that moment.", At: ch.newAt, Refs: cite(ch.new.Refs...), N: 1})
			}
		}
		v.Limit(0.85, "packets of the node")
		v.Ask(MissL2Tables)
		return v
	}
	return v
}

// foreignClaim finds an ARP frame that claims the IP for a MAC which the pod does
// not use, while the pod holds the IP; own is the pod's MAC.
func (c *Case) foreignClaim(ip netip.Addr) (claim Fact, own macUse) {
	p := c.Pod()
	if p == nil {
		return Fact{}, own
	}
	for _, m := range c.podMACs(p, ip) {
		// The MAC that serves connections is the pod's; an announcer has none of these.
		if c.serves(ip, m.mac) {
			own = m
			break
		}
	}
	if own.mac.IsZero() {
		return Fact{}, own
	}
	for _, a := range c.Captures.ARPFor(ip, c.First.Add(-time.Minute), c.Last) {
		unasked := a.Op == event.ARPAnnounce || a.Op == event.ARPReply
		if a.SenderIP == ip && unasked && a.SenderMAC != own.mac && !a.SenderMAC.IsZero() && a.At > own.first && !a.Router {
			claim.add(fmt.Sprintf("An ARP frame claims %s for %s.", ip, a.SenderMAC), a.At, a.Ref)
		}
	}
	return claim, own
}

// serves reports whether the MAC completed a handshake for the IP.
func (c *Case) serves(ip netip.Addr, mac event.MAC) bool {
	for _, s := range c.servers() {
		if s.Addr() != ip {
			continue
		}
		for _, k := range c.Captures.To(s) {
			if f := k.Seen().Flow; f.SYNACK.Seen() && f.AnswerMAC == mac {
				return true
			}
		}
	}
	return false
}
