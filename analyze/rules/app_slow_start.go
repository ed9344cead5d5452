package rules

import (
	"fmt"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "app-slow-start", Family: FamilyApp, Tier: 1, Rank: 101,
	Title:      "application needs time to start",
	Definition: "The failures are confined to the time after a container start and end by themselves in the same run; or run after run is killed by a probe before the application ever listened.",
	Notes: []string{
		"Packets: RST for every SYN until the listener is up, SYN-ACK from then on.",
		"Without a startup probe the liveness probe counts from the start as well: a start slower than its budget ends in a restart loop.",
	},
	Needs:       []string{"The first failure lies after the container's start and a success follows in the same run; or at least two runs were killed by a probe without ever answering."},
	Supports:    []string{"No startup probe is declared.", "The time to the first success is alike in every run.", "The container log shows it still starting."},
	Contradicts: []string{"The application had been ready in that run before the failures.", "The container ended by itself."},
	LookAlikes: []LookAlike{
		{"app-crash-loop", "the container ends by itself, before any kill"},
		{"probe-startup-budget-too-short", "a probe killed it: then the budget is the cause and the slow start contributes"},
		{"app-not-listening", "the refusals never end"},
	},
	Limits:     []Limit{{"neither the kubelet's nor the runtime's log", 0.50}, {"an input that broke off or has a hole", 0.65}, {"kubelet log and objects", 0.80}, {"with the container log", 0.90}},
	Sentence:   "%s needed some time after its start before it answered.",
	Recommend:  []string{"startup-probe", "laxer-liveness"},
	Collect:    []string{MissAppLog, MissPodObjects},
	Precedents: []string{"https://github.com/apache/camel-k/issues/2173", "https://github.com/treeverse/charts/issues/143"},
	Thresholds: []Threshold{{"max-start", 600, "s", "longest time after a container start that still counts as its start"}},
	Explains:   []string{"app-not-listening"},
	Eval:       evalAppSlowStart,
})

func evalAppSlowStart(c *Case) (v Verdict) {
	limit := c.seconds("app-slow-start", "max-start")
	early, late := c.sinceStart(limit)
	if len(early) == 0 {
		return v
	}
	recovered := Fact{}
	for _, m := range c.Members {
		for _, a := range m.Failed {
			if r := m.Worker.Pod.RunAt(m.Worker.Container, a.End); r != nil {
				recovered = c.firstServed(recovered, m, r, a.End)
			}
		}
	}
	kills := c.probeKills()
	switch {
	case recovered.OK() && len(late) == 0:
		v.Need(GroupTiming, 0.65, factOf(fmt.Sprintf("All %d failures lie in the time after a container start and before its first success.", len(early)), early))
		v.Satisfied = v.Need(GroupKubelet, WeightStateLoose, recovered)
	case len(kills) > 0 && len(late) == 0 && c.NeverAnswered():
		v.Satisfied = v.Need(GroupKubelet, WeightState, Fact{Claim: "Runs were killed by a probe before they were ever ready.", At: kills[0].KilledAt, Refs: runRefs(kills), N: len(kills)})
		v.Need(GroupTiming, WeightStateLoose, factOf("All failures lie in the time after a container start.", early))
	default:
		return v
	}
	if refused := c.Refused(); len(refused) > 0 {
		v.Sup(GroupNodePcap, 0.2, flowFact("The port was closed until then.", refused))
	}
	v.Sup(GroupAppLog, WeightState, c.appLog("The container log tells of its start", "starting", "listening"))
	if f := c.OtherPortAnswers(); f.OK() && c.NeverAnswered() {
		v.Con(GroupNodePcap, WeightDirect, f)
	}
	if mute := c.Silent(); len(mute) > 0 {
		v.Con(GroupPodPcap, WeightDirect, flowFact("SYNs stayed unanswered: a port that is not open yet refuses.", mute))
	}
	if c.Share(c.TimedOut()) > 0.5 {
		v.Limit(0.50, "the probes timed out; an application that has not started refuses")
	}
	if !recovered.OK() && !c.has(MissPodObjects) {
		v.Limit(0.50, "never ready, and no input tells what port the pod declares")
	}
	if !c.has(MissKubeletLog) && !c.has(MissRuntimeLog) {
		v.Limit(0.50, "no log tells what started the container anew")
	}
	if c.Inputs.textLost(c.Node) {
		v.Limit(0.65, "an input is damaged: what started the container may be lost")
	}
	if c.appLog("", "listening").OK() {
		v.Limit(0.90, "kubelet log and container log")
	} else {
		v.Limit(0.80, "kubelet log and status")
	}
	v.Ask(MissAppLog)
	return v
}

// sinceStart splits the failed attempts into those between a container start and
// the first success of that run, and the others.
func (c *Case) sinceStart(limit time.Duration) (early, late []*probe.Attempt) {
	for _, m := range c.Members {
		for _, a := range m.Failed {
			start := runStart(m.Worker.Pod, m.Worker.Container, a.End)
			if start == 0 || a.End.Sub(start) > limit || served(m.Worker, start, a.End) {
				late = append(late, a)
			} else {
				early = append(early, a)
			}
		}
	}
	return early, late
}

// served reports whether the worker's probe passed in [from, to).
func served(w *probe.Worker, from, to event.Nanos) bool {
	for _, a := range w.Attempts {
		if a.Outcome == event.OutcomeSucceeded && a.End >= from && a.End < to {
			return true
		}
	}
	for _, r := range w.Pod.Ready {
		if r.Probe == w.Type && (r.Status == "ready" || r.Status == "started") && r.At >= from && r.At < to {
			return true
		}
	}
	return false
}

// firstServed adds the first success of a run after at.
func (c *Case) firstServed(f Fact, m incident.Member, r *identity.Run, at event.Nanos) Fact {
	for _, a := range m.Worker.Attempts {
		if a.Outcome == event.OutcomeSucceeded && a.End > at && (r.To == 0 || a.End <= r.To) && len(a.Refs) > 0 {
			f.add("The probe passed later in the same container run.", a.End, a.Refs[0])
			return f
		}
	}
	for _, x := range m.Worker.Pod.Ready {
		if x.Probe == m.Worker.Type && (x.Status == "ready" || x.Status == "started") && x.At > at && (r.To == 0 || x.At <= r.To) {
			f.add("The kubelet held the probe for passed later in the same container run.", x.At, x.Ref)
			return f
		}
	}
	return f
}
