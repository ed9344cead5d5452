package rules

var _ = register(Rule{
	ID: "ephemeral-port-exhaustion", Family: FamilyPath, Tier: 2, Rank: 86,
	Title:       "the kubelet ran out of local ports",
	Definition:  "The kubelet could not get a local port for the connection.",
	Needs:       []string{"\"cannot assign requested address\" on connect."},
	Supports:    []string{"A kubelet before 1.27, whose probe sockets stay in TIME_WAIT for a minute.", "Many probes with a short period."},
	Contradicts: []string{"The text is absent."},
	LookAlikes:  []LookAlike{{"pod-ip-empty", "the error text names no IP"}},
	Limits:      []Limit{{"kubelet log alone", 0.90}},
	Sentence:    "The kubelet had no local port left to probe %s.",
	Recommend:   []string{"ephemeral-ports"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/pull/115143", "https://github.com/kubernetes/kubernetes/pull/115321"},
	Eval:        evalEphemeralPorts,
})
