package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "status-patch-lag", Family: FamilyControl, Tier: 2, Rank: 120,
	Title:      "API learned the status late",
	Definition: "The kubelet knew the new readiness or IP, but the API server learned it late.",
	Notes: []string{
		"lastTransitionTime of a condition is set when the kubelet computes it, not when it is written: equal times do not contradict. 1 to 2 s are normal.",
	},
	Needs:       []string{"A status write that failed or was throttled after a readiness change, or an API-side time seconds later than the kubelet's."},
	Supports:    []string{"The kubelet could not update pod status.", "Client-side throttling.", "Errors of the API server."},
	Contradicts: []string{"The kubelet computed the readiness late itself."},
	LookAlikes:  []LookAlike{{"endpoint-propagation-lag", "the pod's status was right in time, the endpoints were late"}, {"kubelet-stall", "the kubelet itself was late"}},
	Limits:      []Limit{{"kubelet log with audit", 0.90}, {"kubelet log with objects", 0.60}},
	Sentence:    "The API server learned the status of %s late.",
	Recommend:   []string{"api-rate", "readiness-age"},
	Collect:     []string{MissAudit, MissKubeletV4},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/39113", "https://github.com/kubernetes/kubernetes/issues/27385"},
	Thresholds:  []Threshold{{"window", 60, "s", "how long after a readiness change the failed write may lie"}},
	Eval:        evalStatusPatchLag,
})

func evalStatusPatchLag(c *Case) (v Verdict) {
	window := c.seconds("status-patch-lag", "window")
	late := c.podWrites()
	if !late.OK() {
		return v
	}
	var change *identity.ReadyChange
	for _, p := range c.Pods {
		for i := range p.Ready {
			if d := late.At.Sub(p.Ready[i].At); d >= 0 && d <= window {
				change = &p.Ready[i]
			}
		}
	}
	if change == nil {
		return v
	}
	v.Need(GroupKubelet, WeightStateLoose, Fact{Claim: fmt.Sprintf("The kubelet took the %s probe as %q.", change.Probe, change.Status), At: change.At, Refs: cite(change.Ref), N: 1})
	v.Satisfied = v.Need(GroupAPI, WeightState, late.Say("A write to the API failed or was held back after that: "+late.Claim))
	v.Limit(0.60, "no audit log dates the write")
	// It delays what others see; it does not make probes fail.
	v.OnlyContributes = c.Trigger == model.TriggerAttempts
	v.Ask(MissAudit)
	return v
}

// podWrites cites writes of the pods' status that failed or were held back.
// Leases and the node's own status are left out: they say nothing about pods.
func (c *Case) podWrites() Fact {
	f := Fact{}
	n := c.Index.Node(c.Node)
	if n == nil {
		return f
	}
	for _, s := range n.States {
		if s.Code != event.NodeStatusFailed && s.Code != event.NodeThrottled || s.At < c.First.Add(-time.Minute) || s.At > c.Last.Add(2*time.Minute) {
			continue
		}
		for _, p := range c.Pods {
			if s.Pod.UID != "" && s.Pod.UID == p.UID || strings.Contains(s.Message, "/pods/"+p.Name+"/status") || strings.Contains(s.Message, "status for pod") && strings.Contains(s.Message, p.Name) {
				f.add(oneLine(s.Message), s.At, s.Ref)
			}
		}
	}
	return f
}
