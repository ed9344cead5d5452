package identity

import (
	"cmp"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Process is one kubelet process of a node, as far as its log was kept. Times
// are those of its first and last record; a process that has no record of its
// own kind is not known.
type Process struct {
	PID         int32 // 0 where no record names it
	First, Last event.Nanos
	FirstRef    event.Ref
	LastRef     event.Ref
}

// kubeletWrote reports whether only a kubelet writes records like this one, and
// the record comes from its log.
func kubeletWrote(e *event.Event) bool {
	switch p := e.Payload.(type) {
	case *event.ProbeResult, *event.ProbeState, *event.ProbeTarget:
		return true
	case *event.PodSync:
		return p.Source != "audit"
	case *event.SandboxChange:
		return p.Op == event.SandboxNeeded || p.Op == event.SandboxLost
	case *event.NodeState:
		switch p.Code {
		case event.NodePLEGUnhealthy, event.NodeHousekeepingSlow, event.NodeThrottled:
			return true
		case event.NodeKubeletStarted:
			return e.PID > 1 // systemd says so too, as process 1
		}
	}
	return false
}

// kubelet notes a record of a kubelet's log.
func (b *Builder) kubelet(e *event.Event, at event.Nanos) {
	if at == 0 || !kubeletWrote(e) {
		return
	}
	n := b.node(e.Node)
	i := slices.IndexFunc(n.Kubelets, func(p Process) bool { return p.PID == e.PID })
	if i < 0 {
		n.Kubelets = append(n.Kubelets, Process{PID: e.PID, First: at, Last: at, FirstRef: e.Ref, LastRef: e.Ref})
		return
	}
	p := &n.Kubelets[i]
	if at < p.First {
		p.First, p.FirstRef = at, e.Ref
	}
	if at > p.Last {
		p.Last, p.LastRef = at, e.Ref
	}
}

// adopt gives facts of a stream that names no host (dmesg, a pasted log or table)
// to the only node the case's pods are on. With pods on several nodes, or on none
// that is named, they stay apart.
func (b *Builder) adopt() {
	only := ""
	for _, p := range b.x.Pods {
		// Pods known from events alone may be of another day and node.
		if p.Snapshot.IsZero() && len(p.Steps)+len(p.SandboxSteps)+len(p.Ready) == 0 {
			continue
		}
		if p.Node != "" && p.Node != only {
			if only != "" {
				return
			}
			only = p.Node
		}
	}
	if only == "" {
		return
	}
	if lost := b.nodes[""]; lost != nil {
		n := b.node(only)
		n.States = append(n.States, lost.States...)
		n.Kubelets = append(n.Kubelets, lost.Kubelets...)
		delete(b.nodes, "")
	}
	for i := range b.x.Facts {
		b.x.Facts[i].Node = cmp.Or(b.x.Facts[i].Node, only)
	}
}

// finishNodes sorts what is known of each node.
func (b *Builder) finishNodes() {
	b.adopt()
	for _, name := range sortedKeys(b.nodes) {
		n := b.nodes[name]
		slices.SortStableFunc(n.States, func(a, c NodeState) int { return cmp.Or(cmp.Compare(a.At, c.At), a.Ref.Compare(c.Ref)) })
		slices.SortStableFunc(n.Kubelets, func(a, c Process) int {
			return cmp.Or(cmp.Compare(a.First, c.First), cmp.Compare(a.PID, c.PID))
		})
		b.x.Nodes = append(b.x.Nodes, n)
	}
}

// Restarts returns the starts of the kubelet that the log shows: each with the
// process before it (nil where only the start's own messages tell) and the
// start's records. A start that opens the data is none: nothing says that a
// kubelet ran before.
func (n *Node) Restarts() []Restart {
	var out []Restart
	for i := 1; i < len(n.Kubelets); i++ {
		old, p := &n.Kubelets[i-1], &n.Kubelets[i]
		if old.PID != p.PID && p.First >= old.Last {
			out = append(out, Restart{Old: old, Stopped: old.Last, Started: p.First, Refs: []event.Ref{p.FirstRef, old.LastRef}})
		}
	}
	for _, s := range n.States {
		if s.Code != event.NodeKubeletStarted || s.At == 0 {
			continue
		}
		i := slices.IndexFunc(out, func(r Restart) bool { return s.At >= r.Stopped && s.At < r.Started+startSpan })
		switch {
		case i >= 0:
			r := &out[i]
			if s.PID != 0 { // an Event object has whole seconds
				r.Started = min(r.Started, s.At)
			}
			r.Ready = max(r.Ready, s.At)
			r.Version = cmp.Or(versionOf(s), r.Version)
			r.addRef(s.Ref)
		case n.ranBefore(s.At):
			out = append(out, Restart{Stopped: s.At, Started: s.At, Ready: s.At, Version: versionOf(s), Refs: []event.Ref{s.Ref}})
		}
	}
	for i := range out {
		n.stopOf(&out[i])
	}
	slices.SortStableFunc(out, func(a, b Restart) int { return cmp.Compare(a.Started, b.Started) })
	return out
}

// Restart is a kubelet that was started anew.
type Restart struct {
	Old *Process
	// Stopped is when the old process was stopped or last heard of, Started the first
	// record of the new one, Ready its last start message (0 none seen).
	Stopped, Started, Ready event.Nanos
	Version                 string // of the new one, "" unknown
	// Ordered is set when the service manager says that it stopped the unit.
	Ordered bool
	Refs    []event.Ref
}

func (r *Restart) addRef(ref event.Ref) {
	if len(r.Refs) < 16 && !slices.Contains(r.Refs, ref) {
		r.Refs = append(r.Refs, ref)
	}
}

// startSpan is how long the messages of one start may take.
const startSpan = 90e9

func within(a, b event.Nanos) bool { return a-b < startSpan && b-a < startSpan }

// ranBefore reports whether a kubelet was at work well before t: its start
// messages and those of its first seconds do not count.
func (n *Node) ranBefore(t event.Nanos) bool {
	for _, p := range n.Kubelets {
		if p.First < t-startSpan {
			return true
		}
	}
	return slices.ContainsFunc(n.States, func(s NodeState) bool {
		return s.Code == event.NodeKubeletStopped && s.At != 0 && s.At < t && within(s.At, t)
	})
}

// stopOf looks for the service manager's word on the stop.
func (n *Node) stopOf(r *Restart) {
	for _, s := range n.States {
		if s.Code == event.NodeKubeletStopped && s.At <= r.Started && within(s.At, r.Started) && s.At >= r.Stopped-1e9 {
			r.Ordered = true
			r.Stopped = s.At
			r.addRef(s.Ref)
		}
	}
}

func versionOf(s NodeState) string {
	if len(s.Value) > 1 && s.Value[0] == 'v' {
		return s.Value
	}
	return ""
}

// AtWork reports whether a kubelet of the node had been running for a while at t:
// what happens before that belongs to the boot.
func (n *Node) AtWork(t event.Nanos) bool {
	return slices.ContainsFunc(n.Kubelets, func(p Process) bool { return p.First < t-startSpan/3 })
}

// Booting reports whether the node was rebooted within span of t.
func (n *Node) Booting(t event.Nanos, span time.Duration) bool {
	return slices.ContainsFunc(n.States, func(s NodeState) bool {
		return s.Code == event.NodeReboot && s.At != 0 && s.At.Sub(t) < span && t.Sub(s.At) < span
	})
}
