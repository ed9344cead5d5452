package rules

var _ = register(Rule{
	ID: "app-http-error", Family: FamilyApp, Tier: 1, Rank: 104,
	Title:       "HTTP status says unhealthy",
	Definition:  "The probe got a whole HTTP response whose status is below 200 or at least 400.",
	Needs:       []string{"\"HTTP probe failed with statuscode\", or such a response in a capture."},
	Supports:    []string{"The response is in the capture: handshake, request, status.", "The container log has the request of the probe.", "404 or 405 from the first attempt: the path is wrong."},
	Contradicts: []string{"The response came from a proxy in front of the application, or from another pod."},
	LookAlikes: []LookAlike{
		{"mesh-sidecar-not-ready", "the proxy answered, not the application"},
		{"probe-target-misconfigured", "404 from the first attempt of every run: the path is wrong"},
		{"app-redirect", "the text tells of redirects"},
	},
	Limits:     []Limit{{"kubelet log alone", 0.90}, {"with the response in a capture", 0.95}},
	Sentence:   "%s answered its probe with an HTTP error status.",
	Recommend:  []string{"fix-status-by-class", "no-dependencies"},
	Precedents: []string{"https://github.com/SREGym/SREGym/issues/50"},
	Eval:       evalAppHTTPError,
})
