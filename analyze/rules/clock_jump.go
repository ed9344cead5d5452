package rules

var _ = register(Rule{
	ID: "clock-jump", Family: FamilyNode, Tier: 2, Rank: 10,
	Title:       "clock was stepped",
	Definition:  "The node's clock was stepped: delays computed from wall-clock times go wrong, and timelines tear.",
	Needs:       []string{"A message of systemd or of a time service about a step, or a jump between the monotonic and the wall clock of the journal."},
	Supports:    []string{"A container that seems to have started in the future is not probed.", "The node's lease expired."},
	Contradicts: []string{"The step is shorter than a probe's timeout."},
	LookAlikes:  []LookAlike{{"kubelet-stall", "no step: the kubelet really paused"}},
	Limits:      []Limit{{"time service or monotonic clock of the journal", 0.90}, {"anything else", 0.40}},
	Sentence:    "The clock of the node was stepped while %s was probed.",
	Recommend:   []string{"slew-time"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/pull/123898", "https://github.com/kubernetes/kubernetes/issues/108844", "https://github.com/kubernetes/kubernetes/issues/58853"},
	Thresholds:  []Threshold{{"window", 300, "s", "how far from the incident the step may lie"}},
	Eval:        evalClockJump,
})
