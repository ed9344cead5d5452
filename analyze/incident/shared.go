package incident

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

const (
	sharedPods  = 3                // how many pods make a shared incident
	sharedProof = 0.7              // how sure each part's cause must be
	together    = 5 * time.Second  // how close what they share must lie
	upstreamAge = 90 * time.Second // how long before the first exit an upstream failure may lie: a lease lasts about that long
)

// Kinds of what incidents share.
const (
	SharedUpstream = "shared-upstream"     // what the pods depend on failed, and they ended together
	SharedPlugin   = "node-network-plugin" // the network plugin of one node served none of them
	SharedWorkload = "one-workload"        // pods of one workload on several nodes failed alike at one moment
)

// Judged is an incident of a pod with the cause that was found for it.
type Judged struct {
	*Incident
	Cause      string
	Confidence float64
}

// Group is several incidents that share a proven cause. Parts index the list
// given to Shared; Proof is what shows that they share it, besides the causes.
type Group struct {
	Incident *Incident
	Kind     string // one of the Shared constants
	Parts    []int
	Proof    []State
	Text     string
}

// Shared finds incidents of pods that are one: each has its cause proven, the
// causes are the same, and something besides the overlap in time shows that it
// came from one place. Pods whose containers ended in one moment right after what
// they depend on failed; sandboxes that one node's network plugin kept waiting to
// the same moment; pods of one workload that fail alike on several nodes from the
// same moment on. Incidents that merely overlap stay apart.
func Shared(x *identity.Index, s *probe.Set, all []Judged) []Group {
	var out []Group
	used := make(map[int]bool)
	take := func(gs []Group) {
		for _, g := range gs {
			for _, i := range g.Parts {
				used[i] = true
			}
			out = append(out, g)
		}
	}
	take(exits(x, s, open(all, used, func(j *Judged) bool { return j.Cause == "app-crash-loop" }), all))
	take(plugins(open(all, used, func(j *Judged) bool {
		return j.Cause == "cni-add-slow" || j.Cause == "cni-add-failed" || j.Cause == "ip-pool-exhausted"
	}), all))
	take(workloads(open(all, used, func(j *Judged) bool { return j.Trigger == model.TriggerAttempts && j.Cause != "pod-terminating" }), all))
	for i := range out {
		out[i].Incident = join(all, &out[i])
	}
	return out
}

// open returns the incidents of single pods whose cause is sure enough, in order.
func open(all []Judged, used map[int]bool, fits func(*Judged) bool) []int {
	var out []int
	for i := range all {
		if j := &all[i]; !used[i] && j.Scope == model.ScopePod && len(j.Pods) == 1 && j.Confidence >= sharedProof && fits(j) {
			out = append(out, i)
		}
	}
	return out
}

// exit is the end of a container's run that belongs to an incident.
type exit struct {
	part int
	at   event.Nanos
}

// exits groups crash loops whose containers ended by themselves together, where
// an upstream failure explains why.
func exits(x *identity.Index, s *probe.Set, parts []int, all []Judged) []Group {
	var es []exit
	for _, i := range parts {
		inc := all[i].Incident
		for _, r := range inc.Pods[0].Runs {
			if r.To != 0 && r.KilledBy == event.ProbeUnknown && !r.Deletion && r.To >= inc.First.Add(-upstreamAge) && r.To <= inc.Last.Add(together) {
				es = append(es, exit{i, r.To})
			}
		}
	}
	slices.SortStableFunc(es, func(a, b exit) int { return cmp.Compare(a.at, b.at) })
	// The burst that most pods share comes first; a pod belongs to one.
	var bursts [][]exit
	for i := 0; i < len(es); {
		j := i + 1
		for j < len(es) && es[j].at.Sub(es[j-1].at) <= together {
			j++
		}
		bursts = append(bursts, es[i:j])
		i = j
	}
	slices.SortStableFunc(bursts, func(a, b []exit) int { return cmp.Compare(len(partsOf(b)), len(partsOf(a))) })
	var out []Group
	used := make(map[int]bool)
	for _, b := range bursts {
		b = slices.DeleteFunc(slices.Clone(b), func(e exit) bool { return used[e.part] })
		ps := partsOf(b)
		if len(ps) < sharedPods || owners(ps, all) < sharedPods {
			continue
		}
		first, last := b[0].at, b[len(b)-1].at
		proof := upstream(x, s, ps, all, first)
		if len(proof) == 0 {
			continue
		}
		for _, i := range ps {
			used[i] = true
		}
		out = append(out, Group{Kind: SharedUpstream, Parts: ps, Proof: proof,
			Text: fmt.Sprintf("Containers of %d pods of different workloads ended by themselves within %s, %s %s.", len(ps), span(last.Sub(first)), when(proof[0].At, first), proof[0].Text)})
	}
	return out
}

