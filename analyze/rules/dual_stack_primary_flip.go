package rules

var _ = register(Rule{
	ID: "dual-stack-primary-flip", Family: FamilyIdentity, Tier: 2, Rank: 65,
	Title:       "pod IP changed address family",
	Definition:  "The pod's primary IP changed its address family, or the probe aims at the family in which the application does not listen.",
	Needs:       []string{"Targets of one pod in two families without a new sandbox between them, or failures in one family while the other answers."},
	Supports:    []string{"The kubelet was restarted just before (its node IP decides the order).", "Event HostIPsIPFamilyMismatch.", "The other family's address accepts connections at the same time."},
	Contradicts: []string{"The sandbox changed.", "The order of the addresses never changed."},
	LookAlikes: []LookAlike{
		{"sandbox-recreated-ip-changed", "a new sandbox lies between the two addresses"},
		{"app-not-listening", "the other family refuses as well"},
	},
	Limits:     []Limit{{"kubelet log with objects", 0.85}, {"captures alone", 0.70}},
	Sentence:   "Probes of %s moved to the other address family, in which nothing listens.",
	Recommend:  []string{"node-ip-order", "listen-everywhere"},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/95251", "https://github.com/kubernetes/kubernetes/pull/97979", "https://github.com/kubernetes/kubernetes/issues/103263"},
	Thresholds: []Threshold{{"restart-window", 60, "s", "how long before the first failure a kubelet restart may lie to count"}},
	Explains:   []string{"app-not-listening", "kubelet-restart"},
	Eval:       evalDualStackFlip,
})
