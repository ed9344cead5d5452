package rules

var _ = register(Rule{
	ID: "sandbox-recreated-ip-changed", Family: FamilyIdentity, Tier: 1, Rank: 50,
	Title:      "pod sandbox re-created, IP changed",
	Definition: "The pod kept its UID but got a new sandbox and with it a new IP. The failures lie around the tear-down and the new start, or name two IPs for one pod.",
	Needs:      []string{"One pod UID with two sandboxes in a row whose IPs differ, or a re-created sandbox and failed attempts that name two IPs of one family."},
	Supports: []string{"Event SandboxChanged.", "The kubelet says why it needs a new sandbox: no ready sandbox, no IP address, several sandboxes.",
		"The runtime counts a sandbox attempt of 1 or more.", "All containers of the pod restarted at one instant.", "A runtime restart just before."},
	Contradicts: []string{"The pod UIDs differ: that is a new pod.", "Only one of several containers restarted.", "The two IPs are the two families of one pod.", "The pod uses the host network."},
	LookAlikes: []LookAlike{
		{"stale-status-ip", "the failing probe aims at the OLD IP after the new sandbox was ready"},
		{"dual-stack-primary-flip", "the two IPs differ in family and there is no new sandbox"},
		{"ip-reused", "the old IP answers for another pod by now"},
		{"app-crash-loop", "container ids change while sandbox and IP stay"},
	},
	Limits:     []Limit{{"kubelet log alone", 0.75}, {"objects and events alone", 0.70}, {"captures alone", 0.60}, {"kubelet log with runtime log or audit", 0.95}},
	Sentence:   "The sandbox of %s was re-created and its IP changed; probes failed around the change.",
	Recommend:  []string{"align-timelines", "two-ips-normal", "raise-failure-threshold", "unset-probe-host", "no-pod-ip"},
	Precedents: []string{"https://github.com/containerd/containerd/issues/7843", "https://github.com/kubernetes/kubernetes/issues/123778", "https://github.com/canonical/microk8s/issues/3710"},
	Thresholds: []Threshold{{"window", 120, "s", "how long before or after a new sandbox a failure may lie to belong to it"}},
	Explains:   []string{"stale-status-ip", "app-slow-start", "app-not-listening", "arp-unanswered", "probe-timeout-too-tight", "app-crash-loop"},
	Eval:       evalSandboxRecreated,
})
