package rules

var _ = register(Rule{
	ID: "endpoint-propagation-lag", Family: FamilyControl, Tier: 2, Rank: 121,
	Title:       "endpoints lag behind the pod",
	Definition:  "The pod's status was right, but EndpointSlices were late or wrong: clients saw errors although probes were fine, or a gone pod's IP was still listed.",
	Needs:       []string{"An endpoint that names the pod with another address or readiness than its status, or that lists an address the pod no longer has."},
	Supports:    []string{"The pod is gone or has another IP."},
	Contradicts: []string{"The objects were collected at different times: a snapshot can be skewed."},
	LookAlikes:  []LookAlike{{"status-patch-lag", "the status itself was late"}},
	Limits:      []Limit{{"objects", 0.60}, {"audit", 0.90}},
	Sentence:    "The endpoints of %s lag behind its status.",
	Recommend:   []string{"endpoint-health", "watch-by-version", "no-pod-ip"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/117193"},
	Eval:        evalEndpointLag,
})
