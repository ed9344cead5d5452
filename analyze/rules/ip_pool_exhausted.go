package rules

import (
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "ip-pool-exhausted", Family: FamilyCNI, Tier: 1, Rank: 40,
	Title:      "no pod IP left",
	Definition: "The address management had no address left for the pod.",
	Notes: []string{
		"No probe runs before a sandbox has an address. Log: \"no IP addresses available in range set\", \"failed to assign an IP address to container\", \"total 64, assigned 64\".",
		"\"failed to assign\" is also printed while the address manager starts: only its statistics, or the range that is named as full, prove exhaustion.",
	},
	Needs:       []string{"An error that says so: no addresses available in the range set, no more addresses, allocated only 0, total and assigned equal."},
	Supports:    []string{"Other pods of the node hold the whole range.", "The pod got its address once another one was released."},
	Contradicts: []string{"\"failed to assign an IP address\" while the address daemon was still starting: then it is not ready, not exhausted."},
	LookAlikes:  []LookAlike{{"cni-add-failed", "the plugin failed for another reason"}},
	Limits:      []Limit{{"kubelet log or events", 0.95}},
	Sentence:    "No pod IP was left for %s, so its probes never ran.",
	Recommend:   []string{"enlarge-pool", "ip-holdoff", "know-ip-source"},
	Collect:     []string{MissIPAM, MissRuntimeLog, MissKubeletLog},
	Precedents:  []string{"https://github.com/aws/amazon-vpc-cni-k8s/issues/3351", "https://github.com/aws/amazon-vpc-cni-k8s/issues/1791", "https://github.com/aws/amazon-vpc-cni-k8s/issues/3494"},
	Explains:    []string{"cni-add-failed", "cni-add-slow"},
	Eval:        evalIPPool,
})

func evalIPPool(c *Case) (v Verdict) {
	f := c.sandboxFailures(func(s string) bool {
		return strings.Contains(s, "no IP addresses available") || strings.Contains(s, "No free IPs") || strings.Contains(s, "no more addresses") ||
			strings.Contains(s, "IPAM allocated only 0") || strings.Contains(s, "no available IP")
	})
	if f.OK() {
		v.Satisfied = v.Need(GroupKubelet, WeightLiteral, f)
		v.Sup(GroupRuntime, WeightState, c.runtimeFailures())
	} else if f = c.sandboxFailures(func(s string) bool { return strings.Contains(s, "failed to assign an IP address") }); f.OK() {
		// Printed as well while the address daemon starts or an interface attaches.
		if full := c.nodeState(event.NodeIPPoolFull); full.OK() {
			v.Satisfied = v.Need(GroupKubelet, WeightLiteral, f)
			v.Need(GroupRuntime, WeightTwoPoints, full.Say("The address daemon counts no free address: "+full.Claim+"."))
		} else {
			v.Need(GroupKubelet, WeightStateLoose, f)
			v.SubReason = "ipam-not-ready"
			v.Limit(0.60, "the same text is printed while the address management starts")
			v.Ask(MissIPAM)
		}
	}
	if len(c.Failed()) > 0 && v.Satisfied {
		// A probe that ran proves that the pod had an address by then.
		v.Con(GroupTiming, WeightDirect, factOf("Probes ran in the window, so the pod had an address then.", c.Failed()))
	}
	v.Limit(0.95, "the error is logged literally")
	return v
}
