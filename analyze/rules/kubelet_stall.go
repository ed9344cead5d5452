package rules

var _ = register(Rule{
	ID: "kubelet-stall", Family: FamilyNode, Tier: 1, Rank: 30,
	Title:       "kubelet stalled",
	Definition:  "The kubelet, its PLEG or its sync loop stood still: status and restarts froze, or no probe was sent at all for a while.",
	Needs:       []string{"\"PLEG is not healthy\", \"Housekeeping took longer than expected\", a silence of the kubelet's journal well above its usual pauses, or attempts of many probes that are all late at once."},
	Supports:    []string{"No probe to any pod in the silence, in log or capture, and all resume together.", "The node turned not ready.", "Runtime calls were slow."},
	Contradicts: []string{"Only one pod is late.", "The probes of other pods went on in the capture."},
	LookAlikes:  []LookAlike{{"kubelet-restart", "the kubelet starts anew, with another process id"}, {"runtime-down", "the runtime itself is away"}, {"conntrack-exhausted", "probes are attempted and time out"}},
	Limits:      []Limit{{"PLEG message in the kubelet log", 0.90}, {"silence of the log alone", 0.70}, {"silence of log and capture", 0.85}, {"capture alone", 0.75}},
	Sentence:    "The kubelet of %s stood still; nothing was probed or restarted in that time.",
	Recommend:   []string{"runtime-latency", "drain-first"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/77728", "https://github.com/kubernetes/kubernetes/issues/45419", "https://github.com/rancher/rancher/issues/22007"},
	Thresholds: []Threshold{
		{"window", 60, "s", "how far from the failures a message of the kubelet may lie"},
		{"silence", 15, "s", "shortest silence of all probes of the node that counts"},
	},
	Explains: []string{"stale-status-ip", "kubelet-restart", "status-patch-lag"},
	Eval:     evalKubeletStall,
})
