package rules

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// aboutNode reports whether the incident is a state of a node without failed
// attempts: a restart, a silence, an outage, a clock step.
func (c *Case) aboutNode() bool {
	return c.Scope == model.ScopeNode && c.Trigger == model.TriggerState
}

// statesOf cites the states of the incident with a code, at most one fact each:
// the strongest text is the first.
func (c *Case) statesOf(code string, keep func(incident.State) bool) Fact {
	f := Fact{}
	for _, s := range c.States {
		if s.Code != code || keep != nil && !keep(s) {
			continue
		}
		for i, r := range s.Refs {
			if i == 0 {
				f.add(sentence(s.Text), s.At, r)
				continue
			}
			f.Refs = cite(append(f.Refs, r)...)
		}
	}
	return f
}

// sentence makes a sentence of a state's text.
func sentence(s string) string {
	s = oneLine(s)
	if s == "" {
		return s
	}
	if s[0] >= 'a' && s[0] <= 'z' {
		s = string(s[0]-'a'+'A') + s[1:]
	}
	if s[len(s)-1] != '.' {
		s += "."
	}
	return s
}

// nodeFacts cites what logs say about the incident's node from "before" ahead of
// it until "after" behind it. say turns the first match into the claim. Facts
// without a time are left out; see undated.
func (c *Case) nodeFacts(before, after time.Duration, keep func(identity.NodeState) bool, say func(identity.NodeState) string) Fact {
	f := Fact{}
	n := c.Index.Node(c.Node)
	if n == nil {
		return f
	}
	for _, s := range n.States {
		if s.At == 0 || s.At < c.First.Add(-before) || s.At > c.Last.Add(after) || !keep(s) {
			continue
		}
		f.add(say(s), s.At, s.Ref)
	}
	return f
}

// undated cites facts about the node whose time no record tells: a kernel log in
// seconds since boot.
func (c *Case) undated(code, claim string) Fact {
	f := Fact{}
	if n := c.Index.Node(c.Node); n != nil {
		for _, s := range n.States {
			if s.At == 0 && s.Code == code {
				f.add(claim, 0, s.Ref)
			}
		}
	}
	return f
}

// hasCode makes a filter of node facts.
func hasCode(codes ...string) func(identity.NodeState) bool {
	return func(s identity.NodeState) bool { return slices.Contains(codes, s.Code) }
}

// hostFacts returns the statements of a tool about the incident's node, or about
// an unnamed one.
func (c *Case) hostFacts(tool string) []identity.HostFact {
	var out []identity.HostFact
	for _, h := range c.Index.Facts {
		if h.Tool == tool && (h.Node == c.Node || h.Node == "" || c.Node == "") {
			out = append(out, h)
		}
	}
	return out
}

// number reads the value of a host fact, -1 when it is none.
func number(h identity.HostFact) float64 {
	v, err := strconv.ParseFloat(h.Value, 64)
	if err != nil {
		return -1
	}
	return v
}

// ofPods reports whether a host fact names one of the incident's pods; named is
// false when it names no pod at all.
func (c *Case) ofPods(h identity.HostFact) (ours, named bool) {
	if h.Pod.UID == "" && h.Pod.Name == "" {
		return false, false
	}
	return slices.ContainsFunc(c.Pods, func(p *identity.Pod) bool {
		return h.Pod.UID != "" && h.Pod.UID == p.UID || h.Pod.UID == "" && h.Pod.Name == p.Name && (h.Pod.Namespace == "" || h.Pod.Namespace == p.Namespace)
	}), true
}

// network reports whether a worker's probes send packets.
func network(w *probe.Worker) bool { return w.Handler != "exec" }

// othersFailing cites network attempts of other pods of the node that timed out
// while this incident lasted; N counts the pods. For an incident of several pods
// it counts those.
func (c *Case) othersFailing() Fact {
	f := Fact{}
	var last *identity.Pod // a pod's workers stand together
	from, to := c.First.Add(-10*time.Second), c.Last.Add(10*time.Second)
	for _, w := range c.Probes.OnNode(c.Node) {
		if w.Pod == last || !network(w) {
			continue
		}
		for _, a := range w.Attempts {
			if a.Class.Timeout() && a.End >= from && a.End <= to && len(a.Refs) > 0 {
				last = w.Pod
				f.add("", a.End, a.Refs[0])
				break
			}
		}
	}
	if f.N < 2 {
		return Fact{}
	}
	f.Claim = fmt.Sprintf("Network probes of %d pods of the node time out at the same time.", f.N)
	return f
}

