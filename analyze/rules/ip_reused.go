package rules

var _ = register(Rule{
	ID: "ip-reused", Family: FamilyIdentity, Tier: 1, Rank: 62,
	Title:       "IP handed on to another pod too soon",
	Definition:  "The probed IP had just belonged to another pod when something that still held the old state (neighbour entry, conntrack, cache) used it.",
	Needs:       []string{"Two pod UIDs held the IP in intervals that do not overlap, the gap is shorter than the hold-off, and the failures lie in the later interval or aim at the earlier owner."},
	Supports:    []string{"The answer came from another application.", "Frames still carry the earlier owner's MAC.", "IPAM has no or a short cool-down."},
	Contradicts: []string{"The intervals overlap: that is a duplicate address.", "The earlier owner's pod had completed long before."},
	LookAlikes: []LookAlike{
		{"duplicate-pod-ip", "the two owners' intervals overlap"},
		{"stale-neighbour", "the node's neighbour entry is shown to be the mechanism: SYNs carry the earlier owner's MAC"},
	},
	Limits:     []Limit{{"objects and events alone", 0.60}, {"kubelet log with runtime or CNI log", 0.85}, {"with a node capture", 0.90}},
	Sentence:   "The IP of %s had just belonged to another pod, and stale state of that pod was still in use.",
	Recommend:  []string{"ip-holdoff", "ip-keyed-state", "watch-by-version", "no-pod-ip"},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/109414", "https://github.com/aws/amazon-vpc-cni-k8s/issues/3628"},
	Thresholds: []Threshold{{"hold", 60, "s", "shortest time an address should rest before it is handed out again"}},
	Explains:   []string{"stale-neighbour"},
	Eval:       evalIPReused,
})
