// Package fleet sums up the reports of many cases: which causes, where, how
// often and since when. It reads what report.json holds, so the cases may come
// from any number of runs and machines.
//
// A bundle that was analysed twice counts once, with the report added last. An
// incident that two bundles of one cluster saw counts once as well, with the
// higher confidence. Neither the order of equal reports nor the wall clock shows
// in the result.
package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// Builder collects reports.
type Builder struct {
	cases  []*caseBrief
	byID   map[string]int // place of a bundle id in cases
	failed []Failed
	again  int
}

// caseBrief is what is kept of one report.
type caseBrief struct {
	name, cluster, version, rules string
	incidents                     []brief
}

// brief is what is kept of one incident.
type brief struct {
	id, cluster, cause, family, title, fingerprint, summary string
	confidence                                              float64
	failed                                                  int
	first, last                                             event.Nanos
	nodes, namespaces, owners                               []string
	bundles                                                 []string // that saw it
}

// Failed is a bundle without a report.
type Failed struct {
	Bundle string `json:"bundle"`
	Reason string `json:"reason"`
}

// New returns an empty builder.
func New() *Builder { return &Builder{byID: map[string]int{}} }

// Fail notes a bundle that could not be analysed, or a report that could not be
// read.
func (b *Builder) Fail(bundle, reason string) {
	b.failed = append(b.failed, Failed{Bundle: bundle, Reason: reason})
}

// Add adds a report under a name that leads back to it.
func (b *Builder) Add(name string, res *model.Result) {
	c := &caseBrief{name: name, cluster: res.Cluster, version: res.Tool.Version, rules: res.Tool.RulesHash}
	type podKey struct{ namespace, pod string }
	pods := make(map[podKey]*model.Pod, len(res.Pods))
	for i := range res.Pods {
		p := &res.Pods[i]
		pods[podKey{p.Namespace, p.Pod}] = p
	}
	for _, in := range view.Index(res).Incidents {
		x := brief{id: in.ID, cluster: res.Cluster, cause: in.Cause.ID, family: in.Cause.Family, title: in.Cause.Title,
			fingerprint: in.Fingerprint, summary: in.Sentence(), confidence: in.Cause.Confidence, failed: in.FailedAttempts,
			first: in.Window.First.Nanos, last: in.Window.Last.Nanos, bundles: []string{name}}
		add := func(list *[]string, v string) {
			if v != "" && !slices.Contains(*list, v) {
				*list = append(*list, v)
			}
		}
		add(&x.nodes, in.Node)
		for _, s := range in.Subjects {
			add(&x.namespaces, s.Namespace)
			p := pods[podKey{s.Namespace, s.Pod}]
			switch {
			case p == nil && s.Pod != "":
				add(&x.owners, s.Namespace+"/"+s.Pod)
			case p != nil:
				if in.Node == "" {
					add(&x.nodes, p.Node)
				}
				add(&x.owners, s.Namespace+"/"+cmp.Or(Workload(p.Owner), s.Pod))
			}
		}
		c.incidents = append(c.incidents, x)
	}
	if at, known := b.byID[res.BundleID]; known && res.BundleID != "" {
		b.cases[at] = c
		b.again++
		return
	}
	b.byID[res.BundleID] = len(b.cases)
	b.cases = append(b.cases, c)
}

// Workload names an owner without the hash of a ReplicaSet, which changes with
// every roll-out; "" when there is none.
func Workload(o model.Owner) string {
	if o.Name == "" {
		return ""
	}
	if o.Kind == "ReplicaSet" {
		if i := strings.LastIndexByte(o.Name, '-'); i > 0 {
			return "Deployment/" + o.Name[:i]
		}
	}
	return o.Kind + "/" + o.Name
}

// incidents are those of all cases, each once, by time.
func (b *Builder) incidents() []*brief {
	type key struct{ cluster, id string }
	found := map[key]*brief{}
	for _, c := range b.cases {
		for i := range c.incidents {
			in := c.incidents[i]
			k := key{in.cluster, in.id}
			old := found[k]
			if old == nil {
				found[k] = &in
				continue
			}
			bundles := append(old.bundles, in.bundles...)
			if in.confidence > old.confidence || in.confidence == old.confidence && in.bundles[0] < old.bundles[0] {
				*old = in
			}
			slices.Sort(bundles)
			old.bundles = slices.Compact(bundles)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *brief) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.id, b.id))
	})
}
