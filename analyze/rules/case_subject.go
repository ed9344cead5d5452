package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Subject names what the incident is about, for a sentence.
func (c *Case) Subject() string {
	switch {
	case c.Scope == model.ScopeNode && len(c.Pods) == 0:
		return "node " + c.Node
	case len(c.Pods) > 1:
		return fmt.Sprintf("%d pods on node %s", len(c.Pods), c.Node)
	case len(c.Pods) == 1 && c.Pods[0].Name != "":
		return c.Pods[0].String()
	}
	for _, m := range c.Members {
		for _, a := range m.Failed {
			if s := a.Server(); s.IsValid() {
				return "the target " + s.String()
			}
		}
	}
	return "the target"
}

// Failed returns the failed attempts of all members, by end. The list is made
// once, for every rule asks for it: it must not be changed.
func (c *Case) Failed() []*probe.Attempt {
	if c.failed != nil {
		return c.failed
	}
	var out []*probe.Attempt
	for _, m := range c.Members {
		out = append(out, m.Failed...)
	}
	slices.SortStableFunc(out, func(a, b *probe.Attempt) int { return int(max(-1, min(1, a.End-b.End))) })
	c.failed = slices.Clip(out)
	return c.failed
}

// failedOf returns the failed attempts of a pod, by end.
func (c *Case) failedOf(p *identity.Pod) []*probe.Attempt {
	if c.byPod == nil {
		c.byPod = make(map[*identity.Pod][]*probe.Attempt)
		for _, a := range c.Failed() {
			c.byPod[a.Worker.Pod] = append(c.byPod[a.Worker.Pod], a)
		}
	}
	return c.byPod[p]
}

// Successes returns the successful attempts of the members' workers inside
// [from, to], by end.
func (c *Case) Successes(from, to event.Nanos) []*probe.Attempt {
	var out []*probe.Attempt
	for _, m := range c.Members {
		for _, a := range m.Worker.Attempts {
			if a.End >= from && a.End <= to && (a.Outcome == event.OutcomeSucceeded || a.Outcome == event.OutcomeWarning) {
				out = append(out, a)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *probe.Attempt) int { return int(max(-1, min(1, a.End-b.End))) })
	return out
}

// Pod is the pod of a pod incident: the first of several; nil for a node.
func (c *Case) Pod() *identity.Pod {
	if len(c.Pods) == 0 {
		return nil
	}
	return c.Pods[0]
}

// OfClass returns the failed attempts of the given classes.
func (c *Case) OfClass(classes ...probe.Class) []*probe.Attempt {
	var out []*probe.Attempt
	for _, a := range c.Failed() {
		if slices.Contains(classes, a.Class) {
			out = append(out, a)
		}
	}
	return out
}

// TimedOut returns the failed network attempts that ended at their timeout.
func (c *Case) TimedOut() []*probe.Attempt {
	var out []*probe.Attempt
	for _, a := range c.Failed() {
		if a.Class.Timeout() {
			out = append(out, a)
		}
	}
	return out
}

// Share is the part of the failed attempts that the given ones are.
func (c *Case) Share(as []*probe.Attempt) float64 {
	n := len(c.Failed())
	if n == 0 {
		return 0
	}
	return float64(len(as)) / float64(n)
}

// factOf makes a fact of attempts: it cites their log records.
func factOf(claim string, as []*probe.Attempt) Fact {
	if len(as) == 0 {
		return Fact{}
	}
	var refs []event.Ref
	for _, a := range as {
		if len(a.Refs) > 0 {
			refs = append(refs, a.Refs[0])
		}
	}
	return Fact{Claim: claim, At: as[0].End, Refs: cite(refs...), N: len(as)}
}

// flowFact makes a fact of attempts' connections: it cites first frames on the
// node side, else where they were seen.
func flowFact(claim string, as []*probe.Attempt) Fact {
	var refs []event.Ref
	var at event.Nanos
	n := 0
	for _, a := range as {
		if a.Conn == nil {
			continue
		}
		if n == 0 {
			at = a.Conn.Start()
		}
		n++
		refs = append(refs, a.Conn.Seen().Ref)
	}
	return Fact{Claim: claim, At: at, Refs: cite(refs...), N: n}
}

// symptoms is what the attempts of the incident look like, whatever the cause.
func (c *Case) symptoms() []model.Evidence {
	var out []model.Evidence
	seen := make(map[string]bool)
	for _, m := range c.Members {
		for _, a := range m.Failed {
			k := m.Worker.Type.String() + string(a.Class)
			if seen[k] || len(a.Refs) == 0 {
				continue
			}
			seen[k] = true
			n := 0
			for _, b := range m.Failed {
				if b.Class == a.Class {
					n++
				}
			}
			out = append(out, model.Evidence{Role: model.RoleContext, Rule: Inconclusive, Time: model.At(a.End), Ref: model.RefOf(a.Refs[0]),
				Claim: fmt.Sprintf("%s probe of %s: %d failed attempts like this one (%s).", m.Worker.Type, m.Worker.Pod.PodRef, n, a.Class)})
		}
	}
	for _, s := range c.States {
		for _, r := range s.Refs[:min(1, len(s.Refs))] {
			out = append(out, model.Evidence{Role: model.RoleContext, Rule: Inconclusive, Time: model.At(s.At), Ref: model.RefOf(r), Claim: oneLine(s.Text)})
		}
	}
	return out
}

// discarded explains attempts that ended with an error instead of a failure: they
// repeat for hours and nothing follows from them.
func (c *Case) discarded() []model.Evidence {
	var errored []*probe.Attempt
	for _, a := range c.Failed() {
		if a.Outcome == event.OutcomeErrored && len(a.Refs) > 0 {
			errored = append(errored, a)
		}
	}
	if len(errored) == 0 {
		return nil
	}
	return []model.Evidence{{Role: model.RoleContext, Rule: Inconclusive, Time: model.At(errored[0].End), Ref: model.RefOf(errored[0].Refs[0]),
		Claim: fmt.Sprintf("%d attempts were errored: the kubelet discards them, so they change neither readiness nor restart the container, however long they go on.", len(errored))}}
}

// oneLine keeps a sentence on one line and short.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 300 {
		s = s[:297] + "..."
	}
	return s
}

