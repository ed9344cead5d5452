package rules

var _ = register(Rule{
	ID: "app-connection-closed", Family: FamilyApp, Tier: 2, Rank: 107,
	Title:       "connection closed before an answer",
	Definition:  "The connection was accepted and then closed or reset without a response, or reset right after the SYN-ACK.",
	Needs:       []string{"\"connection reset by peer\" or \"EOF\", or a FIN or RST from the pod after its SYN-ACK and before any payload."},
	Supports:    []string{"A connection limit or a proxy with a dead backend in the container.", "The process was ending."},
	Contradicts: []string{"A mesh with strict mTLS intercepts the port."},
	LookAlikes:  []LookAlike{{"mesh-mtls-strict", "a mesh proxy is present and demands TLS"}, {"app-protocol-mismatch", "TLS bytes are exchanged before"}, {"app-crash-loop", "the process ends at that moment"}},
	Limits:      []Limit{{"kubelet log alone", 0.60}, {"capture", 0.85}},
	Sentence:    "%s accepts the connection and closes it without an answer.",
	Recommend:   []string{"find-closer"},
	Precedents:  []string{"https://github.com/istio/istio/issues/15881"},
	Eval:        evalConnectionClosed,
})
