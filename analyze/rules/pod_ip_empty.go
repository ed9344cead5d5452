package rules

import (
	"fmt"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "pod-ip-empty", Family: FamilyIdentity, Tier: 1, Rank: 64,
	Title:      "pod IP empty, the kubelet dialled itself",
	Definition: "status.podIP was empty, so the probe's host became empty and the kubelet dialled the port on the node itself.",
	Notes: []string{
		"Log: \"dial tcp :8080\" without an address, or host=\"\" at verbosity 4: the kubelet dials its own loopback. If something on the node listens on that port, the probe succeeds falsely.",
	},
	Needs:       []string{"An error text with a port but no host, or a logged probe target with an empty host."},
	Supports:    []string{"The kubelet says that the sandbox has no network information.", "podIPs is empty while containers run.", "The runtime was restarted, or its network was not ready."},
	Contradicts: []string{"The probe sets host itself."},
	LookAlikes:  []LookAlike{{"app-not-listening", "refused as well, but the error text names an IP"}},
	Limits:      []Limit{{"kubelet log alone", 0.95}},
	Sentence:    "Probes of %s had no pod IP and went to the node itself.",
	Recommend:   []string{"fix-runtime-ip", "downward-api"},
	Collect:     []string{MissRuntimeLog, MissSandbox, MissKubeletLog},
	Precedents:  []string{"https://github.com/containerd/containerd/issues/7843", "https://github.com/kubernetes/kubernetes/issues/69723"},
	Explains:    []string{"app-not-listening", "probe-target-misconfigured"},
	Eval:        evalPodIPEmpty,
})

func evalPodIPEmpty(c *Case) (v Verdict) {
	as := c.OfClass(probe.ClassEmptyIP)
	if len(as) == 0 || c.Share(as) < 0.4 {
		return v
	}
	for _, m := range c.Members {
		if m.Worker.Spec != nil && m.Worker.Spec.Host != "" {
			v.Gated = "the probe sets its own host"
			return v
		}
	}
	v.Satisfied = v.Need(GroupKubelet, WeightLiteral, factOf(fmt.Sprintf("%d attempts dialled a port without a host: the pod IP was empty.", len(as)), as))
	lost := Fact{}
	for _, p := range c.Pods {
		for _, s := range p.SandboxSteps {
			if s.Op == event.SandboxNoIP || s.Op == event.SandboxLost && strings.Contains(s.Reason, "no IP") {
				lost.add("The kubelet found no network information in the sandbox's status.", s.At, s.Ref)
			}
		}
		if p.Phase == "Running" && len(p.StatusIPs) == 0 {
			v.Sup(GroupStatus, WeightState, Fact{Claim: "The pod's status has no IP although it runs.", Refs: cite(p.Snapshot), N: 1})
		}
	}
	v.Sup(GroupRuntime, WeightState, lost)
	v.Limit(0.95, "the text is unique")
	v.Ask(MissRuntimeLog, MissSandbox)
	return v
}
