package rules

var _ = register(Rule{
	ID: "app-redirect", Family: FamilyApp, Tier: 2, Rank: 106,
	Title:       "redirects decide the probe",
	Definition:  "A redirect decides the result: a loop on the same host, or a redirect to another host that counts as success.",
	Needs:       []string{"\"stopped after 10 redirects\", or a probe warning about a redirect."},
	Supports:    []string{"Several connections in one attempt, with Location headers."},
	Contradicts: []string{"The final status was logged: then that is the cause."},
	LookAlikes:  []LookAlike{{"app-http-error", "the final response has a bad status"}},
	Limits:      []Limit{{"kubelet log alone", 0.85}, {"events alone", 0.85}},
	Sentence:    "The probe path of %s only redirects.",
	Recommend:   []string{"probe-final-path"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/pull/75416", "https://github.com/kubernetes/kubernetes/issues/103877"},
	Eval:        evalAppRedirect,
})
