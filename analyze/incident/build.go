package incident

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Gaps of F.3.
const (
	minGap     = 30 * time.Second // failures closer than this are one episode
	mergeGap   = 30 * time.Second // episodes of one pod closer than this are one incident
	repeatGap  = 5 * time.Minute  // episodes of one probe with the same signature
	nodeWindow = 5 * time.Second  // episodes that start together on a node
	nodePods   = 3
)

// Build groups the failed attempts of all workers.
func Build(s *probe.Set) []*Incident {
	var all []*Incident
	byPod := make(map[*identity.Pod][]*episode)
	var order []*identity.Pod
	for _, w := range s.Workers {
		es := episodes(w)
		if len(es) == 0 || Bygone(w.Pod, s) {
			continue
		}
		if _, ok := byPod[w.Pod]; !ok {
			order = append(order, w.Pod)
		}
		byPod[w.Pod] = append(byPod[w.Pod], es...)
	}
	for _, p := range order {
		all = append(all, mergePod(p, byPod[p])...)
	}
	sortIncidents(all)
	return all
}

// Bygone reports whether a pod is known from old events alone while a later pod
// bears its name: the inputs hold nothing to judge it by. Its failures are
// counted, not explained.
func Bygone(p *identity.Pod, s *probe.Set) bool {
	if !p.Snapshot.IsZero() || len(p.Steps)+len(p.SandboxSteps)+len(p.Ready) > 0 {
		return false
	}
	for _, w := range s.OfPod(p) {
		if slices.ContainsFunc(w.Attempts, func(a *probe.Attempt) bool { return a.Source != "event" }) {
			return false
		}
	}
	return slices.ContainsFunc(s.Namesakes(p), func(o *identity.Pod) bool { return o.First > p.First && len(s.OfPod(o)) > 0 })
}

// episode is a run of failures of one worker.
type episode struct {
	w           *probe.Worker
	failed      []*probe.Attempt
	first, last event.Nanos
	classes     string
	terminating bool
}

func episodes(w *probe.Worker) []*episode {
	gap := max(2*w.Period, minGap)
	var out []*episode
	var cur *episode
	for _, a := range w.Attempts {
		if !a.Failed() {
			continue
		}
		terminating := w.Pod.DeletedAt != 0 && a.End >= w.Pod.DeletedAt
		if cur == nil || a.End.Sub(cur.last) > gap || terminating != cur.terminating {
			cur = &episode{w: w, first: a.End, terminating: terminating}
			out = append(out, cur)
		}
		cur.failed = append(cur.failed, a)
		cur.last = a.End
	}
	for _, e := range out {
		e.classes = signature(e.failed)
	}
	// A probe that fails the same way again within minutes has one story: a crash
	// loop, a forwarding entry that flips, a start after each restart.
	merged := out[:0]
	for _, e := range out {
		if n := len(merged); n > 0 {
			p := merged[n-1]
			if p.terminating == e.terminating && p.classes == e.classes && e.first.Sub(p.last) <= repeatGap {
				p.failed = append(p.failed, e.failed...)
				p.last = e.last
				continue
			}
		}
		merged = append(merged, e)
	}
	return merged
}

// signature tells alike failures apart: what kind of failure, not where.
func signature(failed []*probe.Attempt) string {
	kinds := make(map[string]bool)
	for _, a := range failed {
		kinds[kind(a)] = true
	}
	out := make([]string, 0, len(kinds))
	for k := range kinds {
		out = append(out, k)
	}
	slices.Sort(out)
	return strings.Join(out, "+")
}

func kind(a *probe.Attempt) string {
	switch {
	case a.Class.Timeout(), a.Class == probe.ClassNoRoute:
		// Slow ARP failure prints a time-out first and "no route to host" later.
		return "timeout"
	case a.Class == probe.ClassStatus:
		return "status-" + strconv.Itoa(a.Status/100) + "xx"
	default:
		return string(a.Class)
	}
}

// mergePod joins the episodes of one pod that overlap: liveness and readiness of
// one container fail together.
func mergePod(p *identity.Pod, es []*episode) []*Incident {
	slices.SortStableFunc(es, func(a, b *episode) int {
		return cmp.Or(cmp.Compare(a.first, b.first), strings.Compare(a.w.Container, b.w.Container), cmp.Compare(a.w.Type, b.w.Type))
	})
	var out []*Incident
	var groups [][]*episode
	for _, e := range es {
		placed := false
		for i, g := range groups {
			var last event.Nanos
			for _, o := range g {
				last = max(last, o.last)
			}
			if g[0].terminating == e.terminating && e.first.Sub(last) <= mergeGap && related(g, e) {
				groups[i] = append(g, e)
				placed = true
				break
			}
		}
		if !placed {
			groups = append(groups, []*episode{e})
		}
	}
	for _, g := range groups {
		out = append(out, fromEpisodes(p, g))
	}
	return out
}

// related keeps unlike failures of different probes apart: an exec probe and an
// HTTP probe of one pod may fail for different reasons. The same worker goes on
// whatever the text.
func related(g []*episode, e *episode) bool {
	for _, o := range g {
		if o.w == e.w || o.classes == e.classes || share(o.classes, e.classes) {
			return true
		}
	}
	return false
}

func share(a, b string) bool {
	for k := range strings.SplitSeq(a, "+") {
		for l := range strings.SplitSeq(b, "+") {
			if k == l {
				return true
			}
		}
	}
	return false
}

