package rules

import (
	"fmt"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "probe-target-misconfigured", Family: FamilyConfig, Tier: 1, Rank: 98,
	Title:      "probe aims at the wrong place",
	Definition: "Host, port, port name or path of the probe point somewhere else than to the application.",
	Notes: []string{
		"With host set the pod's IP is not used at all; localhost or 0.0.0.0 then means the node. A Host header belongs into httpHeaders.",
		"A port name that does not exist is errored, not failed: the container is neither ready nor restarted.",
	},
	Needs: []string{"A fact of the spec: host is set, the port is not among the ports that the pod's containers declare, a named port is missing, the path is 404 from the first attempt of every run, " +
		"or the probe's IP is constantly not the pod's."},
	Supports:    []string{"The probed port never answered, while a declared port of the pod does.", "Refused from the first attempt on."},
	Contradicts: []string{"The same probe succeeded earlier in the same run."},
	LookAlikes:  []LookAlike{{"app-not-listening", "the port is the declared one"}, {"app-http-error", "the path exists and its status changes"}, {"app-slow-start", "the port opens later"}},
	Limits:      []Limit{{"objects alone", 0.85}, {"kubelet log and objects", 0.92}},
	Sentence:    "The probe of %s is aimed at the wrong place.",
	Recommend:   []string{"fix-probe-target", "unset-probe-host"},
	Collect:     []string{MissListeners, MissAppLog, MissPodObjects},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/86504", "https://github.com/istio/istio/issues/32687", "https://github.com/kubernetes/website/pull/13815"},
	Explains:    []string{"app-not-listening", "app-slow-start", "probe-startup-budget-too-short"},
	Eval:        evalTargetMisconfigured,
})

func evalTargetMisconfigured(c *Case) (v Verdict) {
	if as := c.OfClass(probe.ClassPortName); len(as) > 0 {
		v.Satisfied = v.Need(GroupKubelet, WeightLiteral, factOf("The probe names a port that the container does not declare.", as))
		v.SubReason = "port-name"
		v.Limit(0.92, "the kubelet says so")
		return v
	}
	refused := c.OfClass(probe.ClassRefused)
	constant := len(refused) > 0 && c.Share(refused) >= 0.9 && c.NeverAnswered()
	var other Fact
	if constant {
		other = c.OtherPortAnswers()
	}
	for _, m := range c.Members {
		w := m.Worker
		if w.Spec == nil || len(m.Failed) == 0 {
			continue
		}
		if h := w.Spec.Host; h != "" && !w.Pod.HostNetwork {
			v.Satisfied = v.Need(GroupSpec, 0.75, Fact{Claim: "The spec sets host " + h + ": the probe does not go to the pod's IP.", Refs: cite(w.Pod.Snapshot), N: 1})
			v.Sup(GroupKubelet, WeightStateLoose, factOf("The probe fails.", m.Failed))
			v.SubReason = "host"
			v.Limit(0.85, "the spec")
			return v
		}
		if !constant {
			continue
		}
		yes, known := declared(w.Pod, w.Port)
		undeclared := known && !yes
		if !undeclared && !other.OK() && !c.otherProbePasses(w).OK() {
			continue
		}
		v.SubReason = "port"
		if undeclared {
			v.Satisfied = v.Need(GroupSpec, 0.60, Fact{Claim: fmt.Sprintf("The probe goes to port %d, which no container of the pod declares.", w.Port), Refs: cite(w.Pod.Snapshot), N: 1})
		}
		v.Sup(GroupKubelet, WeightState, factOf("The probed port was refused every time and never answered.", refused))
		if other.OK() {
			v.Satisfied = v.Need(GroupNodePcap, 0.60, other)
		}
		if f := c.otherProbePasses(w); f.OK() {
			v.Satisfied = v.Need(GroupStatus, WeightState, f)
		}
		if in := c.InsidePod(c.Refused()); len(in) > 0 {
			v.Sup(GroupPodPcap, WeightStateLoose, flowFact("The pod itself refused.", in))
		}
		v.Limit(0.92, "spec and kubelet log")
		if !undeclared {
			v.Limit(0.80, "the spec declares the port; only its constant refusal speaks")
		}
		v.Ask(MissListeners, MissAppLog)
		return v
	}
	return c.neverFound()
}

// neverFound judges a path that answered 404 from the first attempt of every run.
func (c *Case) neverFound() (v Verdict) {
	as := c.OfClass(probe.ClassStatus)
	var missing []*probe.Attempt
	for _, a := range as {
		if a.Status == 404 {
			missing = append(missing, a)
		}
	}
	if len(missing) == 0 || len(missing)*10 < len(as)*9 || !c.NeverAnswered() {
		return v
	}
	v.Satisfied = true
	v.SubReason = "path"
	v.Need(GroupKubelet, 0.55, factOf("The probed path was answered 404 every time and never otherwise.", missing))
	v.Limit(0.60, "the path may also be missing because the application is broken")
	v.Ask(MissAppLog)
	return v
}

// otherProbePasses cites another probe of the same container, on another port,
// that passes at the same time.
func (c *Case) otherProbePasses(w *probe.Worker) Fact {
	f := Fact{}
	for _, o := range c.Probes.OfPod(w.Pod) {
		if o.Container != w.Container || o.Port == w.Port || o.Handler == "exec" {
			continue
		}
		for _, a := range o.Attempts {
			if a.Outcome == event.OutcomeSucceeded && a.End >= c.First.Add(-30*time.Second) && a.End <= c.Last.Add(30*time.Second) && len(a.Refs) > 0 {
				f.add(fmt.Sprintf("The %s probe of the same container passes on port %d.", o.Type, o.Port), a.End, a.Refs[0])
			}
		}
		for _, r := range w.Pod.Ready {
			if r.Probe == o.Type && r.Status == "ready" && r.At >= c.First.Add(-time.Minute) && r.At <= c.Last {
				f.add(fmt.Sprintf("The %s probe of the same container passes on port %d.", o.Type, o.Port), r.At, r.Ref)
			}
		}
	}
	return f
}