func when(proof, exit event.Nanos) string {
	if proof <= exit {
		return "after"
	}
	return "while"
}

func span(d time.Duration) string {
	return max(d.Round(100*time.Millisecond), 100*time.Millisecond).String()
}

func partsOf(es []exit) []int {
	var out []int
	for _, e := range es {
		if !slices.Contains(out, e.part) {
			out = append(out, e.part)
		}
	}
	slices.Sort(out)
	return out
}

// owners counts the workloads behind the parts: replicas of one may end together
// for a reason of their own.
func owners(parts []int, all []Judged) int {
	seen := make(map[string]bool)
	for _, i := range parts {
		seen[workload(all[i].Pods[0])] = true
	}
	return len(seen)
}

func workload(p *identity.Pod) string {
	if p.Owner.Kind == "" || p.Owner.Kind == "Node" {
		// A mirror pod bears the node's name behind that of what it runs.
		return p.Namespace + "/" + strings.TrimSuffix(p.Name, "-"+p.Node)
	}
	return p.Namespace + "/" + p.Owner.Kind + "/" + p.Owner.Name
}

// upstream looks for what failed before pods ended together: their nodes, or the
// API server and its store, on which whatever holds a lease depends. What came
// before the exits comes first, the nearest at the head.
func upstream(x *identity.Index, s *probe.Set, parts []int, all []Judged, at event.Nanos) []State {
	near := func(t event.Nanos) bool { return t != 0 && t >= at.Add(-upstreamAge) && t <= at.Add(together) }
	var out []State
	for _, n := range x.Nodes {
		if !slices.ContainsFunc(parts, func(i int) bool { return all[i].Node == n.Name }) {
			continue
		}
		for _, r := range n.Restarts() {
			if near(r.Started) {
				out = append(out, State{Code: StateUpstream, At: r.Started, To: r.Started, Refs: r.Refs, Text: "the kubelet of " + n.Name + " was restarted"})
			}
		}
		for _, t := range n.States {
			text := ""
			switch t.Code {
			case event.NodeNotReady:
				text = "node " + n.Name + " became not ready"
			case event.NodeReboot:
				text = "node " + n.Name + " was rebooted"
			case event.NodeRuntimeStopped:
				text = "the runtime of " + n.Name + " stopped"
			case event.NodeStatusFailed:
				if !harmless(t.Message) && unanswered(t.Message) {
					text = "the kubelet of " + n.Name + " could not reach the API server"
				}
			}
			if text != "" && near(t.At) {
				out = append(out, State{Code: StateUpstream, At: t.At, To: t.At, Refs: []event.Ref{t.Ref}, Text: text})
			}
		}
	}
	for _, p := range x.Pods {
		component := controlPlane(p)
		if component == "" {
			continue
		}
		for _, r := range p.Runs {
			if near(r.To) && r.To <= at && (r.Container == component || r.Container == "") {
				out = append(out, State{Code: StateUpstream, At: r.To, To: r.To, Refs: r.Refs, Text: "a container of " + p.PodRef.String() + " ended"})
			}
		}
		for _, w := range s.OfPod(p) {
			for _, a := range w.Attempts {
				if a.Failed() && near(a.End) && a.End <= at && len(a.Refs) > 0 {
					out = append(out, State{Code: StateUpstream, At: a.End, To: a.End, Refs: a.Refs, Text: "the " + w.Type.String() + " probe of " + p.PodRef.String() + " failed"})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b State) int {
		return cmp.Or(cmp.Compare(max(a.At, at), max(b.At, at)), cmp.Compare(b.At, a.At), strings.Compare(a.Text, b.Text))
	})
	seen := make(map[string]bool)
	return slices.DeleteFunc(out, func(t State) bool {
		again := seen[t.Text]
		seen[t.Text] = true
		return again
	})
}

// unanswered recognises calls that the API server did not answer, or not in time.
func unanswered(message string) bool {
	for _, s := range []string{"connection refused", "timeout", "deadline exceeded", "EOF", "connection reset", "no route to host", "etcdserver", "TLS handshake", "unavailable"} {
		if strings.Contains(message, s) {
			return true
		}
	}
	return false
}

// controlPlane names the container of a static pod that serves or stores the API,
// "" for other pods.
func controlPlane(p *identity.Pod) string {
	if p.Node == "" || !strings.HasSuffix(p.Name, "-"+p.Node) {
		return ""
	}
	switch strings.TrimSuffix(p.Name, "-"+p.Node) {
	case "kube-apiserver":
		return "kube-apiserver"
	case "etcd":
		return "etcd"
	}
	return ""
}

// plugins groups pods of one node whose sandboxes its network plugin failed or
// kept waiting to the same moment.
func plugins(parts []int, all []Judged) []Group {
	return cluster(parts, all, func(j *Judged) string {
		if j.Node == "" {
			return ""
		}
		return j.Node + " " + j.Cause
	}, func(a, b *Judged) bool { return a.Last.Sub(b.Last).Abs() <= together }, func(ps []int) *Group {
		j := &all[ps[0]]
		return &Group{Kind: SharedPlugin, Parts: ps, Text: fmt.Sprintf("The network of node %s served none of %d pods until the same moment.", j.Node, len(ps))}
	})
}

// workloads groups pods of one workload that fail alike on several nodes from the
// same moment on: what they share is what the workload depends on.
func workloads(parts []int, all []Judged) []Group {
	return cluster(parts, all, func(j *Judged) string { return workload(j.Pods[0]) + " " + j.Cause + " " + j.Signature },
		func(a, b *Judged) bool { return a.First.Sub(b.First).Abs() <= together }, func(ps []int) *Group {
			nodes := make(map[string]bool)
			for _, i := range ps {
				nodes[all[i].Node] = true
			}
			if len(nodes) < 2 {
				return nil
			}
			return &Group{Kind: SharedWorkload, Parts: ps, Text: fmt.Sprintf("%d pods of one workload failed alike on %d nodes from the same moment on.", len(ps), len(nodes))}
		})
}

// cluster groups parts of one key ("" for none) that all fit the first of their
// group.
func cluster(parts []int, all []Judged, key func(*Judged) string, fits func(a, b *Judged) bool, group func([]int) *Group) []Group {
	of := make(map[string][]int)
	var keys []string
	for _, i := range parts {
		k := key(&all[i])
		if k == "" {
			continue
		}
		if of[k] == nil {
			keys = append(keys, k)
		}
		of[k] = append(of[k], i)
	}
	var out []Group
	used := make(map[int]bool)
	for _, k := range keys {
		for n, i := range of[k] {
			if used[i] {
				continue
			}
			ps := []int{i}
			pods := map[*identity.Pod]bool{all[i].Pods[0]: true}
			for _, j := range of[k][n+1:] {
				if p := all[j].Pods[0]; !used[j] && fits(&all[i], &all[j]) && !pods[p] {
					ps = append(ps, j)
					pods[p] = true
				}
			}
			if len(ps) < sharedPods {
				continue
			}
			if g := group(ps); g != nil {
				for _, j := range ps {
					used[j] = true
				}
				out = append(out, *g)
			}
		}
	}
	return out
}

// join makes one incident of the parts of a group: of the node where all lie on
// one, else of the cluster.
func join(all []Judged, g *Group) *Incident {
	n := &Incident{Scope: model.ScopeNode, Trigger: all[g.Parts[0]].Trigger, Node: all[g.Parts[0]].Node, Signature: all[g.Parts[0]].Signature}
	for _, i := range g.Parts {
		p := all[i].Incident
		n.Parts = append(n.Parts, p)
		n.Pods = append(n.Pods, p.Pods...)
		n.Members = append(n.Members, p.Members...)
		n.States = append(n.States, p.States...)
		if n.First == 0 || p.First < n.First {
			n.First = p.First
		}
		n.Last = max(n.Last, p.Last)
		if p.Node != n.Node {
			n.Scope = model.ScopeCluster
		}
		if p.Trigger == model.TriggerAttempts {
			n.Trigger = p.Trigger
		}
	}
	if n.Scope == model.ScopeCluster {
		n.Node = ""
	}
	if len(n.Members) > 0 {
		n.Members = slices.Clone(n.Members)
		for i := range n.Members {
			n.Members[i].Attempts = nil
		}
		fill(n)
	}
	return n
}
