package rules

var _ = register(Rule{
	ID: "probe-target-misconfigured", Family: FamilyConfig, Tier: 1, Rank: 98,
	Title:      "probe aims at the wrong place",
	Definition: "Host, port, port name or path of the probe point somewhere else than to the application.",
	Needs: []string{"A fact of the spec: host is set, the port is not among the ports that the pod's containers declare, a named port is missing, the path is 404 from the first attempt of every run, " +
		"or the probe's IP is constantly not the pod's."},
	Supports:    []string{"The probed port never answered, while a declared port of the pod does.", "Refused from the first attempt on."},
	Contradicts: []string{"The same probe succeeded earlier in the same run."},
	LookAlikes:  []LookAlike{{"app-not-listening", "the port is the declared one"}, {"app-http-error", "the path exists and its status changes"}, {"app-slow-start", "the port opens later"}},
	Limits:      []Limit{{"objects alone", 0.85}, {"kubelet log and objects", 0.92}},
	Sentence:    "The probe of %s is aimed at the wrong place.",
	Recommend:   []string{"fix-probe-target", "unset-probe-host"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/86504", "https://github.com/istio/istio/issues/32687", "https://github.com/kubernetes/website/pull/13815"},
	Explains:    []string{"app-not-listening", "app-slow-start", "probe-startup-budget-too-short"},
	Eval:        evalTargetMisconfigured,
})
