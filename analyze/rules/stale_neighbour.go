package rules

var _ = register(Rule{
	ID: "stale-neighbour", Family: FamilyL2, Tier: 2, Rank: 61,
	Title:       "neighbour entry of the IP's previous owner",
	Definition:  "The node's neighbour entry for the pod IP still held the MAC of the previous owner, so the frames went to a MAC that is gone or belongs to another pod.",
	Needs:       []string{"Unanswered SYNs to a MAC that is not the pod's, with no ARP exchange before them that would have returned the right one."},
	Supports:    []string{"The IP was another pod's minutes before, and that pod had this MAC.", "Unicast ARP requests to the old MAC go unanswered, then a broadcast is answered by the new one.", "It heals with an ARP exchange."},
	Contradicts: []string{"An ARP reply before the SYN returned the MAC that was used."},
	LookAlikes: []LookAlike{
		{"bridge-fdb-flip", "the MAC is right and the bridge's port wrong"},
		{"arp-unanswered", "a broadcast request is not answered either"},
		{"policy-drop", "the SYNs carry the pod's own MAC"},
	},
	Limits:     []Limit{{"node capture with objects or log", 0.90}, {"node capture alone", 0.70}},
	Sentence:   "The node sent the probes of %s to the MAC of the IP's previous owner.",
	Recommend:  []string{"announce-on-add", "ip-holdoff"},
	Precedents: []string{"https://github.com/aws/amazon-vpc-cni-k8s/issues/3628", "https://github.com/moby/moby/issues/36069"},
	Explains:   []string{"ip-reused", "arp-unanswered", "probe-timeout-too-tight"},
	Eval:       evalStaleNeighbour,
})
