package rules

var _ = register(Rule{
	ID: "conntrack-invalid-asymmetric", Family: FamilyPath, Tier: 2, Rank: 83,
	Title:       "the reply was dropped on its way back",
	Definition:  "The pod answered, but the SYN-ACK was not delivered to the kubelet: connection tracking saw it as invalid or was bypassed, or the reply took another path.",
	Needs:       []string{"SYN and SYN-ACK at the pod or on the node, repeated SYN-ACKs, and no ACK from the node."},
	Supports:    []string{"The node repeats its SYN although it was answered at once.", "The probe's source is a dummy or service address.", "The kernel logs martian sources.", "Rules drop packets in state INVALID or switch tracking off."},
	Contradicts: []string{"The node acknowledges the SYN-ACK.", "The SYN-ACK comes late: then the node answers it, with ACK or RST."},
	LookAlikes:  []LookAlike{{"packet-loss-latency", "some handshakes complete, or the SYN-ACK comes late"}, {"policy-drop", "no SYN-ACK leaves the pod"}},
	Limits:      []Limit{{"node and pod capture", 0.90}, {"one capture", 0.85}, {"logs alone", 0.30}},
	Sentence:    "The answers of %s reached the node but were dropped before the kubelet saw them.",
	Recommend:   []string{"reply-path"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/89898"},
	Thresholds:  []Threshold{{"min-half-open", 2, "count", "connections with SYN-ACK and without ACK needed"}},
	Explains:    []string{"probe-timeout-too-tight"},
	Eval:        evalConntrackInvalid,
})
