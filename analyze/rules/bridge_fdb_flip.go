package rules

var _ = register(Rule{
	ID: "bridge-fdb-flip", Family: FamilyL2, Tier: 1, Rank: 70,
	Title:      "bridge forwarded to the wrong port",
	Definition: "The bridge forwarded the probe's frames to the wrong port because its MAC table had moved: a duplicate MAC, a changed bridge MAC, a learning race.",
	Needs:      []string{"Frames to the pod's MAC on the node that do not appear at the pod while it is up, a forwarding table that names another port, or a change of the bridge's own MAC."},
	Supports: []string{"The first SYN after a frame from the pod succeeds, without a container event.", "Broadcasts (ARP) still reach the pod.", "The kernel received packets with its own address as source.",
		"A new pod appeared just before."},
	Contradicts: []string{"The SYN was seen inside the pod.", "A unicast ARP request to the same MAC was answered during the silence: the bridge forwards it rightly."},
	LookAlikes: []LookAlike{
		{"duplicate-pod-ip", "SYNs are refused instead of lost: a stack that owns the IP answers"},
		{"policy-drop", "it heals with a rule, not with a frame from the pod"},
		{"app-hang", "the handshake completes"},
	},
	Limits:     []Limit{{"node capture alone", 0.65}, {"node capture, healed by the pod's frames at least twice", 0.75}, {"node and pod capture", 0.95}, {"log and objects alone", 0.35}},
	Sentence:   "The node's bridge forwarded the probes of %s to the wrong port.",
	Recommend:  []string{"fix-bridge-mac", "capture-l2", "ping-heals"},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/64464", "https://github.com/kubernetes/kubernetes/issues/63922", "https://github.com/kubernetes/kubernetes/issues/30783"},
	Explains:   []string{"arp-conflict"},
	Eval:       evalBridgeFDBFlip,
})
