package rules

var _ = register(Rule{
	ID: "host-network-target", Family: FamilyIdentity, Tier: 2, Rank: 66,
	Title:       "host network: a node-level fact decides",
	Definition:  "The pod uses the host network, so the probe goes to the node IP: listeners of other processes, host firewalls, port conflicts and node address changes decide.",
	Needs:       []string{"hostNetwork is set, and a node-level fact explains the failures: another pod or process has the port, or the node's IP changed."},
	Supports:    []string{"The container log says that the address is already in use.", "Two host-network pods of the node declare the same port.", "The pod IP is not among the node's addresses."},
	Contradicts: []string{"The pod does not use the host network."},
	LookAlikes:  []LookAlike{{"app-crash-loop", "the container ends for another reason than the port"}, {"app-not-listening", "nobody has the port"}},
	Limits:      []Limit{{"objects alone", 0.70}, {"objects and container log", 0.85}, {"node capture", 0.80}},
	Sentence:    "%s uses the host network and the port it needs is taken on the node.",
	Recommend:   []string{"host-network-rules", "loopback-probe-host"},
	Precedents:  []string{"https://github.com/openshift/origin/pull/6939"},
	Explains:    []string{"app-crash-loop", "app-not-listening", "app-http-error"},
	Eval:        evalHostNetworkTarget,
})
