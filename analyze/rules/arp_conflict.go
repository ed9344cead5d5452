package rules

var _ = register(Rule{
	ID: "arp-conflict", Family: FamilyL2, Tier: 2, Rank: 71,
	Title:       "another MAC claimed the pod IP",
	Definition:  "A gratuitous ARP, an unsolicited neighbour advertisement or a competing reply overwrote the node's mapping for the pod IP.",
	Needs:       []string{"An ARP frame that claims the pod IP for a MAC other than the pod's, followed by SYNs to that MAC."},
	Supports:    []string{"The claims alternate between two MACs.", "The MAC is that of a VIP manager or of another machine."},
	Contradicts: []string{"The change of MAC coincides with a new sandbox of the same pod."},
	LookAlikes: []LookAlike{
		{"duplicate-pod-ip", "a stack behind the other MAC answers SYNs; an announcer alone does not"},
		{"stale-neighbour", "nobody announced anything: the entry is a leftover"},
	},
	Limits:     []Limit{{"node capture", 0.85}, {"anything else", 0.30}},
	Sentence:   "Another machine claimed the IP of %s by ARP.",
	Recommend:  []string{"exclude-pod-cidr", "capture-l2"},
	Precedents: []string{"https://github.com/moby/moby/issues/36069"},
	Eval:       evalARPConflict,
})
