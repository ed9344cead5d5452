package rules

var _ = register(Rule{
	ID: "stale-status-ip", Family: FamilyIdentity, Tier: 1, Rank: 63,
	Title:       "probe used the pod's previous IP",
	Definition:  "The kubelet's status cache still held the pod's previous IP when a probe worker ticked, so the probe went to an address the pod no longer owned.",
	Needs:       []string{"A failed attempt whose target IP differs from the IP of the sandbox that was ready at that moment, while the container ran."},
	Supports:    []string{"The attempt lies between the new sandbox and the next status patch.", "PLEG was slow or unhealthy."},
	Contradicts: []string{"The target stays the old IP for periods on end with a healthy PLEG: then the probe's host is fixed, or the CNI plugin changed the IP behind the runtime's back."},
	LookAlikes: []LookAlike{
		{"sandbox-recreated-ip-changed", "that is the cause, this its mechanism"},
		{"probe-target-misconfigured", "the old target never changes: host is set in the probe"},
	},
	Limits:     []Limit{{"kubelet log alone", 0.55}, {"kubelet log at verbosity 4", 0.85}, {"kubelet log with audit", 0.85}, {"kubelet and runtime log with a node capture", 0.90}},
	Sentence:   "Probes of %s went to an IP the pod no longer had.",
	Recommend:  []string{"shorten-stale", "two-ips-normal", "unset-probe-host"},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/39113"},
	Thresholds: []Threshold{{"healthy-window", 3, "s", "how long a healthy kubelet may use the old IP after a new sandbox"}},
	Eval:       evalStaleStatusIP,
})
