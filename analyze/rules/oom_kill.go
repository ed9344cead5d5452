package rules

var _ = register(Rule{
	ID: "oom-kill", Family: FamilyNode, Tier: 1, Rank: 12,
	Title:       "killed for lack of memory",
	Definition:  "The kernel killed the container's process for lack of memory.",
	Needs:       []string{"A finished run with reason OOMKilled, or the kernel's or the kubelet's out-of-memory message for the pod."},
	Supports:    []string{"A memory limit is set.", "The restarts coincide with the messages."},
	Contradicts: []string{"Only exit code 137: a kill after the grace period of a liveness kill has it too."},
	LookAlikes:  []LookAlike{{"app-hang", "a liveness kill with exit code 137 and reason Error"}, {"app-crash-loop", "the process ends with another reason"}},
	Limits:      []Limit{{"objects", 0.95}, {"kernel log", 0.95}},
	Sentence:    "A container of %s was killed for lack of memory.",
	Recommend:   []string{"raise-memory"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/62594"},
	Thresholds:  []Threshold{{"window", 600, "s", "how long before the first failure the kill may lie"}},
	Explains:    []string{"app-crash-loop", "app-not-listening", "app-slow-start"},
	Eval:        evalOOMKill,
})
