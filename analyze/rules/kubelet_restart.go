package rules

var _ = register(Rule{
	ID: "kubelet-restart", Family: FamilyNode, Tier: 1, Rank: 31,
	Title:       "kubelet restarted",
	Definition:  "Readiness flipped, or probes paused and burst, because the kubelet was restarted.",
	Needs:       []string{"A kubelet start in the window: its start messages, another process id in its journal, or the node's event Starting."},
	Supports:    []string{"Pods of the node turn not ready together within one period after the start, without a failed probe.", "No probe is sent while the kubelet is away.", "The kubelet is older than 1.35, which resets readiness on its start."},
	Contradicts: []string{"The failures began before the restart.", "Probes fail with errors of the network or the application long after the start."},
	LookAlikes:  []LookAlike{{"kubelet-stall", "the kubelet's process id stays the same"}, {"dual-stack-primary-flip", "the restart changed the order of the pod's addresses, and the probes fail since"}},
	Limits:      []Limit{{"kubelet log", 0.92}},
	Sentence:    "The kubelet of %s was restarted; probes paused and readiness was reset.",
	Recommend:   []string{"drain-first"},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/100277", "https://github.com/kubernetes/kubernetes/issues/78733", "https://github.com/kubernetes/kubernetes/issues/113646",
		"https://github.com/Azure/acs-engine/issues/1977"},
	Thresholds: []Threshold{{"settle", 30, "s", "how long after the start a flip of readiness belongs to it"}},
	Eval:       evalKubeletRestart,
})
