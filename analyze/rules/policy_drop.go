package rules

var _ = register(Rule{
	ID: "policy-drop", Family: FamilyPath, Tier: 1, Rank: 81,
	Title:      "a rule silently dropped the probes",
	Definition: "A network policy, host firewall, security group or eBPF program dropped the probe's packets without an answer.",
	Needs: []string{"From one moment on every SYN stays unanswered in a gap-free capture while ARP is answered (or no SYN of a logged attempt reaches the wire at all), and one of: " +
		"the SYN does not reach the pod; a policy or drop log fits; the SYN reaches the pod and no accepted-but-unserved connections precede the silence; unicast ARP to the same MAC is answered in the silence."},
	Supports:    []string{"A kernel or agent log line of a drop.", "A policy was created when the drop began.", "Another pod of the node fell silent at the same moment.", "The same address answered before and after, without a restart."},
	Contradicts: []string{"A SYN-ACK was seen in the silence.", "Some attempts succeed inside the failing period.", "The SYNs carry another MAC than the pod's.", "ARP for the pod is unanswered."},
	LookAlikes: []LookAlike{
		{"accept-queue-overflow", "handshakes that the application never served come before the silence"},
		{"bridge-fdb-flip", "a frame from the pod heals it, and there is no policy"},
		{"conntrack-exhausted", "all pods of the node fail at once and the kernel log says that the table is full"},
		{"stale-neighbour", "the SYNs carry the MAC of an earlier owner"},
	},
	Limits:    []Limit{{"log and objects", 0.60}, {"node capture alone", 0.60}, {"node and pod capture without a policy or log", 0.69}, {"a drop log", 0.90}, {"node and pod capture with a policy", 0.95}},
	Sentence:  "A rule on the path dropped the probes of %s silently.",
	Recommend: []string{"allow-node", "ip-keyed-state", "judge-by-place"},
	Precedents: []string{"https://github.com/antrea-io/antrea/issues/176", "https://github.com/aws/aws-network-policy-agent/issues/56", "https://github.com/aws/aws-network-policy-agent/issues/635",
		"https://github.com/cilium/cilium/issues/34042"},
	Thresholds: []Threshold{
		{"same-start", 3, "s", "two pods whose silence begins within this time share the moment"},
		{"min-silent", 3, "count", "unanswered connections needed"},
	},
	Explains: []string{"probe-timeout-too-tight"},
	Eval:     evalPolicyDrop,
})
