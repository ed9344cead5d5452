package rules

var _ = register(Rule{
	ID: "status-patch-lag", Family: FamilyControl, Tier: 2, Rank: 120,
	Title:       "API learned the status late",
	Definition:  "The kubelet knew the new readiness or IP, but the API server learned it late.",
	Needs:       []string{"A status write that failed or was throttled after a readiness change, or an API-side time seconds later than the kubelet's."},
	Supports:    []string{"The kubelet could not update pod status.", "Client-side throttling.", "Errors of the API server."},
	Contradicts: []string{"The kubelet computed the readiness late itself."},
	LookAlikes:  []LookAlike{{"endpoint-propagation-lag", "the pod's status was right in time, the endpoints were late"}, {"kubelet-stall", "the kubelet itself was late"}},
	Limits:      []Limit{{"kubelet log with audit", 0.90}, {"kubelet log with objects", 0.60}},
	Sentence:    "The API server learned the status of %s late.",
	Recommend:   []string{"api-rate", "readiness-age"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/39113", "https://github.com/kubernetes/kubernetes/issues/27385"},
	Thresholds:  []Threshold{{"window", 60, "s", "how long after a readiness change the failed write may lie"}},
	Eval:        evalStatusPatchLag,
})
