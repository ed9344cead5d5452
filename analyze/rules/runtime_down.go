package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "runtime-down", Family: FamilyNode, Tier: 1, Rank: 20,
	Title:      "container runtime away",
	Definition: "The container runtime was down, restarting or unreachable for the kubelet.",
	Notes: []string{
		"Exec probes of all pods are errored with code Unavailable while TCP and HTTP probes pass: the kubelet sends those itself.",
		"A runtime that lost the addresses of running sandboxes makes the kubelet re-create all of them: many pods end with exit code 0 or 137 and no error of their own.",
	},
	Needs:       []string{"The kubelet says that the runtime is down or not ready, its socket refuses or is missing, or the runtime's unit stopped or started in the window."},
	Supports:    []string{"Exec probes of all pods error while network probes keep passing.", "PLEG errors.", "Sandboxes of several pods lost their IP at once."},
	Contradicts: []string{"Runtime calls succeed in that time."},
	LookAlikes:  []LookAlike{{"exec-probe-failed", "a single pod's command fails"}, {"kubelet-stall", "the runtime answers, the kubelet does not ask"}},
	Limits:      []Limit{{"kubelet log", 0.90}, {"runtime log", 0.95}},
	Sentence:    "The container runtime of the node was away; %s was affected.",
	Recommend:   []string{"why-runtime", "drain-first", "fix-runtime-ip"},
	Collect:     []string{MissRuntimeLog, MissKubeletLog},
	Precedents:  []string{"https://github.com/canonical/microk8s/issues/1866", "https://github.com/containerd/containerd/issues/7843"},
	Thresholds:  []Threshold{{"window", 120, "s", "how far before the first failure the runtime's outage may lie"}},
	Explains:    []string{"sandbox-recreated-ip-changed", "exec-probe-failed", "kubelet-stall", "pod-ip-empty", "stale-status-ip", "cni-add-failed", "app-crash-loop", "app-not-listening"},
	Eval:        evalRuntimeDown,
})

func evalRuntimeDown(c *Case) (v Verdict) {
	window := c.seconds("runtime-down", "window")
	if c.aboutNode() {
		return c.outageOfNode(window)
	}
	text := c.runtimeAway()
	outages := c.nodeIncidents(incident.StateRuntimeDown, window, 10*time.Second)
	down := stateFact(outages, incident.StateRuntimeDown)
	up := c.nodeFacts(window, 0, func(s identity.NodeState) bool { return s.Code == event.NodeRuntimeStarted && c.working(s.At) },
		func(identity.NodeState) string { return "The container runtime was started anew." })
	lost := c.lostAfter(window)
	v.Need(GroupKubelet, WeightLiteral, factOf("The kubelet could not reach the container runtime.", text))
	v.Need(GroupRuntime, WeightState, up)
	if !v.Need(GroupRuntime, WeightLiteral, down) && !up.OK() && len(text) == 0 {
		return v
	}
	switch {
	case c.Share(text) >= 0.5:
		v.Satisfied = true
		v.Limit(0.90, "the kubelet's log")
	case lost.OK():
		// The runtime forgot the pod's network, or the sandbox went with it.
		v.Satisfied = v.Need(GroupTiming, WeightState, lost)
		v.Limit(0.90, "the kubelet's log and the time of the runtime's start")
	case len(c.OfClass(probe.ClassEmptyIP)) > 0:
		v.Satisfied = v.Need(GroupTiming, WeightState, factOf("From then on the pod had no IP.", c.OfClass(probe.ClassEmptyIP)))
	default:
		v.OnlyContributes = true
	}
	if up.OK() {
		v.SubReason = "restart"
	}
	v.Sup(GroupTiming, WeightState, c.othersErrored())
	v.Con(GroupStatus, WeightSoft, c.runtimeServed(outages))
	v.Ask(MissRuntimeLog)
	return v
}

