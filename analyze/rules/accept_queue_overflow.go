package rules

var _ = register(Rule{
	ID: "accept-queue-overflow", Family: FamilyPath, Tier: 2, Rank: 87,
	Title:      "accept queue full",
	Definition: "The listener exists, but the application does not accept: its queue filled up and the kernel drops further SYNs.",
	Needs:      []string{"Unanswered SYNs on a port that completed handshakes before, the last of which the application never served or closed; or kernel counters of listen drops."},
	Supports: []string{"The SYN reaches the pod and is not answered there.", "Kernel line \"Possible SYN flooding\".", "ListenOverflows above zero.",
		"The port goes silent some connections after the application stopped serving."},
	Contradicts: []string{"The port never had a listener.", "All earlier connections were served and closed by the application."},
	LookAlikes: []LookAlike{
		{"policy-drop", "the connections before the silence were served in full"},
		{"app-hang", "SYN-ACKs still come: the queue is not full yet"},
	},
	Limits:     []Limit{{"pod capture", 0.75}, {"node capture alone", 0.65}, {"kernel log or counters", 0.85}, {"kubelet log alone", 0.30}},
	Sentence:   "%s stopped accepting connections; its accept queue is full and further SYNs are dropped.",
	Recommend:  []string{"raise-backlog", "separate-health"},
	Precedents: []string{"https://github.com/agentmail-to/agentmail-mcp/pull/46"},
	Thresholds: []Threshold{{"before", 60, "s", "how long before the silence the unserved handshakes may lie"}},
	Explains:   []string{"app-hang", "probe-timeout-too-tight"},
	Eval:       evalAcceptQueue,
})
