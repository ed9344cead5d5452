package rules

var _ = register(Rule{
	ID: "app-slow-start", Family: FamilyApp, Tier: 1, Rank: 101,
	Title:       "application needs time to start",
	Definition:  "The failures are confined to the time after a container start and end by themselves in the same run; or run after run is killed by a probe before the application ever listened.",
	Needs:       []string{"The first failure lies after the container's start and a success follows in the same run; or at least two runs were killed by a probe without ever answering."},
	Supports:    []string{"No startup probe is declared.", "The time to the first success is alike in every run.", "The container log shows it still starting."},
	Contradicts: []string{"The application had been ready in that run before the failures.", "The container ended by itself."},
	LookAlikes: []LookAlike{
		{"app-crash-loop", "the container ends by itself, before any kill"},
		{"probe-startup-budget-too-short", "a probe killed it: then the budget is the cause and the slow start contributes"},
		{"app-not-listening", "the refusals never end"},
	},
	Limits:     []Limit{{"kubelet log and objects", 0.80}, {"with the container log", 0.90}},
	Sentence:   "%s needed some time after its start before it answered.",
	Recommend:  []string{"startup-probe", "laxer-liveness"},
	Precedents: []string{"https://github.com/apache/camel-k/issues/2173", "https://github.com/treeverse/charts/issues/143"},
	Thresholds: []Threshold{{"max-start", 600, "s", "longest time after a container start that still counts as its start"}},
	Explains:   []string{"app-not-listening"},
	Eval:       evalAppSlowStart,
})
