package rules

var _ = register(Rule{
	ID: "app-hang", Family: FamilyApp, Tier: 1, Rank: 103,
	Title:      "connection accepted, no response",
	Definition: "The connection is accepted and the request is delivered, but no response comes, or it comes after the probe gave up.",
	Needs:      []string{"A completed handshake and an acknowledged request without a response before the probe's timeout; or an error text that proves the same."},
	Supports: []string{"A TCP probe of the same port passes while HTTP fails.", "The container log shows lock, pool or collector trouble.", "The response was quick before the failures began.",
		"The response comes after the probe closed."},
	Contradicts: []string{"No SYN-ACK was seen.", "The response is often just a little late: then the timeout is the cause."},
	LookAlikes: []LookAlike{
		{"cpu-starvation", "throttling or pressure is shown: the packets look the same"},
		{"probe-timeout-too-tight", "the response comes, only a little later than the timeout"},
		{"mtu-blackhole", "the server repeats a large segment"},
		{"accept-queue-overflow", "the handshake no longer completes"},
	},
	Limits:     []Limit{{"node or pod capture", 0.90}, {"kubelet log alone, ambiguous text", 0.45}, {"kubelet log alone, text of old kubelets", 0.65}},
	Sentence:   "%s accepts connections but does not answer requests in time.",
	Recommend:  []string{"separate-health", "raise-timeout", "no-dependencies", "raise-cpu"},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/51096", "https://github.com/kubernetes/kubernetes/issues/115469"},
	Thresholds: []Threshold{{"min-mute", 2, "count", "unanswered requests needed in a capture"}},
	Explains:   []string{"probe-timeout-too-tight"},
	Eval:       evalAppHang,
})
