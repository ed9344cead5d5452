package rules

var _ = register(Rule{
	ID: "app-protocol-mismatch", Family: FamilyApp, Tier: 1, Rank: 105,
	Title:       "probe and port speak different protocols",
	Definition:  "Scheme, TLS or ALPN of the probe do not match what the port speaks.",
	Needs:       []string{"An error text of mismatched protocols: an HTTP response to an HTTPS client, a malformed response that is a TLS alert or an HTTP/2 frame, a TLS alert; or bytes in a capture that show it."},
	Supports:    []string{"A TLS hello answered in plain text, or the reverse.", "The server demands a client certificate."},
	Contradicts: []string{"The same probe succeeded in the same run."},
	LookAlikes:  []LookAlike{{"app-http-error", "a well-formed response with status 400"}, {"mesh-mtls-strict", "a mesh proxy resets plain requests"}},
	Limits:      []Limit{{"kubelet log alone", 0.90}},
	Sentence:    "The probe of %s speaks another protocol than its port.",
	Recommend:   []string{"https-scheme"},
	Precedents:  []string{"https://github.com/world-federation-of-advertisers/cross-media-measurement/issues/165"},
	Explains:    []string{"app-connection-closed"},
	Eval:        evalProtocolMismatch,
})
