package rules

var _ = register(Rule{
	ID: "runtime-down", Family: FamilyNode, Tier: 1, Rank: 20,
	Title:       "container runtime away",
	Definition:  "The container runtime was down, restarting or unreachable for the kubelet.",
	Needs:       []string{"The kubelet says that the runtime is down or not ready, its socket refuses or is missing, or the runtime's unit stopped or started in the window."},
	Supports:    []string{"Exec probes of all pods error while network probes keep passing.", "PLEG errors.", "Sandboxes of several pods lost their IP at once."},
	Contradicts: []string{"Runtime calls succeed in that time."},
	LookAlikes:  []LookAlike{{"exec-probe-failed", "a single pod's command fails"}, {"kubelet-stall", "the runtime answers, the kubelet does not ask"}},
	Limits:      []Limit{{"kubelet log", 0.90}, {"runtime log", 0.95}},
	Sentence:    "The container runtime of the node was away; %s was affected.",
	Recommend:   []string{"why-runtime", "drain-first", "fix-runtime-ip"},
	Precedents:  []string{"https://github.com/canonical/microk8s/issues/1866", "https://github.com/containerd/containerd/issues/7843"},
	Thresholds:  []Threshold{{"window", 120, "s", "how far before the first failure the runtime's outage may lie"}},
	Explains:    []string{"sandbox-recreated-ip-changed", "exec-probe-failed", "kubelet-stall", "pod-ip-empty", "stale-status-ip", "cni-add-failed", "app-crash-loop", "app-not-listening"},
	Eval:        evalRuntimeDown,
})