// generallyMissing is what would help any network failure.
func (c *Case) generallyMissing() []string {
	var out []string
	from, to := c.First, c.Last
	if len(c.Captures.NodeSide(c.Node, from, to)) == 0 {
		out = append(out, MissNodeCapture)
	}
	if len(c.Captures.PodSide(c.Pod(), from, to)) == 0 {
		out = append(out, MissPodCapture)
	}
	if p := c.Pod(); p != nil {
		if p.Snapshot.IsZero() {
			out = append(out, MissPodObjects)
		}
		if len(p.AppLogs) == 0 {
			out = append(out, MissAppLog)
		}
	}
	return append(out, MissListeners, MissPodRules)
}

// execOnly reports whether every member is an exec probe.
func (c *Case) execOnly() bool {
	return len(c.Members) > 0 && !slices.ContainsFunc(c.Members, func(m incident.Member) bool { return m.Worker.Handler != "exec" })
}

// hostNetworkOnly reports whether every pod uses the host's network.
func (c *Case) hostNetworkOnly() bool {
	return len(c.Pods) > 0 && !slices.ContainsFunc(c.Pods, func(p *identity.Pod) bool { return !p.HostNetwork && !c.probedAtNode(p) })
}

// probedAtNode reports whether a pod whose object no input holds is probed at
// addresses of its node only: a static pod of an earlier revision, say.
func (c *Case) probedAtNode(p *identity.Pod) bool {
	n := c.Index.Node(p.Node)
	if n == nil || !p.Snapshot.IsZero() {
		return false
	}
	found := false
	for _, a := range c.Failed() {
		if a.Worker.Pod != p || !a.Server().IsValid() {
			continue
		}
		if !slices.Contains(n.Addresses, a.Server().Addr()) {
			return false
		}
		found = true
	}
	return found
}

func (c *Case) anyHostNetwork() bool {
	return slices.ContainsFunc(c.Pods, func(p *identity.Pod) bool { return p.HostNetwork })
}

// Mesh tells whether a pod of the incident bears a mark of a service mesh: a
// proxy container, an injection annotation or a namespace label.
func (c *Case) Mesh() Fact {
	for _, p := range c.Pods {
		for _, k := range p.Containers {
			switch k.Name {
			case "istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane", "envoy":
				return Fact{Claim: "The pod has the mesh container " + k.Name + ".", Refs: cite(p.Snapshot), N: 1}
			}
		}
		for _, a := range slices.Concat(p.Annotations, p.Labels) {
			if meshMark(a.Key) {
				return Fact{Claim: "The pod is marked for a mesh: " + a.Key + ".", Refs: cite(p.Snapshot), N: 1}
			}
		}
		for o, mode := range c.meshModes() {
			if o.Name == p.Namespace && mode != "" {
				return enrolment(o, mode)
			}
		}
	}
	return Fact{}
}

func meshMark(key string) bool {
	for _, k := range [...]string{"sidecar.istio.io/status", event.FactMeshMode, "ambient.istio.io/redirection", "linkerd.io/proxy-version", "kuma.io/sidecar-injected"} {
		if key == k {
			return true
		}
	}
	return false
}

// seconds is a threshold of the rule as a duration.
func (c *Case) seconds(rule, name string) time.Duration {
	return time.Duration(c.Thresholds(rule, name) * float64(time.Second))
}
