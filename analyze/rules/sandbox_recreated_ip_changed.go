package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "sandbox-recreated-ip-changed", Family: FamilyIdentity, Tier: 1, Rank: 50,
	Title:      "pod sandbox re-created, IP changed",
	Definition: "The pod kept its UID but got a new sandbox and with it a new IP. The failures lie around the tear-down and the new start, or name two IPs for one pod.",
	Notes: []string{
		"SYNs to the old IP first go to the old MAC without an answer, then ARP for it stays unanswered; where the route is gone the node itself answers host-unreachable.",
		"\"No sandbox for pod can be found\" alone proves nothing: it is logged for every new pod. Restart counts rise by one on all containers at one instant.",
		"Two addresses in log lines of one second are no fault of the kubelet: every probe worker reads the cached address at its own tick.",
	},
	Needs: []string{"One pod UID with two sandboxes in a row whose IPs differ, or a re-created sandbox and failed attempts that name two IPs of one family."},
	Supports: []string{"Event SandboxChanged.", "The kubelet says why it needs a new sandbox: no ready sandbox, no IP address, several sandboxes.",
		"The runtime counts a sandbox attempt of 1 or more.", "All containers of the pod restarted at one instant.", "A runtime restart just before."},
	Contradicts: []string{"The pod UIDs differ: that is a new pod.", "Only one of several containers restarted.", "The two IPs are the two families of one pod.", "The pod uses the host network."},
	LookAlikes: []LookAlike{
		{"stale-status-ip", "the failing probe aims at the OLD IP after the new sandbox was ready"},
		{"dual-stack-primary-flip", "the two IPs differ in family and there is no new sandbox"},
		{"ip-reused", "the old IP answers for another pod by now"},
		{"app-crash-loop", "container ids change while sandbox and IP stay"},
	},
	Limits:     []Limit{{"kubelet log alone", 0.75}, {"objects and events alone", 0.70}, {"captures alone", 0.60}, {"kubelet log with runtime log or audit", 0.95}},
	Sentence:   "The sandbox of %s was re-created and its IP changed; probes failed around the change.",
	Recommend:  []string{"align-timelines", "two-ips-normal", "raise-failure-threshold", "unset-probe-host", "no-pod-ip", "downward-api"},
	Collect:    []string{MissRuntimeLog, MissKubeletV4, MissAudit},
	Precedents: []string{"https://github.com/containerd/containerd/issues/7843", "https://github.com/kubernetes/kubernetes/issues/123778", "https://github.com/canonical/microk8s/issues/3710"},
	Thresholds: []Threshold{{"window", 120, "s", "how long before or after a new sandbox a failure may lie to belong to it"}},
	Explains:   []string{"stale-status-ip", "app-slow-start", "app-not-listening", "arp-unanswered", "probe-timeout-too-tight", "app-crash-loop"},
	Eval:       evalSandboxRecreated,
})

func evalSandboxRecreated(c *Case) (v Verdict) {
	window := c.seconds("sandbox-recreated-ip-changed", "window")
	for _, s := range c.SandboxChanges() {
		if s.newAt < c.First.Add(-window) || s.newAt > c.Last.Add(window) || !s.oldIP.IsValid() || !s.newIP.IsValid() || s.oldIP == s.newIP {
			continue
		}
		runtime := c.sandboxNamedByRuntime(s)
		group, weight := GroupKubelet, 0.60
		if runtime {
			group, weight = GroupRuntime, WeightTwoPoints
		}
		v.Satisfied = v.Need(group, weight, Fact{At: s.newAt, Refs: cite(slices.Concat(s.old.Refs, s.new.Refs)...),
			Claim: fmt.Sprintf("The pod kept its UID and got a new sandbox: IP %s became %s.", s.oldIP, s.newIP)})
		var old, fresh, after []*probe.Attempt
		for _, a := range c.Failed() {
			switch server := a.Server(); {
			case server.Addr() == s.oldIP:
				old = append(old, a)
			case server.Addr() == s.newIP:
				fresh = append(fresh, a)
			}
			if a.End >= s.newAt.Add(-window/4) {
				after = append(after, a)
			}
		}
		if len(old) > 0 && len(fresh) > 0 {
			v.Sup(GroupTiming, WeightState, factOf("Failed attempts of one pod name both IPs.", append(old[:1:1], fresh...)))
		} else if len(after) > 0 {
			v.Sup(GroupTiming, WeightStateLoose, factOf("Failures follow the change of the sandbox.", after))
		}
		if len(after) == 0 {
			v.Con(GroupTiming, WeightDirect, factOf("Every failure lies well before the change of the sandbox.", c.Failed()))
		}
		if why := c.sandboxLoss(s); why.OK() {
			v.Sup(GroupKubelet, WeightState, why)
		}
		if !runtime {
			v.Limit(0.75, "without the runtime's log the sandbox ids rest on the kubelet's events")
			v.Ask(MissRuntimeLog)
		}
		v.Limit(0.95, "kubelet and runtime logs together")
		return v
	}
	return c.sandboxLostOnly()
}

