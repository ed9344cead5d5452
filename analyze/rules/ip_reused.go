package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
)

var _ = register(Rule{
	ID: "ip-reused", Family: FamilyIdentity, Tier: 1, Rank: 62,
	Title:      "IP handed on to another pod too soon",
	Definition: "The probed IP had just belonged to another pod when something that still held the old state (neighbour entry, conntrack, cache) used it.",
	Notes: []string{
		"Completed pods keep their IP in status for ever by design; they are not counted as owners.",
		"Packets: the same address with another MAC, other TCP options and another timestamp clock in the SYN-ACK.",
	},
	Needs:       []string{"Two pod UIDs held the IP in intervals that do not overlap, the gap is shorter than the hold-off, and the failures lie in the later interval or aim at the earlier owner."},
	Supports:    []string{"The answer came from another application.", "Frames still carry the earlier owner's MAC.", "IPAM has no or a short cool-down."},
	Contradicts: []string{"The intervals overlap: that is a duplicate address.", "The earlier owner's pod had completed long before."},
	LookAlikes: []LookAlike{
		{"duplicate-pod-ip", "the two owners' intervals overlap"},
		{"stale-neighbour", "the node's neighbour entry is shown to be the mechanism: SYNs carry the earlier owner's MAC"},
	},
	Limits:     []Limit{{"objects and events alone", 0.60}, {"kubelet log with runtime or CNI log", 0.85}, {"with a node capture", 0.90}},
	Sentence:   "The IP of %s had just belonged to another pod, and stale state of that pod was still in use.",
	Recommend:  []string{"ip-holdoff", "ip-keyed-state", "watch-by-version", "local-pods-by-owner", "no-pod-ip"},
	Collect:    []string{MissIPAM, MissL2Tables, MissRuntimeLog},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/109414", "https://github.com/aws/amazon-vpc-cni-k8s/issues/3628"},
	Thresholds: []Threshold{{"hold", 60, "s", "shortest time an address should rest before it is handed out again"}},
	Explains:   []string{"stale-neighbour"},
	Eval:       evalIPReused,
})

func evalIPReused(c *Case) (v Verdict) {
	hold := c.seconds("ip-reused", "hold")
	for _, p := range c.Pods {
		for i := range p.Intervals {
			iv := &p.Intervals[i]
			if !slices.ContainsFunc(c.servers(), func(s netip.AddrPort) bool { return s.Addr() == iv.IP }) {
				continue
			}
			f := c.formerHolder(p, iv, hold)
			if !f.OK() {
				continue
			}
			v.Need(GroupStatus, WeightState, f)
			wrong, own := c.WrongMAC()
			if len(wrong) > 0 {
				v.Satisfied = v.Need(GroupNodePcap, WeightState, flowFact(fmt.Sprintf("SYNs for the new owner went to another MAC than its own, %s.", own.mac), wrong))
			} else if c.First.Sub(iv.From) < hold && len(c.TimedOut()) > 0 && !c.HasNodeCapture() {
				v.Satisfied = true
				v.Sup(GroupTiming, 0.2, factOf("The probes time out from the moment the IP changed hands.", c.TimedOut()))
			}
			v.Limit(0.60, "without the runtime's log or packets")
			if len(wrong) > 0 {
				v.Cap, v.CapWhy = 0.85, "packets show the old owner's state in use"
			}
			v.Ask(MissIPAM, MissL2Tables, MissRuntimeLog)
			return v
		}
	}
	return v
}

// formerHolder tells of another pod that held the IP until shortly before.
func (c *Case) formerHolder(p *identity.Pod, iv *identity.Interval, hold time.Duration) Fact {
	for _, o := range c.Index.PodsWith(iv.IP) {
		if o == p || o.HostNetwork {
			continue
		}
		for j := range o.Intervals {
			w := &o.Intervals[j]
			end := w.To
			if end == 0 {
				end = o.Last
			}
			if w.IP == iv.IP && w.From < iv.From && end <= iv.From.Add(2*time.Second) && iv.From.Sub(end) < hold && len(w.Sources) > 0 && len(iv.Sources) > 0 {
				return Fact{Claim: fmt.Sprintf("%s held %s until %s before %s got it.", o.PodRef, iv.IP, secs(max(iv.From.Sub(end), 0)), p.PodRef), At: iv.From,
					Refs: cite(w.Sources[0].Ref, iv.Sources[0].Ref), N: 1}
			}
		}
	}
	return Fact{}
}
