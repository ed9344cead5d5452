package rules

var _ = register(Rule{
	ID: "probe-timeout-too-tight", Family: FamilyConfig, Tier: 1, Rank: 110,
	Title:       "timeoutSeconds too tight",
	Definition:  "The target answers correctly, only later than timeoutSeconds.",
	Needs:       []string{"Valid answers after the probe gave up in at least two attempts, or response times close to the timeout; in logs: an access log that shows success slower than the timeout."},
	Supports:    []string{"timeoutSeconds is 1, the default.", "Successes in between."},
	Contradicts: []string{"The target never answers."},
	LookAlikes:  []LookAlike{{"app-hang", "no answer ever comes"}, {"cpu-starvation", "throttling is shown"}, {"packet-loss-latency", "the handshake itself is late"}},
	Limits:      []Limit{{"capture", 0.90}, {"container log", 0.85}, {"kubelet log and objects", 0.50}},
	Sentence:    "%s answers its probe correctly, but later than timeoutSeconds allows.",
	Recommend:   []string{"raise-timeout", "period-over-timeout"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/51096"},
	Thresholds:  []Threshold{{"near", 0.7, "ratio", "share of the timeout from which a response time counts as close to it"}, {"min-late", 2, "count", "late answers needed"}},
	Eval:        evalTimeoutTooTight,
})
