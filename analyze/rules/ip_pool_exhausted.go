package rules

var _ = register(Rule{
	ID: "ip-pool-exhausted", Family: FamilyCNI, Tier: 1, Rank: 40,
	Title:       "no pod IP left",
	Definition:  "The address management had no address left for the pod.",
	Needs:       []string{"An error that says so: no addresses available in the range set, no more addresses, allocated only 0, total and assigned equal."},
	Supports:    []string{"Other pods of the node hold the whole range.", "The pod got its address once another one was released."},
	Contradicts: []string{"\"failed to assign an IP address\" while the address daemon was still starting: then it is not ready, not exhausted."},
	LookAlikes:  []LookAlike{{"cni-add-failed", "the plugin failed for another reason"}},
	Limits:      []Limit{{"kubelet log or events", 0.95}},
	Sentence:    "No pod IP was left for %s, so its probes never ran.",
	Recommend:   []string{"enlarge-pool", "ip-holdoff", "know-ip-source"},
	Precedents:  []string{"https://github.com/aws/amazon-vpc-cni-k8s/issues/3351", "https://github.com/aws/amazon-vpc-cni-k8s/issues/1791", "https://github.com/aws/amazon-vpc-cni-k8s/issues/3494"},
	Explains:    []string{"cni-add-failed", "cni-add-slow"},
	Eval:        evalIPPool,
})
