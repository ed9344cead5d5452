package rules

var _ = register(Rule{
	ID: "conntrack-exhausted", Family: FamilyPath, Tier: 1, Rank: 80,
	Title:       "conntrack table full",
	Definition:  "The node's connection tracking table was full, so new connections were dropped on the node.",
	Needs:       []string{"Kernel line \"nf_conntrack: table full, dropping packet\" around the failures."},
	Supports:    []string{"Many pods of the node fail together, tcp, http and grpc alike, while exec probes do not.", "No SYN of the failed attempts reaches the bridge."},
	Contradicts: []string{"A single pod fails while others on the node are probed well."},
	LookAlikes:  []LookAlike{{"policy-drop", "one pod or port is affected, and the kernel log has no such line"}, {"kubelet-stall", "no probe is attempted at all"}},
	Limits:      []Limit{{"kernel log", 0.90}, {"without a kernel log", 0.30}},
	Sentence:    "The connection tracking table of the node was full, and new connections to %s were dropped.",
	Recommend:   []string{"conntrack-size", "neighbour-limits"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/71261", "https://github.com/kubernetes/kubernetes/issues/18604"},
	Thresholds:  []Threshold{{"window", 120, "s", "how far from the failures the kernel line may lie"}},
	Explains:    []string{"policy-drop", "probe-timeout-too-tight", "cpu-starvation"},
	Eval:        evalConntrackExhausted,
})
