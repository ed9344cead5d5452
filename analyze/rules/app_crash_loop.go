package rules

var _ = register(Rule{
	ID: "app-crash-loop", Family: FamilyApp, Tier: 1, Rank: 100,
	Title:       "container exits by itself",
	Definition:  "The container ends on its own, and the failed probes are a consequence.",
	Needs:       []string{"A finished run with an exit code or reason, before or between the failures, that no probe and no deletion had killed."},
	Supports:    []string{"Event BackOff, or the kubelet's back-off.", "The restart count grows.", "The container log ends in a fatal message."},
	Contradicts: []string{"The kubelet killed the container after a failed liveness or startup probe, before it ended."},
	LookAlikes: []LookAlike{
		{"probe-startup-budget-too-short", "the kubelet's kill comes before the exit"},
		{"oom-kill", "the reason is OOMKilled"},
		{"host-network-target", "the container ends because its port is taken on the node"},
	},
	Limits:     []Limit{{"kubelet log and objects", 0.95}, {"events alone", 0.80}},
	Sentence:   "A container of %s keeps exiting by itself; the failed probes follow from that.",
	Recommend:  []string{"read-previous-logs"},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/62594"},
	Thresholds: []Threshold{{"window", 600, "s", "how long before the first failure an exit may lie to explain it"}},
	Explains:   []string{"app-not-listening", "app-slow-start", "app-connection-closed"},
	Eval:       evalAppCrashLoop,
})
