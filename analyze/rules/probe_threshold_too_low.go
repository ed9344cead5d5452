package rules

import (
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "probe-threshold-too-low", Family: FamilyConfig, Tier: 2, Rank: 111,
	Title:       "one failure changed the state",
	Definition:  "A single failed attempt changed the pod's state because failureThreshold is 1; the next attempt succeeded.",
	Needs:       []string{"failureThreshold 1, a state change after one failed attempt, and a success at the next."},
	Supports:    []string{"It happened several times."},
	Contradicts: []string{"Several attempts in a row failed."},
	LookAlikes:  []LookAlike{{"packet-loss-latency", "packets are lost: the threshold only made it visible"}},
	Limits:      []Limit{{"kubelet log and objects", 0.80}},
	Sentence:    "A single failed probe was enough to change the state of %s.",
	Recommend:   []string{"raise-failure-threshold"},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/89898"},
	Eval:        evalThresholdTooLow,
})

func evalThresholdTooLow(c *Case) (v Verdict) {
	for _, m := range c.Members {
		w := m.Worker
		if w.Spec == nil || w.Spec.Failure != 1 || len(m.Failed) == 0 {
			continue
		}
		crossed := c.crossings(m)
		if len(crossed) == 0 || !c.recoversAtOnce(m) {
			continue
		}
		v.Satisfied = v.Need(GroupSpec, WeightState, Fact{Claim: "failureThreshold is 1.", Refs: cite(w.Pod.Snapshot), N: 1})
		v.Need(GroupKubelet, WeightState, Fact{Claim: "A single failed attempt changed the pod's state, and the next one succeeded.", At: crossed[0].At, Refs: readyRefs(crossed), N: len(crossed)})
		if len(crossed) >= 2 {
			v.Sup(GroupTiming, 0.2, Fact{Claim: "It happened several times.", At: crossed[1].At, Refs: readyRefs(crossed), N: len(crossed)})
		}
		v.Limit(0.80, "why the single attempts failed is another question")
		// What made the attempt fail matters more wherever a rule knows it.
		v.OnlyContributes = true
	}
	return v
}

// crossings are the changes to "not ready" or "unhealthy" right after a failure
// of the member.
func (c *Case) crossings(m incident.Member) []identity.ReadyChange {
	var out []identity.ReadyChange
	for _, r := range m.Worker.Pod.Ready {
		if r.Probe != m.Worker.Type || r.Status == "ready" || r.Status == "started" {
			continue
		}
		for _, a := range m.Failed {
			if d := r.At.Sub(a.End); d > -time.Second && d < 2*time.Second {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

// recoversAtOnce reports whether no two attempts of the member failed in a row.
func (c *Case) recoversAtOnce(m incident.Member) bool {
	for i, a := range m.Worker.Attempts[:max(len(m.Worker.Attempts)-1, 0)] {
		if a.Failed() && m.Worker.Attempts[i+1].Failed() {
			return false
		}
	}
	return len(m.Worker.Attempts) > len(m.Failed)
}

func readyRefs(rs []identity.ReadyChange) []event.Ref {
	var refs []event.Ref
	for _, r := range rs {
		refs = append(refs, r.Ref)
	}
	return cite(refs...)
}
