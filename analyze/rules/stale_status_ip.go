package rules

import (
	"cmp"
	"fmt"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "stale-status-ip", Family: FamilyIdentity, Tier: 1, Rank: 63,
	Title:       "probe used the pod's previous IP",
	Definition:  "The kubelet's status cache still held the pod's previous IP when a probe worker ticked, so the probe went to an address the pod no longer owned.",
	Needs:       []string{"A failed attempt whose target IP differs from the IP of the sandbox that was ready at that moment, while the container ran."},
	Supports:    []string{"The attempt lies between the new sandbox and the next status patch.", "PLEG was slow or unhealthy."},
	Contradicts: []string{"The target stays the old IP for periods on end with a healthy PLEG: then the probe's host is fixed, or the CNI plugin changed the IP behind the runtime's back."},
	LookAlikes: []LookAlike{
		{"sandbox-recreated-ip-changed", "that is the cause, this its mechanism"},
		{"probe-target-misconfigured", "the old target never changes: host is set in the probe"},
	},
	Limits:     []Limit{{"kubelet log alone", 0.55}, {"kubelet log at verbosity 4", 0.85}, {"kubelet log with audit", 0.85}, {"kubelet and runtime log with a node capture", 0.90}},
	Sentence:   "Probes of %s went to an IP the pod no longer had.",
	Recommend:  []string{"shorten-stale", "two-ips-normal", "unset-probe-host"},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/39113"},
	Thresholds: []Threshold{{"healthy-window", 3, "s", "how long a healthy kubelet may use the old IP after a new sandbox"}},
	Eval:       evalStaleStatusIP,
})

func evalStaleStatusIP(c *Case) (v Verdict) {
	window := c.seconds("stale-status-ip", "healthy-window")
	for _, s := range c.SandboxChanges() {
		if !s.oldIP.IsValid() || !s.newIP.IsValid() || s.oldIP == s.newIP || s.oldIP.Is4() != s.newIP.Is4() {
			continue
		}
		var old []*probe.Attempt
		long := false
		for _, a := range c.Failed() {
			began := cmp.Or(a.Start, a.End)
			if a.Worker.Pod != s.pod || a.Server().Addr() != s.oldIP || began < s.newAt {
				continue
			}
			if s.pod.RunAt(a.Worker.Container, began) == nil && len(s.pod.Runs) > 0 {
				continue // no container ran: the worker does not probe then
			}
			old = append(old, a)
			long = long || began.Sub(s.newAt) > window
		}
		if len(old) == 0 {
			continue
		}
		claim := fmt.Sprintf("%d attempts went to %s after the new sandbox with %s was ready.", len(old), s.oldIP, s.newIP)
		v.Satisfied = v.Need(GroupKubelet, 0.55, factOf(claim, old))
		v.Sup(GroupRuntime, WeightStateLoose, Fact{Claim: "The new sandbox was ready before.", At: s.newAt, Refs: cite(s.new.Refs...), N: 1})
		v.Limit(0.55, "the kubelet's outputs alone")
		if c.sandboxNamedByRuntime(s) {
			v.Cap, v.CapWhy = 0.85, "the runtime's log dates the new sandbox"
		}
		if seen := joined(old, func(*probe.Attempt, *event.Flow) bool { return true }); len(seen) > 0 {
			v.Sup(GroupNodePcap, WeightState, flowFact("The SYNs to the old IP are in the capture.", seen))
		}
		if long {
			if stall := c.nodeState(event.NodePLEGUnhealthy, event.NodeHousekeepingSlow); stall.OK() {
				v.Sup(GroupTiming, WeightStateLoose, stall)
			} else {
				v.Con(GroupTiming, WeightSoft, factOf("The old IP was used for longer than a healthy kubelet takes to notice.", old))
			}
		}
		v.Ask(MissKubeletV4, MissAudit, MissSandbox)
		return v
	}
	return v
}
