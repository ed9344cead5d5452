package rules

var _ = register(Rule{
	ID: "cpu-starvation", Family: FamilyNode, Tier: 1, Rank: 14,
	Title:       "starved of processor time",
	Definition:  "The container was throttled by its CPU limit, or the node had no processor time left, so responses came too late.",
	Needs:       []string{"Throttling or pressure: cpu.stat with throttled periods, PSI, soft lockups; without them at most a suspicion."},
	Supports:    []string{"A CPU limit below 500m.", "Responses come late rather than never.", "Exec probes time out at the same time."},
	Contradicts: []string{"Response times are normal."},
	LookAlikes:  []LookAlike{{"app-hang", "no throttling: the process waits for something else"}, {"probe-timeout-too-tight", "the response time is usual for the application"}},
	Limits:      []Limit{{"without metrics", 0.45}, {"with counters or a kernel log", 0.85}},
	Sentence:    "%s was starved of processor time and answered too late.",
	Recommend:   []string{"raise-cpu", "raise-timeout", "separate-health"},
	Precedents:  []string{"https://github.com/neochaotic/leoflow/issues/860", "https://github.com/projectcalico/calico/pull/4788", "https://github.com/kubernetes/kubernetes/issues/67577"},
	Thresholds: []Threshold{
		{"throttled-share", 0.25, "ratio", "share of throttled periods that counts as throttling"},
		{"low-limit", 500, "millicores", "CPU limit below which throttling is suspected"},
	},
	Explains: []string{"app-hang", "probe-timeout-too-tight", "app-slow-start", "exec-probe-failed"},
	Eval:     evalCPUStarvation,
})
