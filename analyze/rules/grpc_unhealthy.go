package rules

var _ = register(Rule{
	ID: "grpc-unhealthy", Family: FamilyApp, Tier: 1, Rank: 109,
	Title:       "gRPC health check failed",
	Definition:  "The gRPC health check said not serving, is not implemented, does not know the service, or did not complete.",
	Needs:       []string{"An error text of the gRPC prober."},
	Supports:    []string{"The health status is readable in a capture."},
	Contradicts: []string{"The text only says that no connection was made: a refused gRPC probe prints the same as a dropped one, packets decide."},
	LookAlikes:  []LookAlike{{"app-not-listening", "the capture shows the connection refused"}, {"policy-drop", "the capture shows SYNs without an answer"}, {"app-protocol-mismatch", "the server closes after the HTTP/2 preface"}},
	Limits:      []Limit{{"kubelet log alone", 0.90}, {"connection error alone", 0.40}},
	Sentence:    "The gRPC health check of %s failed.",
	Recommend:   []string{"grpc-health"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/108615"},
	Eval:        evalGRPC,
})
