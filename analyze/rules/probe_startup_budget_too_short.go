package rules

import (
	"fmt"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "probe-startup-budget-too-short", Family: FamilyConfig, Tier: 1, Rank: 99,
	Title:      "probe kills the container before it is up",
	Definition: "A liveness or startup probe kills the container before the application can be up, run after run.",
	Notes: []string{
		"The budget is initialDelaySeconds + periodSeconds x failureThreshold + timeoutSeconds. Exit code 137 after the kill is the grace period's end and not a lack of memory.",
	},
	Needs:       []string{"At least two runs (or one, with the next one under way) killed by a liveness or startup probe within the probe's budget after the start, none of which ever answered."},
	Supports:    []string{"No startup probe is declared.", "The container log ends while starting.", "The kills follow failureThreshold x periodSeconds after the start."},
	Contradicts: []string{"The application was ready in the killed run.", "The container ended by itself before the kill."},
	LookAlikes: []LookAlike{
		{"app-crash-loop", "the exit comes before the kill"},
		{"probe-target-misconfigured", "the probed port never opens, however long one waits: the spec declares another one"},
		{"app-hang", "the application answered before it was killed"},
	},
	Limits:     []Limit{{"kubelet log and objects", 0.90}, {"with the container log", 0.92}, {"events or objects alone", 0.75}},
	Sentence:   "A probe kills %s before the application can be up.",
	Recommend:  []string{"startup-probe", "laxer-liveness"},
	Collect:    []string{MissAppLog, MissPodObjects, MissEvents},
	Precedents: []string{"https://github.com/kubernetes/enhancements/pull/860", "https://github.com/SREGym/SREGym/issues/61"},
	Thresholds: []Threshold{{"slack", 20, "s", "how far beyond the computed budget a kill may lie"}},
	Explains:   []string{"app-slow-start", "app-not-listening", "app-crash-loop", "app-hang"},
	Eval:       evalStartupBudget,
})

func evalStartupBudget(c *Case) (v Verdict) {
	kills := c.probeKills()
	slack := c.seconds("probe-startup-budget-too-short", "slack")
	var early []identity.Run
	var served bool
	for _, r := range kills {
		if r.From == 0 || r.KilledAt.Sub(r.From) > c.budget(r)+slack {
			continue
		}
		if c.servedInRun(r) {
			served = true
			continue
		}
		early = append(early, r)
	}
	if len(early) == 0 {
		return v
	}
	v.Satisfied = len(early) >= 2 || len(c.Pods) > 0 && len(kills) == 1
	v.Need(GroupKubelet, 0.75, Fact{Claim: fmt.Sprintf("%d runs were killed by their %s probe %s after their start, within the probe's budget, and were never ready.",
		len(early), early[0].KilledBy, secs(early[0].KilledAt.Sub(early[0].From))), At: early[0].KilledAt, Refs: cite(early[0].KillRefs...), N: len(early)})
	for _, m := range c.Members {
		if m.Worker.Spec != nil && m.Worker.Type == early[0].KilledBy {
			s := m.Worker.Spec
			v.Sup(GroupSpec, WeightStateLoose, Fact{Refs: cite(m.Worker.Pod.Snapshot), N: 1,
				Claim: fmt.Sprintf("The budget is %s: delay %s, period %s, failureThreshold %d.", secs(c.budget(early[0])), secs(s.InitialDelay), secs(s.Period), s.Failure)})
			break
		}
	}
	v.Sup(GroupAppLog, WeightState, c.appLog("The container log shows it still starting", "starting"))
	if refused := c.Refused(); len(refused) > 0 {
		v.Sup(GroupNodePcap, 0.2, flowFact("The port was closed all that time.", refused))
	}
	if served {
		v.Con(GroupTiming, WeightSoft, Fact{Claim: "Other killed runs had been ready.", Refs: runRefs(kills), N: len(kills)})
	}
	// A port that no run ever opens is wrong, not slow; with the app's own port open
	// beside it the target is.
	if f := c.OtherPortAnswers(); f.OK() && c.NeverAnswered() {
		v.Con(GroupNodePcap, WeightDirect, f)
	}
	if ends := c.ownEnds(c.First.Add(-time.Minute), c.Last.Add(time.Minute)); len(ends) >= len(early) {
		v.Con(GroupStatus, WeightDirect, Fact{Claim: "As many runs ended by themselves.", At: ends[0].To, Refs: runRefs(ends), N: len(ends)})
	}
	if c.Share(c.TimedOut()) > 0.5 && !c.appLog("", "starting").OK() {
		v.Limit(0.50, "the probes timed out; an application that has not started refuses")
	}
	switch {
	case len(early) == 1:
		v.Limit(0.69, "one killed run")
	case c.appLog("", "starting").OK():
		v.Limit(0.92, "kubelet log, spec and container log")
	default:
		v.Limit(0.85, "kubelet log and spec")
	}
	v.Ask(MissAppLog)
	return v
}

// budget is how long the probe that killed a run leaves it: delay, then as many
// periods as failures are allowed, then one timeout.
func (c *Case) budget(r identity.Run) time.Duration {
	for _, p := range c.Pods {
		if s := p.Spec(r.Container, r.KilledBy); s != nil {
			return s.InitialDelay + time.Duration(s.Failure)*s.Period + s.Timeout
		}
	}
	return 90 * time.Second
}

// servedInRun reports whether any probe of the container passed in the run.
func (c *Case) servedInRun(r identity.Run) bool {
	for _, m := range c.Members {
		if m.Worker.Container != r.Container && r.Container != "" {
			continue
		}
		for _, a := range m.Worker.Attempts {
			if a.Outcome == event.OutcomeSucceeded && a.End >= r.From && (r.To == 0 || a.End <= r.To) {
				return true
			}
		}
		for _, x := range m.Worker.Pod.Ready {
			if (x.Status == "ready" || x.Status == "started") && x.At >= r.From && (r.To == 0 || x.At <= r.To) {
				return true
			}
		}
	}
	return false
}
