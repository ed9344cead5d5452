package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "cni-add-failed", Family: FamilyCNI, Tier: 1, Rank: 41,
	Title:      "CNI ADD failed",
	Definition: "The pod's network could not be set up: without a sandbox there are no containers and no probes.",
	Notes: []string{
		"No probe runs before a sandbox exists: the pod is not ready and no \"Probe failed\" is logged.",
		"Log: \"failed to setup network for sandbox\" with type= and name= of the plugin; \"cni plugin not initialized\"; \"network is not ready\".",
	},
	Needs:       []string{"A failed sandbox with an error of the network plugin, or a runtime whose network is not ready."},
	Supports:    []string{"Event FailedCreatePodSandBox.", "No probe of the pod ran in that time."},
	Contradicts: []string{"The sandbox failed for another reason (image, cgroup)."},
	LookAlikes:  []LookAlike{{"ip-pool-exhausted", "the error says that no address is left"}, {"policy-drop", "a missing probe is not a dropped packet"}},
	Limits:      []Limit{{"kubelet log or events", 0.95}, {"\"failed to assign an IP address\"", 0.70}},
	Sentence:    "The network of %s could not be set up, so its probes never ran.",
	Recommend:   []string{"cni-plugin-named", "know-ip-source"},
	Collect:     []string{MissRuntimeLog, MissEvents, MissIPAM, MissKubeletLog},
	Precedents:  []string{"https://github.com/aws/amazon-vpc-cni-k8s/issues/59", "https://github.com/cilium/cilium/issues/38313"},
	Eval:        evalCNIAddFailed,
})

func evalCNIAddFailed(c *Case) (v Verdict) {
	f := c.sandboxFailures(func(s string) bool {
		return strings.Contains(s, "failed to setup network for sandbox") || strings.Contains(s, "failed (add)") || strings.Contains(s, "networkPlugin cni failed") ||
			strings.Contains(s, "to CNI network") || strings.Contains(s, "cni plugin not initialized") || strings.Contains(s, "NetworkPluginNotReady") ||
			strings.Contains(s, "network is not ready") || strings.Contains(s, "no networks found in /etc/cni/net.d") || strings.Contains(s, "failed to assign an IP address")
	})
	if f.OK() {
		v.Satisfied = v.Need(GroupKubelet, WeightLiteral, f)
		v.Sup(GroupRuntime, WeightState, c.runtimeFailures())
	} else if n := c.nodeState(event.NodeNetworkNotReady); n.OK() && c.inState(incident.StateSandboxFailing) {
		v.Satisfied = v.Need(GroupKubelet, WeightTwoPoints, n)
	}
	if len(c.Failed()) > 0 && v.Satisfied {
		// The network did come up: probes ran.
		v.Con(GroupTiming, WeightDirect, factOf("Probes ran in the window, so a sandbox existed.", c.Failed()))
	}
	v.Limit(0.95, "the error is logged literally")
	if strings.Contains(f.Claim, "failed to assign an IP address") {
		v.Limit(0.70, "the plugin prints the same when no address is left")
		v.Ask(MissIPAM)
	}
	v.Ask(MissRuntimeLog)
	return v
}

// sandboxFailures cites failed sandbox creations whose error satisfies is.
func (c *Case) sandboxFailures(is func(string) bool) Fact {
	f := Fact{}
	for _, p := range c.Pods {
		for _, s := range p.SandboxSteps {
			if s.Op == event.SandboxFailed && is(s.Message) && s.At >= c.First.Add(-2*time.Minute) && s.At <= c.Last.Add(2*time.Minute) {
				f.add("Sandbox creation failed: "+oneLine(s.Message), s.At, s.Ref)
			}
		}
		for _, e := range p.Events {
			if e.Reason == "FailedCreatePodSandBox" && is(e.Message) && e.Last.At >= c.First.Add(-2*time.Minute) && e.First.At <= c.Last.Add(2*time.Minute) {
				f.add("Sandbox creation failed: "+oneLine(e.Message), e.At, e.Ref)
			}
		}
	}
	return f
}

// runtimeFailures cites the runtime's own lines about failed sandboxes.
func (c *Case) runtimeFailures() Fact {
	f := Fact{}
	for _, p := range c.Pods {
		for _, s := range p.SandboxSteps {
			if s.Op == event.SandboxFailed && s.Attempt >= 0 {
				f.add("The runtime reports the failure.", s.At, s.Ref)
			}
		}
	}
	return f
}

// inState reports whether the incident began with a state of the code.
func (c *Case) inState(code string) bool {
	return slices.ContainsFunc(c.States, func(s incident.State) bool { return s.Code == code })
}
