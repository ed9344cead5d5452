package rules

var _ = register(Rule{
	ID: "pod-ip-empty", Family: FamilyIdentity, Tier: 1, Rank: 64,
	Title:       "pod IP empty, the kubelet dialled itself",
	Definition:  "status.podIP was empty, so the probe's host became empty and the kubelet dialled the port on the node itself.",
	Needs:       []string{"An error text with a port but no host, or a logged probe target with an empty host."},
	Supports:    []string{"The kubelet says that the sandbox has no network information.", "podIPs is empty while containers run.", "The runtime was restarted, or its network was not ready."},
	Contradicts: []string{"The probe sets host itself."},
	LookAlikes:  []LookAlike{{"app-not-listening", "refused as well, but the error text names an IP"}},
	Limits:      []Limit{{"kubelet log alone", 0.95}},
	Sentence:    "Probes of %s had no pod IP and went to the node itself.",
	Recommend:   []string{"fix-runtime-ip", "downward-api"},
	Precedents:  []string{"https://github.com/containerd/containerd/issues/7843", "https://github.com/kubernetes/kubernetes/issues/69723"},
	Explains:    []string{"app-not-listening", "probe-target-misconfigured"},
	Eval:        evalPodIPEmpty,
})