// othersServed cites successful network attempts of pods of the node that have
// no failure in the window, although they were probed: the node as a whole works.
func (c *Case) othersServed() Fact {
	f := Fact{}
	for _, w := range c.Probes.OnNode(c.Node) {
		if slices.Contains(c.Pods, w.Pod) || !network(w) {
			continue
		}
		var good []event.Ref
		var at event.Nanos
		failed := false
		for _, a := range w.Attempts {
			if a.End < c.First || a.End > c.Last {
				continue
			}
			if a.Failed() {
				failed = true
				break
			}
			if a.Outcome == event.OutcomeSucceeded && len(a.Refs) > 0 {
				good = append(good, a.Refs[0])
				at = a.End
			}
		}
		if len(good) >= 2 && !failed {
			f.add("Other pods of the node are probed well in the same time: "+w.Pod.String()+".", at, good[0])
			f.N += len(good) - 1
		}
	}
	return f
}

// execPassing cites exec probes of the node that went well in the window.
func (c *Case) execPassing() Fact {
	f := Fact{}
	for _, w := range c.Probes.OnNode(c.Node) {
		if network(w) {
			continue
		}
		for _, a := range w.Attempts {
			if a.Outcome == event.OutcomeSucceeded && a.End >= c.First && a.End <= c.Last && len(a.Refs) > 0 {
				f.add("Exec probes of the node pass meanwhile: they send no packets.", a.End, a.Refs[0])
			}
		}
	}
	return f
}

// nodeIncidents returns the state incidents of the node that overlap
// [c.First-before, c.Last+after] and hold a state of the code.
func (c *Case) nodeIncidents(code string, before, after time.Duration) []*incident.Incident {
	var out []*incident.Incident
	for _, i := range c.Incidents {
		if i.Node != c.Node || i.Trigger != model.TriggerState || i.Scope != model.ScopeNode || i.Last < c.First.Add(-before) || i.First > c.Last.Add(after) {
			continue
		}
		if slices.ContainsFunc(i.States, func(s incident.State) bool { return s.Code == code }) {
			out = append(out, i)
		}
	}
	return out
}

// stateFact cites the first state of a code among incidents.
func stateFact(is []*incident.Incident, code string) Fact {
	f := Fact{}
	for _, i := range is {
		for _, s := range i.States {
			if s.Code == code && len(s.Refs) > 0 {
				f.add(sentence(s.Text), s.At, s.Refs[0])
			}
		}
	}
	return f
}

// kubeletQuiet cites the last and first record that the kubelet itself wrote
// around a span in which it wrote none; the zero Fact when it did write.
func (c *Case) kubeletQuiet(from, to event.Nanos) Fact {
	type record struct {
		at  event.Nanos
		ref event.Ref
	}
	var before, after record
	inside := false
	see := func(at event.Nanos, ref event.Ref) {
		switch {
		case at == 0:
		case at <= from:
			if at > before.at {
				before = record{at, ref}
			}
		case at < to:
			inside = true
		case after.at == 0 || at < after.at:
			after = record{at, ref}
		}
	}
	for _, w := range c.Probes.OnNode(c.Node) {
		for _, a := range w.Attempts {
			if a.Source != "log" && a.Source != "log+packets" || len(a.Refs) == 0 {
				continue
			}
			see(a.End, a.Refs[0])
		}
	}
	for _, p := range c.Index.Pods {
		if p.Node != c.Node {
			continue
		}
		for _, r := range p.Ready {
			see(r.At, r.Ref)
		}
	}
	if n := c.Index.Node(c.Node); n != nil {
		for _, k := range n.Kubelets {
			see(k.First, k.FirstRef)
			see(k.Last, k.LastRef)
		}
		for _, s := range n.States {
			if s.PID > 1 {
				see(s.At, s.Ref)
			}
		}
	}
	if inside || before.at == 0 || after.at == 0 {
		return Fact{}
	}
	return Fact{Claim: fmt.Sprintf("The kubelet's log holds no record of its work for %s around it.", after.at.Sub(before.at).Round(time.Second)),
		At: before.at, Refs: cite(before.ref, after.ref), N: 1}
}
