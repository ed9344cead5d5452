package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "stale-status-ip", Family: FamilyIdentity, Tier: 1, Rank: 63,
	Title:      "probe used the pod's previous IP",
	Definition: "The kubelet's status cache still held the pod's previous IP when a probe worker ticked, so the probe went to an address the pod no longer owned.",
	Notes: []string{
		"A healthy kubelet needs 2 to 3 s from a new sandbox to a refreshed cache: a longer window needs a stall.",
		"Verbosity 4 \"Determined the ip for pod after sandbox changed\" tells the true time; the cache follows at the next sync of the pod.",
	},
	Needs:       []string{"A failed attempt whose target IP differs from the IP of the sandbox that was ready at that moment, while the container ran."},
	Supports:    []string{"The attempt lies between the new sandbox and the next status patch.", "PLEG was slow or unhealthy."},
	Contradicts: []string{"The target stays the old IP for periods on end with a healthy PLEG: then the probe's host is fixed, or the CNI plugin changed the IP behind the runtime's back."},
	LookAlikes: []LookAlike{
		{"sandbox-recreated-ip-changed", "that is the cause, this its mechanism"},
		{"probe-target-misconfigured", "the old target never changes: host is set in the probe"},
	},
	Limits:     []Limit{{"kubelet log alone", 0.55}, {"kubelet log at verbosity 4", 0.85}, {"kubelet log with audit", 0.85}, {"kubelet and runtime log with a node capture", 0.90}},
	Sentence:   "Probes of %s went to an IP the pod no longer had.",
	Recommend:  []string{"shorten-stale", "two-ips-normal", "unset-probe-host", "downward-api", "who-stands-between"},
	Collect:    []string{MissRuntimeLog, MissKubeletV4},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/39113"},
	Thresholds: []Threshold{{"healthy-window", 3, "s", "how long a healthy kubelet may use the old IP after a new sandbox"}},
	Eval:       evalStaleStatusIP,
})

func evalStaleStatusIP(c *Case) (v Verdict) {
	healthy := c.seconds("stale-status-ip", "healthy-window")
	var stale []*probe.Attempt
	var change sandboxChange
	late := false
	for _, s := range c.SandboxChanges() {
		if !s.oldIP.IsValid() || !s.newIP.IsValid() || s.oldIP == s.newIP || s.oldIP.Is4() != s.newIP.Is4() {
			continue
		}
		for _, m := range c.Members {
			for _, a := range m.Failed {
				began := c.firstSent(a)
				if m.Worker.Pod != s.pod || !a.Addr.IsValid() || a.Addr.Addr() != s.oldIP || began < s.newAt {
					continue
				}
				if m.Worker.Pod.RunAt(m.Worker.Container, began) == nil && len(m.Worker.Pod.Runs) > 0 {
					continue // no container ran: the worker does not probe then
				}
				stale = append(stale, a)
				change = s
				late = late || began.Sub(s.newAt) > healthy
			}
		}
	}
	if len(stale) == 0 {
		return c.staleByStatus()
	}
	v.Satisfied = v.Need(GroupKubelet, WeightState, factOf(fmt.Sprintf("%d attempts went to %s after the new sandbox with %s was there.", len(stale), change.oldIP, change.newIP), stale))
	v.Need(GroupRuntime, WeightState, Fact{Claim: "The new sandbox was made before those attempts began.", At: change.newAt, Refs: cite(change.new.Refs...), N: 1})
	if at, ref := c.patched(change); at != 0 && at > stale[len(stale)-1].Start {
		v.Sup(GroupAPI, WeightState, Fact{Claim: "The status with the new IP was written only after them.", At: at, Refs: cite(ref), N: 1})
	}
	v.Sup(GroupNodePcap, WeightState, flowFact("Their SYNs to the old IP are in the capture.", joined(stale, silentOrRefused)))
	blocked := c.nodeFacts(time.Minute, 0, hasCode(event.NodePLEGUnhealthy, event.NodeHousekeepingSlow),
		func(identity.NodeState) string { return "The kubelet's sync loop was slow." })
	v.Sup(GroupTiming, WeightStateLoose, blocked)
	if late && !blocked.OK() {
		v.Con(GroupTiming, WeightSoft, factOf("A healthy kubelet knows the new IP sooner.", stale))
	}
	for _, m := range c.Members {
		if m.Worker.Spec != nil && m.Worker.Spec.Host != "" {
			v.Con(GroupSpec, WeightDirect, Fact{Claim: "The probe sets host to " + m.Worker.Spec.Host + ": it does not follow the pod's IP.", Refs: cite(m.Worker.Pod.Snapshot), N: 1})
			break
		}
	}
	if c.Share(stale) < 0.3 {
		v.OnlyContributes = true
	}
	runtime := c.sandboxNamedByRuntime(change)
	switch {
	case runtime && c.HasNodeCapture():
		v.Limit(0.90, "kubelet and runtime log with a capture of the node")
	case runtime, c.has(MissAudit):
		v.Limit(0.85, "kubelet log with the runtime's or the API's times")
	default:
		v.Limit(0.55, "kubelet log alone")
		v.Ask(MissRuntimeLog, MissKubeletV4)
	}
	return v
}

// staleByStatus judges pods whose sandboxes no input tells: the sandbox was lost,
// a container ran again, and attempts still went to an IP that the status no
// longer names.
func (c *Case) staleByStatus() (v Verdict) {
	for _, p := range c.Pods {
		lost := c.sandboxLost(p)
		left, now := c.leftBehind(p)
		stale := slices.DeleteFunc(left, func(a *probe.Attempt) bool {
			r := p.RunAt(a.Worker.Container, c.firstSent(a))
			return !lost.OK() || r == nil || r.From < lost.At
		})
		if len(stale) == 0 {
			continue
		}
		v.Satisfied = v.Need(GroupKubelet, WeightState, factOf(fmt.Sprintf("%d attempts went to %s after the container ran in a new sandbox.", len(stale), stale[0].Addr.Addr()), stale))
		v.Need(GroupStatus, WeightState, leftFact(stale, now))
		if stale[len(stale)-1].End.Sub(lost.At) > 30*time.Second {
			v.Con(GroupTiming, WeightSoft, factOf("A healthy kubelet knows the new IP sooner.", stale[len(stale)-1:]))
		}
		v.Limit(0.55, "kubelet log and status; no input tells when the new sandbox was there")
		v.Ask(MissRuntimeLog, MissKubeletV4)
		return v
	}
	return v
}

// firstSent is when an attempt began: its SYN where one was seen.
func (c *Case) firstSent(a *probe.Attempt) event.Nanos {
	if a.Conn != nil {
		return a.Conn.Start()
	}
	return a.Start
}

func silentOrRefused(a *probe.Attempt, f *event.Flow) bool {
	return silent(a, f) || f.ICMP.Seen() || f.ServerRST.Seen() && !f.SYNACK.Seen()
}

// patched is when a status with the IP of the new sandbox was first written, zero
// when no input tells.
func (c *Case) patched(s sandboxChange) (event.Nanos, event.Ref) {
	for i := range s.pod.Intervals {
		iv := &s.pod.Intervals[i]
		if iv.IP != s.newIP || iv.Sandbox != s.new.ID {
			continue
		}
		for _, src := range iv.Sources {
			if (src.Kind == "audit" || src.Kind == "status-patch") && src.At != 0 {
				return src.At, src.Ref
			}
		}
	}
	return 0, event.Ref{}
}
