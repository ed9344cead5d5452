package rules

import (
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "probe-threshold-too-low", Family: FamilyConfig, Tier: 2, Rank: 111,
	Title:      "one failure changed the state",
	Definition: "A single failed attempt changed the pod's state because failureThreshold is 1; the next attempt succeeded.",
	Notes: []string{
		"failureThreshold is 3 by default; with 1 a single lost packet changes the pod's state.",
	},
	Needs:       []string{"failureThreshold 1, a state change after one failed attempt, and a success at the next."},
	Supports:    []string{"It happened several times."},
	Contradicts: []string{"Several attempts in a row failed."},
	LookAlikes:  []LookAlike{{"packet-loss-latency", "packets are lost: the threshold only made it visible"}},
	Limits:      []Limit{{"kubelet log and objects", 0.80}},
	Sentence:    "A single failed probe was enough to change the state of %s.",
	Recommend:   []string{"raise-failure-threshold"},
	Collect:     []string{MissNodeCapture, MissPodObjects},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/89898"},
	Eval:        evalThresholdTooLow,
})

func evalThresholdTooLow(c *Case) (v Verdict) {
	var hits []*probe.Attempt
	var spec Fact
	var changes, next Fact
	shown := false
	for _, m := range c.Members {
		s := m.Worker.Spec
		if s == nil || s.Failure != 1 {
			continue
		}
		for i, a := range m.Worker.Attempts {
			if !slices.Contains(m.Failed, a) || a.Outcome != event.OutcomeFailed {
				continue
			}
			change := c.changedBy(a)
			after := c.servedAfter(m.Worker, i)
			if !change.OK() || !after.OK() {
				continue
			}
			hits = append(hits, a)
			shown = shown || a.Conn != nil || literalClass(a.Class)
			spec = Fact{Claim: "failureThreshold of the " + s.Type.String() + " probe is 1.", Refs: cite(m.Worker.Pod.Snapshot), N: 1}
			changes.add(change.Claim, change.At, change.Refs[0])
			next.add(after.Claim, after.At, after.Refs[0])
		}
	}
	if len(hits) == 0 {
		return v
	}
	v.Satisfied = v.Need(GroupSpec, WeightState, spec)
	v.Need(GroupKubelet, WeightState, changes)
	v.Need(GroupTiming, WeightState, next)
	if c.Share(hits) < 0.5 {
		v.Con(GroupTiming, WeightDirect, factOf("Several attempts in a row failed.", c.Failed()))
	}
	// Where the fault itself is known, the threshold only made it visible.
	v.OnlyContributes = shown
	v.Limit(0.80, "kubelet log and objects")
	if slices.ContainsFunc(hits, wentThroughNetwork) && !c.HasNodeCapture() {
		v.Limit(0.70, "no capture tells whether packets were lost")
	}
	v.Ask(MissNodeCapture)
	return v
}

// literalClass reports whether an error text names its own cause.
func literalClass(k probe.Class) bool {
	return !k.Timeout() && k != probe.ClassRefused && k != probe.ClassNoRoute && k != probe.ClassOther && k != probe.ClassNone
}

// changedBy cites the change of state that the kubelet made right at an attempt.
func (c *Case) changedBy(a *probe.Attempt) Fact {
	near := func(t event.Nanos) bool { return t >= a.End.Add(-100*time.Millisecond) && t.Sub(a.End) < 2*time.Second }
	for _, r := range a.Worker.Pod.Ready {
		if r.Probe == a.Worker.Type && r.Status != "ready" && r.Status != "started" && near(r.At) {
			return Fact{Claim: "One failed attempt changed the state of the " + r.Probe.String() + " probe.", At: r.At, Refs: cite(r.Ref), N: 1}
		}
	}
	for _, r := range a.Worker.Pod.Runs {
		if r.KilledBy == a.Worker.Type && near(r.KilledAt) && len(r.KillRefs) > 0 {
			return Fact{Claim: "The kubelet ended the container after one failed attempt.", At: r.KilledAt, Refs: cite(r.KillRefs...), N: 1}
		}
	}
	return Fact{}
}

// servedAfter cites the success that follows the i-th attempt of a worker at
// once, or the kubelet's word for it.
func (c *Case) servedAfter(w *probe.Worker, i int) Fact {
	a := w.Attempts[i]
	if i+1 < len(w.Attempts) {
		b := w.Attempts[i+1]
		if b.Outcome == event.OutcomeSucceeded && len(b.Refs) > 0 {
			return Fact{Claim: "The next attempt succeeded.", At: b.End, Refs: cite(b.Refs[0]), N: 1}
		}
		if b.Failed() && w.Period > 0 && b.End.Sub(a.End) < 2*w.Period {
			return Fact{}
		}
	}
	for _, r := range w.Pod.Ready {
		if r.Probe == w.Type && r.Status == "ready" && r.At > a.End && (w.Period == 0 || r.At.Sub(a.End) < 2*w.Period+time.Second) {
			return Fact{Claim: "The next attempt succeeded: the kubelet held the probe for passed again.", At: r.At, Refs: cite(r.Ref), N: 1}
		}
	}
	return Fact{}
}
