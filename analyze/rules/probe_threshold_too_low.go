package rules

var _ = register(Rule{
	ID: "probe-threshold-too-low", Family: FamilyConfig, Tier: 2, Rank: 111,
	Title:       "one failure changed the state",
	Definition:  "A single failed attempt changed the pod's state because failureThreshold is 1; the next attempt succeeded.",
	Needs:       []string{"failureThreshold 1, a state change after one failed attempt, and a success at the next."},
	Supports:    []string{"It happened several times."},
	Contradicts: []string{"Several attempts in a row failed."},
	LookAlikes:  []LookAlike{{"packet-loss-latency", "packets are lost: the threshold only made it visible"}},
	Limits:      []Limit{{"kubelet log and objects", 0.80}},
	Sentence:    "A single failed probe was enough to change the state of %s.",
	Recommend:   []string{"raise-failure-threshold"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/89898"},
	Eval:        evalThresholdTooLow,
})
