package rules

var _ = register(Rule{
	ID: "policy-reject", Family: FamilyPath, Tier: 2, Rank: 82,
	Title:      "a rule rejected the probes",
	Definition: "A packet filter rule answered the probe's SYN with an RST or an ICMP error.",
	Needs:      []string{"An ICMP unreachable that quotes the SYN; or an RST that the pod's own stack did not send; or a REJECT rule in a dump; or a port that refuses from the very moment at which the node's rules began to reject others."},
	Supports: []string{"The error text fits the code: port unreachable reads \"connection refused\", host unreachable and admin prohibited read \"no route to host\", net unreachable \"network is unreachable\".",
		"The error comes at once, ARP is answered."},
	Contradicts: []string{"The RST leaves the right pod and the port had never answered."},
	LookAlikes: []LookAlike{
		{"app-not-listening", "the pod's socket list shows no listener; on the wire a reject with tcp-reset inside the pod looks the same"},
		{"arp-unanswered", "\"no route to host\" after seconds, without ICMP"},
		{"mesh-redirect-dead-port", "the pod's nat table redirects instead of rejecting"},
	},
	Limits:     []Limit{{"capture with ICMP", 0.90}, {"capture with RST only", 0.50}, {"rejects of others at the same moment", 0.65}, {"kubelet log alone", 0.45}},
	Sentence:   "A packet filter rule rejected the probes of %s.",
	Recommend:  []string{"scope-reject", "allow-node"},
	Precedents: []string{"https://github.com/kubernetes-sigs/kind/issues/3875"},
	Thresholds: []Threshold{{"same-start", 5, "s", "another pod's rejects within this time share the moment"}},
	Explains:   []string{"app-not-listening"},
	Eval:       evalPolicyReject,
})
