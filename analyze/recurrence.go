package analyze

import (
	"fmt"
	"slices"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

// maxRecurringPods bounds the list of pods of a recurrence.
const maxRecurringPods = 64

// recurrences tells each incident whose cause came again on its node: what hits
// one pod now and another an hour later is a pattern of the node. Incidents that
// only overlap are one occasion, not two. Without a cause the signature stands
// for it.
func (r *run) recurrences(all []model.Incident) {
	type key struct{ node, what string }
	groups := make(map[key][]int)
	var order []key
	for i := range all {
		v := &all[i]
		k := key{v.Node, v.Cause.ID}
		if v.Cause.ID == rules.Inconclusive {
			k.what += " " + r.cases[i].Signature
		}
		if k.node == "" || v.Window.First.IsZero() {
			continue
		}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], i)
	}
	for _, k := range order {
		if rec := recurrence(all, groups[k], k.node); rec != nil {
			for _, i := range groups[k] {
				all[i].Recurrence = rec
			}
		}
	}
}

// recurrence sums up the incidents of one cause on one node, nil where there is
// one occasion only.
func recurrence(all []model.Incident, group []int, node string) *model.Recurrence {
	if len(group) < 2 {
		return nil
	}
	rec := &model.Recurrence{Times: len(group)}
	seen := make(map[string]bool)
	var lastStart, firstEnd model.Time
	for _, i := range group {
		w := all[i].Window
		if rec.First.IsZero() || w.First.Nanos < rec.First.Nanos {
			rec.First = w.First
		}
		lastStart.Nanos, rec.Last.Nanos = max(lastStart.Nanos, w.First.Nanos), max(rec.Last.Nanos, w.Last.Nanos)
		if firstEnd.IsZero() || w.Last.Nanos < firstEnd.Nanos {
			firstEnd = w.Last
		}
		for _, s := range all[i].Subjects {
			if s.Pod != "" {
				seen[s.Namespace+"/"+s.Pod] = true
			}
		}
	}
	if lastStart.Nanos <= firstEnd.Nanos {
		return nil
	}
	for p := range seen {
		rec.Pods = append(rec.Pods, p)
	}
	slices.Sort(rec.Pods)
	pods := ""
	switch len(rec.Pods) {
	case 0:
	case 1:
		pods = " of one pod"
	default:
		pods = fmt.Sprintf(" of %d pods", len(rec.Pods))
	}
	rec.Note = fmt.Sprintf("The same cause came %d times on node %s: incidents%s between %s and %s", len(group), node, pods,
		rec.First.Nanos.Time().Format("2006-01-02 15:04:05"), rec.Last.Nanos.Time().Format("2006-01-02 15:04:05 UTC"))
	rec.Pods = orEmpty(rec.Pods[:min(len(rec.Pods), maxRecurringPods)])
	return rec
}
