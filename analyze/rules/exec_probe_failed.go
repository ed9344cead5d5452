package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "exec-probe-failed", Family: FamilyApp, Tier: 1, Rank: 108,
	Title:      "exec probe command failed",
	Definition: "The command of an exec probe failed, did not finish in time, or could not be run.",
	Notes: []string{
		"No packets are sent. Exit codes count as failures; where the runtime could not run the command, the attempt is errored and discarded.",
		"Up to kubelet 1.19 timeoutSeconds was not enforced for exec probes; from 1.20 on a timeout is a failure. Not every runtime kills the command that timed out, so processes may pile up.",
	},
	Needs:       []string{"The probe is an exec probe, and the output is that of a command, of a timeout, or of the runtime."},
	Supports:    []string{"The kubelet's or the runtime's exec error at the same moment."},
	Contradicts: []string{"Exec probes of many pods fail together: the runtime or the node is the cause."},
	LookAlikes:  []LookAlike{{"runtime-down", "all exec probes of the node fail at once while network probes pass"}, {"cpu-starvation", "exec timeouts in several pods, with throttling or pressure"}},
	Limits:      []Limit{{"kubelet log or events", 0.90}},
	Sentence:    "The exec probe command of %s failed.",
	Recommend:   []string{"cheap-exec", "exec-binary"},
	Collect:     []string{MissAppLog, MissCPU, MissRuntimeLog, MissKubeletLog},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/82987", "https://github.com/kubernetes/kubernetes/issues/94080", "https://github.com/kubernetes/kubernetes/issues/124226",
		"https://github.com/kubernetes/kubernetes/issues/140349"},
	Thresholds: []Threshold{{"many-pods", 3, "count", "pods whose exec probes fail together before the node is suspected"}},
	Explains:   []string{"app-slow-start"},
	Eval:       evalExecProbe,
})

func evalExecProbe(c *Case) (v Verdict) {
	exit, timeout, runtime := c.OfClass(probe.ClassExecExit), c.OfClass(probe.ClassExecTimeout), c.OfClass(probe.ClassRuntime)
	exit = append(exit, c.ownWords()...)
	all := slices.Concat(exit, timeout, runtime)
	if len(all) == 0 || c.Share(all) < 0.5 {
		return v
	}
	what := "The command of the exec probe ended with an error."
	v.SubReason = "exit-code"
	switch {
	case len(timeout) >= len(exit) && len(timeout) >= len(runtime):
		v.SubReason, what = "timeout", "The command of the exec probe did not finish in time."
		all = timeout
	case len(runtime) > len(exit):
		v.SubReason, what = "runtime", "The runtime could not run the command."
		all = runtime
		for _, a := range runtime {
			if strings.Contains(a.Output, "executable file not found") || strings.Contains(a.Output, "no such file or directory") && strings.Contains(a.Output, "exec") && !strings.Contains(a.Output, ".sock") {
				v.SubReason, what = "binary-missing", "The command of the exec probe does not exist in the container."
			}
		}
	}
	v.Satisfied = v.Need(GroupKubelet, WeightLiteral, factOf(what, all))
	for _, m := range c.Members {
		if m.Worker.Spec != nil && m.Worker.Handler == "exec" {
			v.Sup(GroupSpec, WeightStateLoose, Fact{Claim: "The probe is an exec probe: " + oneLine(strings.Join(m.Worker.Spec.Command, " ")) + ".", Refs: cite(m.Worker.Pod.Snapshot), N: 1})
			break
		}
	}
	v.Sup(GroupRuntime, WeightStateLoose, c.steps(event.ContainerExecFailed, "The runtime reports the failed exec.", c.First.Add(-time.Second), c.Last.Add(time.Second)))
	if many := c.otherPodsExec(); float64(many.N) >= c.Thresholds("exec-probe-failed", "many-pods") {
		v.Con(GroupTiming, WeightSoft, many)
	}
	v.Limit(0.90, "the log tells how the command failed, not why")
	v.Ask(MissAppLog, MissCPU)
	return v
}

// ownWords returns failures of probes whose handler no input tells, with an
// output that no network prober prints: only a command has words of its own.
func (c *Case) ownWords() []*probe.Attempt {
	var out []*probe.Attempt
	for _, a := range c.OfClass(probe.ClassOther) {
		if a.Worker.Handler == "" && a.Worker.Spec == nil && a.Outcome == event.OutcomeFailed && !a.Addr.IsValid() && a.Target.Host == "" {
			out = append(out, a)
		}
	}
	return out
}

// otherPodsExec counts other pods of the node whose exec probes fail at the same
// time with the runtime's words.
func (c *Case) otherPodsExec() Fact {
	f := Fact{}
	for _, i := range c.Incidents {
		if i == c.Incident || i.Node != c.Node || i.First > c.Last || i.Last < c.First {
			continue
		}
		o := Case{Incident: i}
		if as := o.OfClass(probe.ClassRuntime, probe.ClassExecTimeout); len(as) > 0 {
			f.add("Exec probes of other pods of the node fail at the same time.", as[0].End, as[0].Refs[0])
		}
	}
	return f
}