func fromEpisodes(p *identity.Pod, g []*episode) *Incident {
	inc := &Incident{Scope: model.ScopePod, Trigger: model.TriggerAttempts, Node: p.Node, Pods: []*identity.Pod{p}}
	var all []*probe.Attempt
	byWorker := make(map[*probe.Worker]int)
	for _, e := range g {
		if inc.First == 0 || e.first < inc.First {
			inc.First = e.first
		}
		inc.Last = max(inc.Last, e.last)
		all = append(all, e.failed...)
		i, ok := byWorker[e.w]
		if !ok {
			i = len(inc.Members)
			byWorker[e.w] = i
			inc.Members = append(inc.Members, Member{Worker: e.w})
		}
		inc.Members[i].Failed = append(inc.Members[i].Failed, e.failed...)
	}
	inc.Signature = signature(all)
	fill(inc)
	return inc
}

// fill adds the attempts inside the window and the recovery.
func fill(inc *Incident) {
	slices.SortFunc(inc.Members, func(a, b Member) int { return compareWorkers(a.Worker, b.Worker) })
	for i := range inc.Members {
		m := &inc.Members[i]
		m.Attempts = m.Attempts[:0]
		failed := make(map[*probe.Attempt]bool, len(m.Failed))
		for _, a := range m.Failed {
			failed[a] = true
		}
		for _, a := range m.Worker.Attempts {
			if a.End >= inc.First && a.End <= inc.Last || failed[a] {
				m.Attempts = append(m.Attempts, a)
			}
		}
	}
	inc.Recovered = recovery(inc)
}

func compareWorkers(v, w *probe.Worker) int {
	return cmp.Or(strings.Compare(v.Pod.Namespace, w.Pod.Namespace), strings.Compare(v.Pod.Name, w.Pod.Name),
		strings.Compare(v.Pod.UID, w.Pod.UID), strings.Compare(v.Container, w.Container), cmp.Compare(v.Type, w.Type))
}

// recovery is the first success of every member after the last failure, or the
// kubelet's own word for it.
func recovery(inc *Incident) event.Nanos {
	var rec event.Nanos
	for _, m := range inc.Members {
		var at event.Nanos
		for _, a := range m.Worker.Attempts {
			if a.End > inc.Last && (a.Outcome == event.OutcomeSucceeded || a.Outcome == event.OutcomeWarning) {
				at = a.End
				break
			}
		}
		for _, r := range m.Worker.Pod.Ready {
			if r.At > inc.Last && r.Probe == m.Worker.Type && (r.Status == "ready" || r.Status == "started") && (at == 0 || r.At < at) {
				at = r.At
				break
			}
		}
		if at == 0 {
			return 0
		}
		rec = max(rec, at)
	}
	return rec
}

// NodeCandidates proposes node incidents: pods of one node whose episodes start
// within five seconds with the same signature, at least three of them and three
// tenths of the probed pods. Whether a node-level cause explains them is for the
// rules to say; else the pods' own incidents stand.
func NodeCandidates(s *probe.Set, incs []*Incident) []*Incident {
	probed := make(map[string]map[*identity.Pod]bool)
	for _, w := range s.Workers {
		if probed[w.Pod.Node] == nil {
			probed[w.Pod.Node] = make(map[*identity.Pod]bool)
		}
		probed[w.Pod.Node][w.Pod] = true
	}
	var out []*Incident
	used := make(map[*Incident]bool)
	for i, a := range incs {
		if used[a] || a.Trigger != model.TriggerAttempts || a.Node == "" {
			continue
		}
		group := []*Incident{a}
		pods := map[*identity.Pod]bool{a.Pods[0]: true}
		for _, b := range incs[i+1:] {
			if b.First.Sub(a.First) > nodeWindow {
				break // by first failure
			}
			if used[b] || b.Node != a.Node || b.Trigger != a.Trigger || b.Signature != a.Signature {
				continue
			}
			if b.First.Sub(a.First).Abs() <= nodeWindow && !pods[b.Pods[0]] {
				group = append(group, b)
				pods[b.Pods[0]] = true
			}
		}
		all := len(probed[a.Node])
		if len(pods) < nodePods || len(pods)*10 < all*3 {
			continue
		}
		n := &Incident{Scope: model.ScopeNode, Trigger: a.Trigger, Node: a.Node, Signature: a.Signature, Parts: group}
		for _, g := range group {
			used[g] = true
			n.Pods = append(n.Pods, g.Pods...)
			n.Members = append(n.Members, g.Members...)
			if n.First == 0 || g.First < n.First {
				n.First = g.First
			}
			n.Last = max(n.Last, g.Last)
		}
		n.Members = slices.Clone(n.Members)
		for i := range n.Members {
			n.Members[i].Attempts = nil
		}
		fill(n)
		out = append(out, n)
	}
	return out
}

func sortIncidents(is []*Incident) {
	slices.SortStableFunc(is, func(a, b *Incident) int {
		return cmp.Or(cmp.Compare(a.First, b.First), strings.Compare(name(a), name(b)), cmp.Compare(a.Last, b.Last))
	})
}

func name(i *Incident) string {
	if len(i.Pods) == 0 {
		return i.Node
	}
	return i.Pods[0].String() + i.Pods[0].UID
}
