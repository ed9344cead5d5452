package rules

import (
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "dual-stack-primary-flip", Family: FamilyIdentity, Tier: 2, Rank: 65,
	Title:      "pod IP changed address family",
	Definition: "The pod's primary IP changed its address family, or the probe aims at the family in which the application does not listen.",
	Notes: []string{
		"Packets: in the same minute a SYN to the IPv6 address is refused and one to the IPv4 address is accepted, or the other way round.",
		"The kubelet takes the first address of the node's primary family: it cannot flip while the node's addresses and the runtime's list stay as they are. Up to kubelet 1.20 the runtime's order decided.",
		"After a sandbox change status.podIPs may hold old and new addresses together; that is no dual stack.",
	},
	Needs:       []string{"Targets of one pod in two families without a new sandbox between them, or failures in one family while the other answers."},
	Supports:    []string{"The kubelet was restarted just before (its node IP decides the order).", "Event HostIPsIPFamilyMismatch.", "The other family's address accepts connections at the same time."},
	Contradicts: []string{"The sandbox changed.", "The order of the addresses never changed."},
	LookAlikes: []LookAlike{
		{"sandbox-recreated-ip-changed", "a new sandbox lies between the two addresses"},
		{"app-not-listening", "the other family refuses as well"},
	},
	Limits:     []Limit{{"kubelet log with objects", 0.85}, {"captures alone", 0.70}},
	Sentence:   "Probes of %s moved to the other address family, in which nothing listens.",
	Recommend:  []string{"node-ip-order", "two-ips-normal", "listen-everywhere", "downward-api", "no-pod-ip"},
	Collect:    []string{MissListeners, MissNodeCapture, MissPodObjects},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/95251", "https://github.com/kubernetes/kubernetes/pull/97979", "https://github.com/kubernetes/kubernetes/issues/103263"},
	Thresholds: []Threshold{{"restart-window", 60, "s", "how long before the first failure a kubelet restart may lie to count"}},
	Explains:   []string{"app-not-listening", "kubelet-restart"},
	Eval:       evalDualStackFlip,
})

func evalDualStackFlip(c *Case) (v Verdict) {
	for _, p := range c.Pods {
		var v6, v4 []*probe.Attempt
		for _, a := range c.failedOf(p) {
			if s := a.Server(); s.IsValid() {
				if s.Addr().Is4() {
					v4 = append(v4, a)
				} else {
					v6 = append(v6, a)
				}
			}
		}
		failing, is4 := v6, false
		if len(v4) > len(v6) {
			failing, is4 = v4, true
		}
		if len(failing) == 0 {
			continue
		}
		other := c.otherFamilyServed(p, is4)
		if !other.OK() {
			if v = c.flippedByRestart(p, failing, is4); v.Satisfied {
				return v
			}
			continue
		}
		v.Satisfied = v.Need(GroupTiming, 0.55, other)
		v.Need(GroupKubelet, WeightStateLoose, factOf("The failing attempts go to the other address family.", failing))
		if len(p.StatusIPs) > 0 && p.StatusIPs[0].Is4() == is4 && len(p.StatusIPs) > 1 {
			v.Sup(GroupStatus, 0.2, Fact{Claim: "status.podIP is of the failing family; the pod has both.", Refs: cite(p.Snapshot), N: 1})
		}
		v.Sup(GroupRuntime, WeightState, c.restartJustThen())
		if len(c.servers()) > 1 && len(p.Sandboxes) > 1 && p.Sandboxes[len(p.Sandboxes)-1].From > c.First {
			v.Con(GroupRuntime, WeightSoft, Fact{Claim: "A new sandbox was made in between.", Refs: cite(p.Sandboxes[len(p.Sandboxes)-1].Refs...), N: 1})
		}
		v.Limit(0.85, "kubelet log and objects")
		v.Ask(MissListeners)
		return v
	}
	return v
}

// otherFamilyServed cites successes of the same workload's probes on the other
// address family: of this pod, or of the pod of the same name before it.
func (c *Case) otherFamilyServed(p *identity.Pod, failing4 bool) Fact {
	f := Fact{}
	for _, w := range c.Probes.OfName(p) {
		for _, a := range w.Attempts {
			if s := a.Server(); a.Outcome == event.OutcomeSucceeded && s.IsValid() && s.Addr().Is4() != failing4 && a.End < c.Last && len(a.Refs) > 0 {
				f.add("The same workload's probe passed on "+s.String()+", the other address family.", a.End, a.Refs[0])
			}
		}
	}
	return f
}

// flippedByRestart judges a pod of both families whose other family no input
// shows served: the workload passed, the kubelet was restarted, and from then on
// the probes to what is now the first family are refused.
func (c *Case) flippedByRestart(p *identity.Pod, failing []*probe.Attempt, is4 bool) (v Verdict) {
	both := len(p.StatusIPs) > 1 && p.StatusIPs[0].Is4() == is4 && p.StatusIPs[1].Is4() != is4
	restart := c.restartJustThen()
	if !both || !restart.OK() || c.Share(c.OfClass(probe.ClassRefused)) < 0.9 {
		return v
	}
	passed := Fact{}
	for _, o := range c.Index.ByName(p.Namespace, p.Name) {
		for _, r := range o.Ready {
			if (r.Status == "ready" || r.Status == "started") && r.At < restart.At {
				passed.add("The same workload's probe had passed before the kubelet was restarted.", r.At, r.Ref)
			}
		}
	}
	v.Satisfied = v.Need(GroupTiming, WeightState, passed)
	v.Need(GroupKubelet, WeightStateLoose, factOf("Since then the probes to the pod's first address are refused; the pod has both families.", failing))
	v.Sup(GroupRuntime, WeightState, restart)
	v.Limit(0.60, "no input shows the other family served")
	v.Ask(MissListeners, MissNodeCapture)
	return v
}

// restartJustThen cites a start of the kubelet close to the first failure.
func (c *Case) restartJustThen() Fact {
	window := c.seconds("dual-stack-primary-flip", "restart-window")
	if n := c.Index.Node(c.Node); n != nil {
		for _, s := range n.States {
			if s.Code == event.NodeKubeletStarted && s.At <= c.First.Add(window) && s.At >= c.First.Add(-window) {
				return Fact{Claim: "The kubelet was restarted just then: it sorts a pod's addresses by the node's first family.", At: s.At, Refs: cite(s.Ref), N: 1}
			}
		}
	}
	return Fact{}
}