// outageOfNode judges a node whose container runtime was away.
func (c *Case) outageOfNode(window time.Duration) (v Verdict) {
	said := c.nodeFacts(0, 0, hasCode(event.NodeRuntimeDown), func(s identity.NodeState) string { return "The kubelet says: " + oneLine(s.Message) + "." })
	stopped := c.nodeFacts(0, 0, hasCode(event.NodeRuntimeStopped), func(s identity.NodeState) string { return sentence(s.Message) })
	if !c.statesOf(incident.StateRuntimeDown, nil).OK() {
		return v
	}
	v.Satisfied = v.Need(GroupKubelet, WeightLiteral, said)
	v.Limit(0.90, "the kubelet's log")
	if v.Need(GroupRuntime, WeightLiteral, stopped) {
		v.Satisfied = true
		v.Cap, v.CapWhy = 0.95, "the service manager's and the kubelet's log"
	}
	if c.nodeFacts(0, window, hasCode(event.NodeRuntimeStarted), func(identity.NodeState) string { return "" }).OK() {
		v.SubReason = "restart"
	}
	v.Sup(GroupTiming, WeightState, c.othersErrored())
	v.Con(GroupStatus, WeightSoft, c.runtimeServed([]*incident.Incident{c.Incident}))
	v.Ask(MissRuntimeLog)
	return v
}

// runtimeAway returns the attempts whose text says that the runtime itself could
// not be reached.
func (c *Case) runtimeAway() []*probe.Attempt {
	var out []*probe.Attempt
	for _, a := range c.OfClass(probe.ClassRuntime) {
		if awayText(a.Output) {
			out = append(out, a)
		}
	}
	return out
}

// awayText recognises errors of the connection to the runtime's socket, as
// opposed to what the runtime says of a container.
func awayText(s string) bool {
	if strings.Contains(s, "code = Unavailable") {
		return true
	}
	return strings.Contains(s, ".sock") && (strings.Contains(s, "connection refused") || strings.Contains(s, "no such file or directory"))
}

// working reports whether a kubelet of the node was at work before t.
func (c *Case) working(t event.Nanos) bool {
	n := c.Index.Node(c.Node)
	return n != nil && n.AtWork(t)
}

// lostAfter cites sandboxes of the incident's pods that the kubelet found lost or
// without an IP after a start or outage of the runtime.
func (c *Case) lostAfter(window time.Duration) Fact {
	f := Fact{}
	n := c.Index.Node(c.Node)
	if n == nil {
		return f
	}
	for _, p := range c.Pods {
		for _, s := range p.SandboxSteps {
			if s.Op != event.SandboxLost && s.Op != event.SandboxNoIP || s.At < c.First.Add(-window) || s.At > c.Last {
				continue
			}
			if slices.ContainsFunc(n.States, func(o identity.NodeState) bool {
				return (o.Code == event.NodeRuntimeStarted || o.Code == event.NodeRuntimeStopped || o.Code == event.NodeRuntimeDown) && o.At != 0 && o.At <= s.At.Add(time.Second) && s.At.Sub(o.At) < window
			}) {
				f.add("The kubelet found the pod's sandbox gone or without an IP after that.", s.At, s.Ref)
			}
		}
	}
	return f
}

// othersErrored cites exec attempts of other pods of the node that could not
// reach the runtime in the same time; N counts the pods.
func (c *Case) othersErrored() Fact {
	f := Fact{}
	for _, w := range c.Probes.OnNode(c.Node) {
		if slices.Contains(c.Pods, w.Pod) {
			continue
		}
		i := slices.IndexFunc(w.Attempts, func(a *probe.Attempt) bool {
			return a.Class == probe.ClassRuntime && awayText(a.Output) && a.End >= c.First.Add(-time.Minute) && a.End <= c.Last.Add(time.Minute) && len(a.Refs) > 0
		})
		if i >= 0 {
			f.add("Exec probes of other pods of the node cannot reach the runtime either.", w.Attempts[i].End, w.Attempts[i].Refs[0])
		}
	}
	return f
}

// runtimeServed cites containers and sandboxes that the runtime made in the
// middle of what was taken for its outage.
func (c *Case) runtimeServed(outages []*incident.Incident) Fact {
	f := Fact{}
	for _, o := range outages {
		for _, p := range c.Index.Pods {
			if p.Node != c.Node {
				continue
			}
			for _, s := range p.SandboxSteps {
				if s.Op == event.SandboxCreated && s.At > o.First.Add(time.Second) && s.At < o.Last {
					f.add("The runtime made a sandbox in that time.", s.At, s.Ref)
				}
			}
		}
	}
	return f
}
