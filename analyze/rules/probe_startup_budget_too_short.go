package rules

var _ = register(Rule{
	ID: "probe-startup-budget-too-short", Family: FamilyConfig, Tier: 1, Rank: 99,
	Title:       "probe kills the container before it is up",
	Definition:  "A liveness or startup probe kills the container before the application can be up, run after run.",
	Needs:       []string{"At least two runs (or one, with the next one under way) killed by a liveness or startup probe within the probe's budget after the start, none of which ever answered."},
	Supports:    []string{"No startup probe is declared.", "The container log ends while starting.", "The kills follow failureThreshold x periodSeconds after the start."},
	Contradicts: []string{"The application was ready in the killed run.", "The container ended by itself before the kill."},
	LookAlikes: []LookAlike{
		{"app-crash-loop", "the exit comes before the kill"},
		{"probe-target-misconfigured", "the probed port never opens, however long one waits: the spec declares another one"},
		{"app-hang", "the application answered before it was killed"},
	},
	Limits:     []Limit{{"kubelet log and objects", 0.90}, {"with the container log", 0.92}, {"events or objects alone", 0.75}},
	Sentence:   "A probe kills %s before the application can be up.",
	Recommend:  []string{"startup-probe", "laxer-liveness"},
	Precedents: []string{"https://github.com/kubernetes/enhancements/pull/860", "https://github.com/SREGym/SREGym/issues/61"},
	Thresholds: []Threshold{{"slack", 20, "s", "how far beyond the computed budget a kill may lie"}},
	Explains:   []string{"app-slow-start", "app-not-listening", "app-crash-loop", "app-hang"},
	Eval:       evalStartupBudget,
})
