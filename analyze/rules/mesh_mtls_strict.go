package rules

var _ = register(Rule{
	ID: "mesh-mtls-strict", Family: FamilyMesh, Tier: 1, Rank: 92,
	Title:       "plain probe refused by strict mTLS",
	Definition:  "The kubelet's plain-text request is cut by a mesh proxy that demands mutual TLS.",
	Needs:       []string{"A mesh marker, an HTTP probe that was not rewritten, reset or closed right after its request, and a policy that demands mTLS (or the proxy's own message)."},
	Supports:    []string{"A TCP probe of the same port succeeds.", "The capture shows the request and then a reset within milliseconds."},
	Contradicts: []string{"The probe was rewritten to the proxy's agent.", "The pod uses ambient mode."},
	LookAlikes:  []LookAlike{{"app-connection-closed", "no mesh intercepts the port"}, {"app-protocol-mismatch", "the application itself speaks TLS"}},
	Limits:      []Limit{{"objects and kubelet log", 0.80}, {"with a capture or the proxy's log", 0.92}},
	Sentence:    "The mesh demands mutual TLS and refused the plain probe of %s.",
	Recommend:   []string{"mesh-rewrite"},
	Precedents:  []string{"https://github.com/istio/istio/issues/53786", "https://github.com/istio/istio/issues/41010"},
	Explains:    []string{"app-connection-closed"},
	Eval:        evalMeshMTLS,
})
