package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "kubelet-restart", Family: FamilyNode, Tier: 1, Rank: 31,
	Title:      "kubelet restarted",
	Definition: "Readiness flipped, or probes paused and burst, because the kubelet was restarted.",
	Notes: []string{
		"Readiness flips without a single \"Probe failed\" line or Unhealthy event: that is the signature. Up to 1.34 a restarted kubelet takes running containers as not ready until their first probe, from 1.35 on it keeps what was known.",
	},
	Needs:       []string{"A kubelet start in the window: its start messages, another process id in its journal, or the node's event Starting."},
	Supports:    []string{"Pods of the node turn not ready together within one period after the start, without a failed probe.", "No probe is sent while the kubelet is away.", "The kubelet is older than 1.35, which resets readiness on its start."},
	Contradicts: []string{"The failures began before the restart.", "Probes fail with errors of the network or the application long after the start."},
	LookAlikes:  []LookAlike{{"kubelet-stall", "the kubelet's process id stays the same"}, {"dual-stack-primary-flip", "the restart changed the order of the pod's addresses, and the probes fail since"}},
	Limits:      []Limit{{"kubelet log", 0.92}},
	Sentence:    "The kubelet of %s was restarted; probes paused and readiness was reset.",
	Recommend:   []string{"drain-first"},
	Collect:     []string{MissKubeletLog, MissEvents},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/100277", "https://github.com/kubernetes/kubernetes/issues/78733", "https://github.com/kubernetes/kubernetes/issues/113646",
		"https://github.com/Azure/acs-engine/issues/1977"},
	Thresholds: []Threshold{{"settle", 30, "s", "how long after the start a flip of readiness belongs to it"}},
	Eval:       evalKubeletRestart,
})

func evalKubeletRestart(c *Case) (v Verdict) {
	settle := c.seconds("kubelet-restart", "settle")
	if c.aboutNode() {
		start := c.statesOf(incident.StateKubeletRestart, nil)
		if !v.Need(GroupKubelet, WeightLiteral, start) {
			return v
		}
		v.Satisfied = true
		v.Sup(GroupTiming, WeightState, c.readinessReset(settle))
		v.Sup(GroupNodePcap, WeightState, c.statesOf(incident.StateKubeletSilent, nil))
		v.Sup(GroupSpec, WeightSmell, c.resetsReadiness())
		if n := c.Index.Node(c.Node); n != nil && n.Booting(c.First, settle) {
			v.SubReason = "reboot"
		}
		v.Limit(0.92, "the log shows the restart, not who ordered it")
		return v
	}
	// A restart alone makes no probe fail: it may change the order of a pod's
	// addresses, or lie behind failures that have a cause of their own.
	restarts := c.nodeIncidents(incident.StateKubeletRestart, settle, 0)
	if len(restarts) == 0 {
		return v
	}
	v.OnlyContributes = true
	v.Satisfied = v.Need(GroupKubelet, WeightState, stateFact(restarts, incident.StateKubeletRestart))
	if first := restarts[0]; c.First < first.First {
		v.Con(GroupTiming, WeightDirect, factOf("The failures began before the restart.", c.Failed()))
	} else if c.Last.Sub(first.Last) > 2*settle {
		v.Con(GroupTiming, WeightSoft, factOf("Probes fail long after the restart.", c.Failed()))
	}
	return v
}

// readinessReset cites readiness that changed right after a kubelet start without
// a failed probe behind it; N counts the pods.
func (c *Case) readinessReset(settle time.Duration) Fact {
	f := Fact{}
	for _, p := range c.Index.Pods {
		if p.Node != c.Node {
			continue
		}
		for _, r := range p.Ready {
			if r.Probe == event.Readiness && r.Status != "ready" && r.At >= c.First && r.At <= c.Last.Add(settle) && !c.failedNear(p, r.At) {
				f.add("", r.At, r.Ref)
				break
			}
		}
	}
	f.Claim = fmt.Sprintf("Right after the start readiness was lost without a failed probe, in %d of the node's pods.", f.N)
	return f
}

// failedNear reports whether a readiness probe of the pod failed shortly before t.
func (c *Case) failedNear(p *identity.Pod, t event.Nanos) bool {
	for _, w := range c.Probes.OfPod(p) {
		if w.Type == event.Readiness && slices.ContainsFunc(w.Attempts, func(a *probe.Attempt) bool {
			return a.Failed() && a.End <= t.Add(time.Second) && t.Sub(a.End) < time.Minute
		}) {
			return true
		}
	}
	return false
}

// resetsReadiness cites a kubelet version that forgets readiness at its start.
func (c *Case) resetsReadiness() Fact {
	n := c.Index.Node(c.Node)
	if n == nil {
		return Fact{}
	}
	say := func(version string, at event.Nanos, ref event.Ref) Fact {
		if minor, ok := minorVersion(version); ok && minor < 35 {
			return Fact{Claim: "Kubelet " + version + " begins with every readiness probe failed; from 1.35 on it keeps the last result.", At: at, Refs: cite(ref), N: 1}
		}
		return Fact{}
	}
	for _, s := range n.States {
		if s.Code == event.NodeKubeletStarted && s.Value != "" && s.At >= c.First && s.At <= c.Last {
			return say(s.Value, s.At, s.Ref)
		}
	}
	if n.Seen != nil {
		return say(n.Seen.KubeletVersion, 0, n.SeenRef)
	}
	return Fact{}
}

// minorVersion reads the minor number of "v1.34.4".
func minorVersion(v string) (int, bool) {
	rest, ok := strings.CutPrefix(v, "v1.")
	if !ok {
		return 0, false
	}
	num, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(strings.TrimRight(num, "+"))
	return n, err == nil
}
