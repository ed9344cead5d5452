package rules

var _ = register(Rule{
	ID: "mtu-blackhole", Family: FamilyPath, Tier: 2, Rank: 84,
	Title:       "full-size packets vanish",
	Definition:  "Small segments pass, full-size ones vanish: the path MTU is smaller than an endpoint believes and no ICMP tells it.",
	Needs:       []string{"A completed handshake and then a full-size segment that is repeated without an acknowledgement, or an ICMP fragmentation-needed error."},
	Supports:    []string{"HTTP and gRPC probes fail while TCP probes of the same pod pass.", "The error names the body or the headers."},
	Contradicts: []string{"Small responses are repeated as well."},
	LookAlikes:  []LookAlike{{"app-hang", "the server sends nothing, instead of repeating a large segment"}, {"packet-loss-latency", "small segments are lost too"}},
	Limits:      []Limit{{"capture", 0.85}, {"logs alone", 0.25}},
	Sentence:    "Full-size packets from %s vanish on the path.",
	Recommend:   []string{"align-mtu"},
	Precedents:  []string{"https://github.com/open-cluster-management-io/ocm/issues/1314"},
	Thresholds:  []Threshold{{"full-segment", 1200, "bytes", "smallest payload that counts as full-size where the MSS is unknown"}},
	Eval:        evalMTUBlackhole,
})
