package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// sandboxChange is a re-creation of a pod's sandbox.
type sandboxChange struct {
	pod      *identity.Pod
	old, new *identity.Sandbox
	oldIP    netip.Addr
	newIP    netip.Addr
	newAt    event.Nanos
}

// SandboxChanges returns the re-creations of the incident's pods in time order.
// IPs are invalid where no source tells them.
func (c *Case) SandboxChanges() []sandboxChange {
	var out []sandboxChange
	for _, p := range c.Pods {
		for i := 1; i < len(p.Sandboxes); i++ {
			o, n := &p.Sandboxes[i-1], &p.Sandboxes[i]
			out = append(out, sandboxChange{pod: p, old: o, new: n, oldIP: sandboxIP(p, o.ID), newIP: sandboxIP(p, n.ID), newAt: n.From})
		}
	}
	return out
}

func sandboxIP(p *identity.Pod, id string) netip.Addr {
	var found netip.Addr
	for i := range p.Intervals {
		iv := &p.Intervals[i]
		if iv.Sandbox == id && iv.State == identity.Held && (iv.Primary || !found.IsValid()) {
			found = iv.IP
		}
	}
	return found
}

// ownEnds returns the runs of the failing containers that ended by themselves:
// neither a probe nor the pod's deletion nor the loss of the sandbox ended them.
// [from, to] bounds the end.
func (c *Case) ownEnds(from, to event.Nanos) []identity.Run {
	var out []identity.Run
	for _, p := range c.Pods {
		for _, r := range p.Runs {
			if r.To == 0 || r.To < from || r.To > to || r.KilledBy != event.ProbeUnknown || r.Deletion || p.DeletedAt != 0 && r.To >= p.DeletedAt {
				continue
			}
			if lostSandbox(p, r.To) || killedByKubelet(p, &r) {
				continue
			}
			if !c.concerns(p, r.Container) || isInit(p, r.Container) {
				continue
			}
			out = append(out, r)
		}
	}
	return out
}

// isInit reports whether the container is an init container that is meant to end.
func isInit(p *identity.Pod, container string) bool {
	return slices.ContainsFunc(p.Containers, func(k event.ContainerSpec) bool { return k.Name == container && k.Init && !k.Sidecar })
}

// concerns reports whether the container is one the incident is about.
func (c *Case) concerns(p *identity.Pod, container string) bool {
	if len(c.Members) == 0 || container == "" {
		return true
	}
	for _, m := range c.Members {
		if m.Worker.Pod == p && (m.Worker.Container == container || m.Worker.Container == "") {
			return true
		}
	}
	return false
}

// lostSandbox reports whether a sandbox of the pod ended around t, or the kubelet
// found none soon after.
func lostSandbox(p *identity.Pod, t event.Nanos) bool {
	if slices.ContainsFunc(p.SandboxSteps, func(s identity.SandboxStep) bool {
		return s.Op == event.SandboxLost && s.At.Sub(t) < 5*time.Second && t.Sub(s.At) < 5*time.Second
	}) {
		return true
	}
	return slices.ContainsFunc(p.Sandboxes, func(s identity.Sandbox) bool {
		return s.To != 0 && t.Sub(s.To) < 15*time.Second && s.To.Sub(t) < 5*time.Second
	})
}

// killedByKubelet reports whether a "Killing container" line preceded the end: the
// kubelet stopped it for some reason.
func killedByKubelet(p *identity.Pod, r *identity.Run) bool {
	return slices.ContainsFunc(p.Steps, func(s identity.ContainerStep) bool {
		return s.Op == event.ContainerKilling && s.ID == r.ID && s.At <= r.To.Add(time.Second)
	})
}

// runRefs cites the runs' records.
func runRefs(rs []identity.Run) []event.Ref {
	var refs []event.Ref
	for _, r := range rs {
		if len(r.Refs) > 0 {
			refs = append(refs, r.Refs[len(r.Refs)-1])
		}
	}
	return cite(refs...)
}

// probeKills returns the runs of the failing containers that the kubelet ended
// because of a liveness or startup probe.
func (c *Case) probeKills() []identity.Run {
	var out []identity.Run
	for _, p := range c.Pods {
		for _, r := range p.Runs {
			if r.KilledBy != event.ProbeUnknown && r.KilledAt >= c.First.Add(-time.Minute) && r.KilledAt <= c.Last.Add(time.Minute) && c.concerns(p, r.Container) {
				out = append(out, r)
			}
		}
	}
	return out
}

// runStart returns the start of the run that served an attempt's time, zero if
// unknown.
func runStart(p *identity.Pod, container string, at event.Nanos) event.Nanos {
	var found event.Nanos
	for i := range p.Runs {
		r := &p.Runs[i]
		if (container == "" || r.Container == "" || r.Container == container) && r.From <= at.Add(time.Second) {
			found = max(found, r.From)
		}
	}
	return found
}

// podEvents returns the events of the incident's pods with a reason inside
// [from, to].
func (c *Case) podEvents(reason string, from, to event.Nanos) Fact {
	f := Fact{}
	for _, p := range c.Pods {
		for _, e := range p.Events {
			if e.Reason == reason && e.Last.At >= from && e.First.At <= to {
				f.add(fmt.Sprintf("Event %s: %s", reason, oneLine(e.Message)), e.At, e.Ref)
				f.N += int(max(e.Count, 1)) - 1
			}
		}
	}
	return f
}

// steps returns container steps of the incident's pods inside [from, to].
func (c *Case) steps(op event.ContainerOp, claim string, from, to event.Nanos) Fact {
	f := Fact{}
	for _, p := range c.Pods {
		for _, s := range p.Steps {
			if s.Op == op && s.At >= from && s.At <= to {
				f.add(claim, s.At, s.Ref)
			}
		}
	}
	return f
}

// appLog returns lines of the pods' container logs with one of the codes, from
// about the time of the incident or without a time.
func (c *Case) appLog(claim string, codes ...string) Fact {
	f := Fact{}
	for _, p := range c.Pods {
		for _, l := range p.AppLogs {
			near := l.At == 0 || l.At >= c.First.Add(-10*time.Minute) && l.At <= c.Last.Add(time.Minute)
			if near && slices.Contains(codes, l.Code) {
				f.add(claim+": "+oneLine(l.Text), l.At, l.Ref)
			}
		}
	}
	return f
}

// declared reports whether any container of the pod declares the port; known is
// false where the pod declares no ports at all or no input holds its object.
func declared(p *identity.Pod, port int) (yes, known bool) {
	for _, k := range p.Containers {
		for _, q := range k.Ports {
			known = true
			if q.Number == port {
				return true, true
			}
		}
	}
	return false, known
}

// snapshots cites the objects of the incident's pods.
func (c *Case) snapshots() []event.Ref {
	var refs []event.Ref
	for _, p := range c.Pods {
		refs = append(refs, p.Snapshot)
	}
	return cite(refs...)
}
