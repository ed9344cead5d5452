package rules

// The engine gives this verdict itself, it has nothing to evaluate.
var _ = register(Rule{
	ID: Inconclusive, Family: FamilyMeta, Tier: 1, Rank: 130,
	Title:      "inputs do not tell",
	Definition: "No cause reaches the least confidence, or two causes that do not explain each other are too close. The verdict names the candidates, what is missing, and how to collect it.",
	Notes: []string{
		"One error text alone proves little: the same words stand for several causes. The report lists the candidates with their scores and the commands that would settle it.",
	},
	Needs:       []string{"The best candidate stays below 0.40, or an unrelated candidate lies within 0.10 of it."},
	Supports:    []string{"Inputs that would tell the candidates apart are missing."},
	Contradicts: []string{"An input that locates the fault."},
	LookAlikes:  []LookAlike{{"policy-drop", "a capture or a log locates the loss"}, {"app-not-listening", "a capture inside the pod shows the refusal"}},
	Limits:      []Limit{{"any", 0.69}},
	Sentence:    "The inputs do not tell why probes of %s failed.",
	Recommend:   []string{"collect-next-time", "capture-l2"},
	Collect:     []string{MissNodeCapture, MissPodCapture, MissListeners, MissPodRules, MissL2Tables, MissAppLog},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/64464"},
})
