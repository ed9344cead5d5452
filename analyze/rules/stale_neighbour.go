package rules

import (
	"fmt"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "stale-neighbour", Family: FamilyL2, Tier: 2, Rank: 61,
	Title:      "neighbour entry of the IP's previous owner",
	Definition: "The node's neighbour entry for the pod IP still held the MAC of the previous owner, so the frames went to a MAC that is gone or belongs to another pod.",
	Notes: []string{
		"Packets: SYNs go to the MAC of the dead pod for 20 to 50 s, then three unicast ARP requests to it, then a broadcast; the answer heals it. Other nodes are not affected.",
	},
	Needs:       []string{"Unanswered SYNs to a MAC that is not the pod's, with no ARP exchange before them that would have returned the right one."},
	Supports:    []string{"The IP was another pod's minutes before, and that pod had this MAC.", "Unicast ARP requests to the old MAC go unanswered, then a broadcast is answered by the new one.", "It heals with an ARP exchange."},
	Contradicts: []string{"An ARP reply before the SYN returned the MAC that was used."},
	LookAlikes: []LookAlike{
		{"bridge-fdb-flip", "the MAC is right and the bridge's port wrong"},
		{"arp-unanswered", "a broadcast request is not answered either"},
		{"policy-drop", "the SYNs carry the pod's own MAC"},
	},
	Limits:     []Limit{{"node capture with objects or log", 0.90}, {"node capture alone", 0.70}},
	Sentence:   "The node sent the probes of %s to the MAC of the IP's previous owner.",
	Recommend:  []string{"announce-on-add", "ip-holdoff"},
	Collect:    []string{MissL2Tables, MissNodeCapture},
	Precedents: []string{"https://github.com/aws/amazon-vpc-cni-k8s/issues/3628", "https://github.com/moby/moby/issues/36069"},
	Explains:   []string{"ip-reused", "arp-unanswered", "probe-timeout-too-tight"},
	Eval:       evalStaleNeighbour,
})

func evalStaleNeighbour(c *Case) (v Verdict) {
	wrong, own := c.WrongMAC()
	if len(wrong) < 2 && (len(wrong) == 0 || len(wrong)*2 < len(c.TimedOut())) {
		return v
	}
	used := wrong[0].Conn.Seen().Flow.SYNDstMAC
	v.Satisfied = v.Need(GroupNodePcap, 0.70, flowFact(fmt.Sprintf("%d attempts sent their SYNs to %s; the pod's own MAC is %s.", len(wrong), used, own.mac), wrong))
	v.Sup(GroupARP, WeightState, Fact{Claim: fmt.Sprintf("%s speaks for the IP.", own.mac), At: own.first, Refs: cite(own.ref), N: 1})
	if f := c.macOfFormer(used); f.OK() {
		v.Sup(GroupStatus, WeightState, f)
	}
	if len(wrong)*2 < len(c.TimedOut()) {
		v.Con(GroupTiming, WeightSoft, factOf("Most timed-out attempts look different.", c.TimedOut()))
	}
	v.Limit(0.85, "packets and the pods' history")
	v.Ask(MissL2Tables)
	return v
}

// macOfFormer tells whether the MAC belonged to an earlier holder of the probed
// IP.
func (c *Case) macOfFormer(mac event.MAC) Fact {
	for _, s := range c.servers() {
		for _, p := range c.Index.PodsWith(s.Addr()) {
			if slices.Contains(c.Pods, p) {
				continue
			}
			for _, m := range c.podMACs(p, s.Addr()) {
				if m.mac == mac && m.first < c.First {
					return Fact{Claim: fmt.Sprintf("%s is the MAC of %s, which held %s before.", mac, p.PodRef, s.Addr()), At: m.first, Refs: cite(m.ref), N: 1}
				}
			}
		}
	}
	return Fact{}
}
