package rules

var _ = register(Rule{
	ID: "packet-loss-latency", Family: FamilyPath, Tier: 2, Rank: 85,
	Title:       "loss or delay on the path",
	Definition:  "Packets between node and pod are lost now and then, or delayed, and push attempts over timeoutSeconds.",
	Needs:       []string{"Handshakes that complete late or only after a repeated SYN, mixed with good ones or with lost ones."},
	Supports:    []string{"Round-trip times near the timeout.", "Lost SYNs next to connections that work, in the same minute.", "Repeated data segments."},
	Contradicts: []string{"The failures are deterministic: every SYN is silent, or none is.", "The handshake is quick and only the response is late."},
	LookAlikes:  []LookAlike{{"app-hang", "the handshake is immediate, the response is missing"}, {"policy-drop", "no SYN is answered at all"}, {"accept-queue-overflow", "the silence begins after connections nobody served"}},
	Limits:      []Limit{{"node capture", 0.75}, {"node and pod capture", 0.90}, {"logs alone", 0.35}},
	Sentence:    "Packets between the node and %s are lost or late.",
	Recommend:   []string{"raise-timeout", "find-loss"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/89898"},
	Thresholds:  []Threshold{{"late-handshake", 300, "ms", "a SYN-ACK later than this is late for a node-local path"}},
	Explains:    []string{"probe-timeout-too-tight"},
	Eval:        evalPacketLoss,
})
