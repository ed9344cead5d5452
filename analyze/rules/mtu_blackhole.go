package rules

import (
	"fmt"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "mtu-blackhole", Family: FamilyPath, Tier: 2, Rank: 84,
	Title:      "full-size packets vanish",
	Definition: "Small segments pass, full-size ones vanish: the path MTU is smaller than an endpoint believes and no ICMP tells it.",
	Notes: []string{
		"Packets: the handshake and small segments pass; the first full segment is repeated and never acknowledged. TCP probes pass, HTTP and gRPC probes time out.",
		"Most probes stay on their node, where the MTU is one: it takes a tunnel, a branch interface or a foreign host.",
	},
	Needs:       []string{"A completed handshake and then a full-size segment that is repeated without an acknowledgement, or an ICMP fragmentation-needed error."},
	Supports:    []string{"HTTP and gRPC probes fail while TCP probes of the same pod pass.", "The error names the body or the headers."},
	Contradicts: []string{"Small responses are repeated as well."},
	LookAlikes:  []LookAlike{{"app-hang", "the server sends nothing, instead of repeating a large segment"}, {"packet-loss-latency", "small segments are lost too"}},
	Limits:      []Limit{{"capture", 0.85}, {"logs alone", 0.25}},
	Sentence:    "Full-size packets from %s vanish on the path.",
	Recommend:   []string{"align-mtu"},
	Collect:     []string{MissPodCapture, MissNodeCapture, MissRoutes},
	Precedents:  []string{"https://github.com/open-cluster-management-io/ocm/issues/1314"},
	Thresholds:  []Threshold{{"full-segment", 1200, "bytes", "smallest payload that counts as full-size where the MSS is unknown"}},
	Eval:        evalMTUBlackhole,
})

func evalMTUBlackhole(c *Case) (v Verdict) {
	full := c.Thresholds("mtu-blackhole", "full-segment")
	repeated := joined(c.Failed(), func(_ *probe.Attempt, f *event.Flow) bool {
		if !f.SYNACK.Seen() || f.ServerRetrans == 0 {
			return false
		}
		least := full
		if f.MSS > 0 {
			least = min(least, float64(f.MSS)-40) // TCP options take up to 40 bytes of a segment
		}
		return float64(f.MaxServerSegment) >= least
	})
	needed := joined(c.Failed(), func(_ *probe.Attempt, f *event.Flow) bool {
		return f.ICMP.Seen() && (!f.ICMP.V6 && f.ICMP.Type == 3 && f.ICMP.Code == 4 || f.ICMP.V6 && f.ICMP.Type == 2)
	})
	body := c.OfClass(probe.ClassBody, probe.ClassAmbigTimeout, probe.ClassHdrTimeout)
	if len(body) == 0 {
		return v
	}
	if len(repeated) == 0 && len(needed) == 0 {
		if !c.HasNodeCapture() && !c.HasPodCapture() {
			v.Need(GroupKubelet, WeightClass, factOf("Headers or body did not come: full-size packets may be lost.", body))
			v.Limit(0.25, "the text alone")
			v.Ask(MissPodCapture, MissNodeCapture, MissRoutes)
		}
		return v
	}
	v.Need(GroupNodePcap, WeightState, flowFact(fmt.Sprintf("%d connections completed their handshake and then repeated a full-size segment without an acknowledgement.", len(repeated)), repeated))
	v.Need(GroupARP, WeightTwoPoints, flowFact("An ICMP error says that the packet is too big for the path.", needed))
	v.Satisfied = len(repeated) >= 2 || len(needed) > 0
	v.Sup(GroupKubelet, WeightClass, factOf("The error is about headers or body, not about the connection.", body))
	v.Sup(GroupTiming, WeightStateLoose, c.tcpPasses())
	if small := joined(c.Failed(), func(_ *probe.Attempt, f *event.Flow) bool {
		return f.ServerRetrans > 0 && float64(f.MaxServerSegment) < full/2
	}); len(small) > 0 {
		v.Con(GroupTiming, WeightSoft, flowFact("Small segments were repeated as well.", small))
	}
	v.Limit(0.85, "packets")
	v.Ask(MissPodCapture, MissRoutes)
	return v
}
