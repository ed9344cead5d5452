package rules

var _ = register(Rule{
	ID: "cni-add-failed", Family: FamilyCNI, Tier: 1, Rank: 41,
	Title:       "CNI ADD failed",
	Definition:  "The pod's network could not be set up: without a sandbox there are no containers and no probes.",
	Needs:       []string{"A failed sandbox with an error of the network plugin, or a runtime whose network is not ready."},
	Supports:    []string{"Event FailedCreatePodSandBox.", "No probe of the pod ran in that time."},
	Contradicts: []string{"The sandbox failed for another reason (image, cgroup)."},
	LookAlikes:  []LookAlike{{"ip-pool-exhausted", "the error says that no address is left"}, {"policy-drop", "a missing probe is not a dropped packet"}},
	Limits:      []Limit{{"kubelet log or events", 0.95}},
	Sentence:    "The network of %s could not be set up, so its probes never ran.",
	Recommend:   []string{"cni-plugin-named", "know-ip-source"},
	Precedents:  []string{"https://github.com/aws/amazon-vpc-cni-k8s/issues/59", "https://github.com/cilium/cilium/issues/38313"},
	Eval:        evalCNIAddFailed,
})
