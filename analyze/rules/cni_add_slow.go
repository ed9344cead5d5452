package rules

import (
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "cni-add-slow", Family: FamilyCNI, Tier: 1, Rank: 42,
	Title:      "CNI ADD took long",
	Definition: "Setting up the pod's network took long: the start came late, or probing began while the network was half programmed.",
	Notes: []string{
		"No probe runs before the sandbox is up. Where the plugin returns before the data path is programmed, the first SYNs stay unanswered and then all goes well, with no event of the application.",
		"Time spent pulling images or mounting volumes is not the network's.",
	},
	Needs:       []string{"A long time between the request for the sandbox and its completion, much longer than for other pods of the node."},
	Supports:    []string{"Sandboxes of other pods were quick in the same minutes.", "The first SYNs stay unanswered, then it works with no application event."},
	Contradicts: []string{"The time went into pulling images or mounting volumes.", "The sandbox failed instead."},
	LookAlikes:  []LookAlike{{"cni-add-failed", "the ADD ended with an error"}, {"app-slow-start", "the sandbox was quick, the application was slow"}},
	Limits:      []Limit{{"runtime log", 0.85}, {"kubelet log and objects", 0.60}},
	Sentence:    "Setting up the network of %s took long; probes could not begin before.",
	Recommend:   []string{"cni-latency", "know-ip-source", "downward-api", "startup-probe"},
	Collect:     []string{MissRuntimeLog},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/39113"},
	Thresholds: []Threshold{
		{"slow", 10, "s", "a sandbox that takes longer is slow in any case"},
		{"slow-relative", 3, "s", "shortest time that may count as slow next to quick ones"},
		{"times-median", 5, "ratio", "how many times the node's median a relative slow one must take"},
	},
	Eval: evalCNIAddSlow,
})

func evalCNIAddSlow(c *Case) (v Verdict) {
	for _, s := range c.States {
		if s.Code != incident.StateSandboxSlow {
			continue
		}
		v.Satisfied = v.Need(GroupRuntime, 0.80, Fact{Claim: oneLine(s.Text) + ".", At: s.At, Refs: cite(s.Refs...), N: 1})
		v.Sup(GroupKubelet, WeightStateLoose, c.nodeState(event.NodeNetworkNotReady))
		for _, p := range c.Pods {
			for _, r := range p.Runs {
				if r.From >= s.To && len(r.Refs) > 0 {
					v.Sup(GroupStatus, 0.2, Fact{Claim: "The container started only after that.", At: r.From, Refs: runRefs([]identity.Run{r}), N: 1})
				}
			}
		}
		v.Limit(0.85, "the runtime's log")
		v.Ask(MissRuntimeLog)
	}
	return v
}
