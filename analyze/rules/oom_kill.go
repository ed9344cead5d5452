package rules

import (
	"fmt"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "oom-kill", Family: FamilyNode, Tier: 1, Rank: 12,
	Title:      "killed for lack of memory",
	Definition: "The kernel killed the container's process for lack of memory.",
	Notes: []string{
		"Exit code 137 is SIGKILL, whoever sent it: the end of the grace period after a failed liveness probe gives it too, with reason Error. OOMKilled or the kernel's line proves memory.",
	},
	Needs:       []string{"A finished run with reason OOMKilled, or the kernel's or the kubelet's out-of-memory message for the pod."},
	Supports:    []string{"A memory limit is set.", "The restarts coincide with the messages."},
	Contradicts: []string{"Only exit code 137: a kill after the grace period of a liveness kill has it too."},
	LookAlikes:  []LookAlike{{"app-hang", "a liveness kill with exit code 137 and reason Error"}, {"app-crash-loop", "the process ends with another reason"}},
	Limits:      []Limit{{"objects", 0.95}, {"kernel log", 0.95}},
	Sentence:    "A container of %s was killed for lack of memory.",
	Recommend:   []string{"raise-memory"},
	Collect:     []string{MissAppLog, MissKernelLog, MissPodObjects},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/62594"},
	Thresholds:  []Threshold{{"window", 600, "s", "how long before the first failure the kill may lie"}},
	Explains:    []string{"app-crash-loop", "app-not-listening", "app-slow-start"},
	Eval:        evalOOMKill,
})

func evalOOMKill(c *Case) (v Verdict) {
	window := c.seconds("oom-kill", "window")
	from, to := c.First.Add(-window), c.Last.Add(5*time.Second)
	for _, p := range c.Pods {
		var runs []identity.Run
		for _, r := range p.Runs {
			if r.Reason == "OOMKilled" && r.To >= from && r.To <= to {
				runs = append(runs, r)
			}
		}
		if len(runs) > 0 {
			v.Satisfied = v.Need(GroupStatus, WeightLiteral, Fact{Claim: fmt.Sprintf("Container %s ended with reason OOMKilled.", runs[0].Container), At: runs[0].To, Refs: runRefs(runs), N: len(runs)})
			v.Limit(0.95, "the status says so")
		}
		for _, k := range p.Containers {
			if k.MemLimit != "" && len(runs) > 0 && k.Name == runs[0].Container {
				v.Sup(GroupSpec, WeightSmell, Fact{Claim: "Its memory limit is " + k.MemLimit + ".", Refs: cite(p.Snapshot), N: 1})
			}
		}
	}
	if f := c.oomOfPods(from, to); f.OK() {
		v.Satisfied = v.Need(GroupKernel, WeightLiteral, f) || v.Satisfied
		v.Limit(0.95, "the kernel's message names the pod")
	}
	if v.Satisfied {
		v.Ask(MissAppLog)
	}
	return v
}

// oomOfPods cites out-of-memory messages that name a pod of the incident by UID
// or name.
func (c *Case) oomOfPods(from, to event.Nanos) Fact {
	f := Fact{}
	for _, n := range c.Index.Nodes {
		for _, s := range n.States {
			if s.Code != event.NodeOOM || s.At < from || s.At > to {
				continue
			}
			for _, p := range c.Pods {
				if s.Pod.UID != "" && s.Pod.UID == p.UID || s.Pod.UID == "" && s.Pod.Name != "" && s.Pod.Namespace == p.Namespace && s.Pod.Name == p.Name {
					f.add("The kernel killed a process of the pod for lack of memory: "+oneLine(s.Message), s.At, s.Ref)
				}
			}
		}
	}
	return f
}
