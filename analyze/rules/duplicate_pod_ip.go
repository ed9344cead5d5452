package rules

var _ = register(Rule{
	ID: "duplicate-pod-ip", Family: FamilyIdentity, Tier: 1, Rank: 60,
	Title:      "two network stacks own the pod's IP",
	Definition: "Two live network stacks own the pod's IP at the same time: two pods, a leaked network namespace, or the node itself. Who answers a probe depends on where the bridge forwards the frame.",
	Needs: []string{"One of: two running pods with the IP; two MACs answer one ARP request; IPAM lists two sandboxes for the IP; the refusal leaves through an interface that is not the pod's; the IP is local to the node; " +
		"refused connections on the node that never appear inside the pod; refusals that stop right after a frame from the pod without any container event."},
	Supports: []string{"Failures begin or end with a frame sent from the pod's address, without a restart.", "Success and refusal alternate in one container run.", "The address management was restarted before."},
	Contradicts: []string{"Every RST was also seen inside the right pod: the pod itself refused.",
		"The probed port never answered: a second owner explains alternation, not a constant refusal."},
	LookAlikes: []LookAlike{
		{"bridge-fdb-flip", "the SYNs stay unanswered: a wrong port that does not own the IP drops them silently and cannot refuse"},
		{"app-not-listening", "SYN and RST are visible inside the pod; on the bridge the two look alike"},
		{"policy-reject", "an ICMP error answers, or a rule in a dump does"},
	},
	Limits:    []Limit{{"objects and events alone", 0.90}, {"node capture with two MACs answering", 0.80}, {"healed by a frame from the pod alone", 0.65}, {"node and pod capture", 0.95}},
	Sentence:  "A second network stack owned the IP of %s and answered in its place.",
	Recommend: []string{"remove-duplicate", "capture-l2", "ping-heals"},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/64464", "https://github.com/kubernetes/kubernetes/issues/43910", "https://github.com/aws/amazon-vpc-cni-k8s/issues/711",
		"https://github.com/cozystack/cozystack/issues/3615", "https://github.com/cilium/cilium/issues/38313"},
	Thresholds: []Threshold{{"overlap", 5, "s", "shortest overlap of two owners' intervals that counts"}},
	Explains:   []string{"bridge-fdb-flip", "arp-conflict"},
	Eval:       evalDuplicatePodIP,
})
