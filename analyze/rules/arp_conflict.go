package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "arp-conflict", Family: FamilyL2, Tier: 2, Rank: 71,
	Title:      "another MAC claimed the pod IP",
	Definition: "A gratuitous ARP, an unsolicited neighbour advertisement or a competing reply overwrote the node's mapping for the pod IP.",
	Notes: []string{
		"Packets: an announcement, or an unasked reply, whose sender IP is the pod's and whose MAC is not; the next SYNs go to that MAC.",
		"A second answer to one request is not always a conflict: a router that answers for other addresses (proxy ARP) is meant to.",
	},
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
	Collect:    []string{MissL2Tables, MissNodeCapture},
	Precedents: []string{"https://github.com/moby/moby/issues/36069"},
	Eval:       evalARPConflict,
})

func evalARPConflict(c *Case) (v Verdict) {
	for _, s := range c.servers() {
		ip := s.Addr()
		claims := c.claims(ip)
		if len(claims) == 0 {
			continue
		}
		other := claims[0].SenderMAC
		used := joined(c.Failed(), func(_ *probe.Attempt, f *event.Flow) bool {
			return f.SYNDstMAC == other && f.SYN.Seen()
		})
		f := Fact{Claim: fmt.Sprintf("%s claimed %s by ARP; the pod's own MAC is another one.", other, ip), At: claims[0].At, N: len(claims)}
		for _, k := range claims {
			f.Refs = cite(append(f.Refs, k.Ref)...)
		}
		v.Need(GroupARP, 0.60, f)
		v.Satisfied = v.Need(GroupNodePcap, 0.60, flowFact(fmt.Sprintf("%d attempts sent their SYNs to that MAC.", len(used)), used))
		if alternates(c.Captures.ARPFor(ip, c.First.Add(-2*time.Minute), c.Last), ip) {
			v.Sup(GroupTiming, WeightState, f.Say("The claims for the IP alternate between two MACs."))
		}
		answered := joined(used, func(_ *probe.Attempt, f *event.Flow) bool {
			return (f.SYNACK.Seen() || f.ServerRST.Seen()) && f.AnswerMAC == other
		})
		v.Con(GroupNodePcap, WeightSoft, flowFact("A stack behind that MAC answers: it owns the IP, it does not only announce it.", answered))
		if change := c.sandboxNear(claims[0].At); change.OK() {
			v.Con(GroupRuntime, WeightDirect, change)
		}
		v.Limit(0.85, "packets of the node")
		v.Ask(MissL2Tables)
		return v
	}
	return v
}

// claims returns the frames around the failures that claim an IP of the
// incident's pods for a MAC the pod never used, and which nobody asked for:
// announcements, and replies from another MAC than the usual one.
func (c *Case) claims(ip netip.Addr) []capture.ARPSeen {
	own := c.ownMACs(ip)
	if len(own) == 0 {
		return nil
	}
	var out []capture.ARPSeen
	for _, a := range c.Captures.ARPFor(ip, c.First.Add(-2*time.Minute), c.Last) {
		if a.SenderIP != ip || a.SenderMAC.IsZero() || slices.Contains(own, a.SenderMAC) || a.Capture.Inside() || a.Router {
			continue
		}
		if (a.Op == event.ARPAnnounce || a.Op == event.ARPReply) && (len(out) == 0 || out[0].SenderMAC == a.SenderMAC) {
			out = append(out, a)
		}
	}
	return out
}

// ownMACs are the MACs that surely belong to the pods that held the IP: from the
// CNI plugin or IPAM, or those that completed handshakes for it.
func (c *Case) ownMACs(ip netip.Addr) []event.MAC {
	var out []event.MAC
	for _, p := range c.Pods {
		for i := range p.Intervals {
			if iv := &p.Intervals[i]; iv.IP == ip && !iv.MAC.IsZero() {
				out = append(out, iv.MAC)
			}
		}
	}
	for _, s := range c.servers() {
		for _, k := range c.Captures.To(s) {
			if f := k.Seen().Flow; s.Addr() == ip && f.SYNACK.Seen() && !f.AnswerMAC.IsZero() && !slices.Contains(out, f.AnswerMAC) && c.servedBefore(k) {
				out = append(out, f.AnswerMAC)
			}
		}
	}
	return out
}

// servedBefore reports whether a connection was served before the failures, or
// after they were over: by the right owner, then.
func (c *Case) servedBefore(k *capture.Conn) bool {
	return k.Start() < c.First.Add(-10*time.Second) || c.Recovered != 0 && k.Start() >= c.Recovered
}

// alternates reports whether claims for the IP change from one MAC to another
// and back.
func alternates(as []capture.ARPSeen, ip netip.Addr) bool {
	var last event.MAC
	changes := 0
	for _, a := range as {
		if a.SenderIP != ip || a.SenderMAC.IsZero() || a.Op == event.ARPProbe {
			continue
		}
		if !last.IsZero() && a.SenderMAC != last {
			changes++
		}
		last = a.SenderMAC
	}
	return changes >= 2
}

// sandboxNear cites a new sandbox of one of the pods at t: then the new MAC is
// its own.
func (c *Case) sandboxNear(t event.Nanos) Fact {
	for _, s := range c.SandboxChanges() {
		if d := t.Sub(s.newAt); d > -10*time.Second && d < 10*time.Second {
			return Fact{Claim: "The pod got a new sandbox just then.", At: s.newAt, Refs: cite(s.new.Refs...), N: 1}
		}
	}
	return Fact{}
}
