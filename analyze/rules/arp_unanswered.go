package rules

var _ = register(Rule{
	ID: "arp-unanswered", Family: FamilyL2, Tier: 1, Rank: 72,
	Title:      "nobody answers ARP for the pod IP",
	Definition: "Nobody answered ARP (or neighbour discovery) for the pod IP, or the pod could not resolve its gateway, so the probe's SYN never left the node.",
	Needs:      []string{"At least two requests for the pod IP without a reply in a capture that covers the failures."},
	Supports: []string{"\"no route to host\" after about three seconds; with a shorter timeout the text is a plain timeout.", "No SYN of the failed attempts on the wire.",
		"The interface is down or its namespace is gone.", "The kernel's neighbour table overflowed."},
	Contradicts: []string{"A reply was seen during the failures.", "SYNs went out and were answered in the same time."},
	LookAlikes: []LookAlike{
		{"policy-reject", "\"no route to host\" comes at once, with an ICMP error on the wire"},
		{"sandbox-recreated-ip-changed", "the IP is gone on purpose: the pod has another one by now"},
		{"stale-neighbour", "the unanswered requests are unicast to the MAC of an earlier owner, and a broadcast is answered"},
	},
	Limits:     []Limit{{"node capture", 0.85}, {"kubelet log alone", 0.45}, {"kernel log of a neighbour overflow", 0.80}},
	Sentence:   "Nobody answered ARP for the IP of %s: its link or network namespace is gone.",
	Recommend:  []string{"check-veth", "neighbour-limits"},
	Precedents: []string{"https://github.com/lyft/cni-ipvlan-vpc-k8s/issues/70"},
	Thresholds: []Threshold{{"requests", 2, "count", "unanswered requests needed"}},
	Eval:       evalARPUnanswered,
})
