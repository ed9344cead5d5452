package rules

var _ = register(Rule{
	ID: "exec-probe-failed", Family: FamilyApp, Tier: 1, Rank: 108,
	Title:       "exec probe command failed",
	Definition:  "The command of an exec probe failed, did not finish in time, or could not be run.",
	Needs:       []string{"The probe is an exec probe, and the output is that of a command, of a timeout, or of the runtime."},
	Supports:    []string{"The kubelet's or the runtime's exec error at the same moment."},
	Contradicts: []string{"Exec probes of many pods fail together: the runtime or the node is the cause."},
	LookAlikes:  []LookAlike{{"runtime-down", "all exec probes of the node fail at once while network probes pass"}, {"cpu-starvation", "exec timeouts in several pods, with throttling or pressure"}},
	Limits:      []Limit{{"kubelet log or events", 0.90}},
	Sentence:    "The exec probe command of %s failed.",
	Recommend:   []string{"cheap-exec"},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/82987", "https://github.com/kubernetes/kubernetes/issues/94080", "https://github.com/kubernetes/kubernetes/issues/124226",
		"https://github.com/kubernetes/kubernetes/issues/140349"},
	Thresholds: []Threshold{{"many-pods", 3, "count", "pods whose exec probes fail together before the node is suspected"}},
	Eval:       evalExecProbe,
})