// sandboxNamedByRuntime reports whether the runtime's own log names the new
// sandbox.
func (c *Case) sandboxNamedByRuntime(s sandboxChange) bool {
	return slices.ContainsFunc(s.pod.SandboxSteps, func(st identity.SandboxStep) bool {
		return st.Op == event.SandboxCreated && st.SandboxID == s.new.ID
	})
}

// sandboxLoss cites what the kubelet says about the loss of the old sandbox.
func (c *Case) sandboxLoss(s sandboxChange) Fact {
	f := Fact{}
	for _, st := range s.pod.SandboxSteps {
		if st.Op == event.SandboxLost && st.At >= s.newAt.Add(-time.Minute) && st.At <= s.newAt.Add(time.Second) {
			f.add("The kubelet found no ready sandbox and started a new one.", st.At, st.Ref)
		}
	}
	for _, e := range s.pod.Events {
		if e.Reason == "SandboxChanged" && e.Last.At >= s.newAt.Add(-time.Minute) {
			f.add("Event SandboxChanged.", e.At, e.Ref)
		}
	}
	return f
}

// sandboxLostOnly judges pods whose sandboxes and IPs no input tells: the loss of
// the sandbox, two IPs in the outputs of one UID, or a status that names another
// IP than the probes went to are then the evidence.
func (c *Case) sandboxLostOnly() (v Verdict) {
	for _, p := range c.Pods {
		lost, two := c.sandboxLost(p), c.twoIPs(p)
		left, now := c.leftBehind(p)
		switch {
		case !lost.OK() && !two.OK():
			continue
		case !lost.OK():
			v.Satisfied = v.Need(GroupTiming, 0.55, two)
			v.Limit(0.55, "two IPs, and nothing that tells of the sandbox")
		case two.OK():
			v.Need(GroupKubelet, WeightState, lost)
			v.Satisfied = v.Need(GroupTiming, 0.6, two)
		case len(left) > 0:
			v.Need(GroupKubelet, WeightState, lost)
			v.Satisfied = v.Need(GroupStatus, 0.6, leftFact(left, now))
		default:
			v.Need(GroupKubelet, WeightState, lost)
			if len(p.Sandboxes) >= 2 {
				v.Satisfied = true
				v.Sup(GroupTiming, WeightStateLoose, factOf("Failures surround the change of the sandbox.", c.Failed()))
				v.Limit(0.60, "no input tells the IP of the old or of the new sandbox")
			}
		}
		v.Limit(0.75, "kubelet log or events alone")
		v.Ask(MissRuntimeLog, MissKubeletV4, MissAudit)
		return v
	}
	return v
}

// sandboxLost cites what kubelet or events say about the loss of a pod's sandbox
// around the failures.
func (c *Case) sandboxLost(p *identity.Pod) Fact {
	f := Fact{}
	for _, st := range p.SandboxSteps {
		if st.Op == event.SandboxLost && st.At >= c.First.Add(-2*time.Minute) && st.At <= c.Last.Add(time.Minute) {
			f.add("The kubelet found no ready sandbox and started a new one.", st.At, st.Ref)
		}
	}
	if !f.OK() {
		f = c.podEvents("SandboxChanged", c.First.Add(-2*time.Minute), c.Last.Add(time.Minute))
	}
	return f
}

// twoIPs cites failed attempts of one pod that name two IPs of one family.
func (c *Case) twoIPs(p *identity.Pod) Fact {
	var seen []*probe.Attempt
	for _, a := range c.failedOf(p) {
		if !a.Server().IsValid() || fixedHost(a.Worker) {
			continue
		}
		ip := a.Server().Addr()
		switch {
		case len(seen) == 0:
			seen = append(seen, a)
		case seen[0].Server().Addr() != ip && seen[0].Server().Addr().Is4() == ip.Is4():
			return factOf("Failed attempts of one pod UID name two IPs: "+seen[0].Server().Addr().String()+" and "+ip.String()+".", append(seen, a))
		}
	}
	return Fact{}
}

// leftBehind returns the failed attempts that went to an IP of the family of
// which the pod's status names another one, and that one.
func (c *Case) leftBehind(p *identity.Pod) (as []*probe.Attempt, now netip.Addr) {
	for _, a := range c.failedOf(p) {
		if !a.Addr.IsValid() || fixedHost(a.Worker) || p.HostNetwork {
			continue
		}
		i := slices.IndexFunc(p.StatusIPs, func(ip netip.Addr) bool { return ip.Unmap().Is4() == a.Addr.Addr().Is4() })
		if i >= 0 && p.StatusIPs[i].Unmap() != a.Addr.Addr() {
			as, now = append(as, a), p.StatusIPs[i].Unmap()
		}
	}
	return as, now
}

func leftFact(as []*probe.Attempt, now netip.Addr) Fact {
	f := factOf(fmt.Sprintf("%d failed attempts went to %s; the pod's status names %s.", len(as), as[0].Addr.Addr(), now), as)
	f.Refs = cite(append([]event.Ref{as[0].Worker.Pod.Snapshot}, f.Refs...)...)
	return f
}

// fixedHost reports whether the probe does not follow the pod's IP.
func fixedHost(w *probe.Worker) bool { return w.Spec != nil && w.Spec.Host != "" }
