package report

import (
	"slices"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// complete returns a copy of the result in which no list or map is nil, so that
// readers of report.json never meet null where the contract says [] or {}, and
// in which every incident has commands that reproduce it.
func complete(res *model.Result) *model.Result {
	r := *res
	commands := map[string][]string{}
	c := view.Index(res)
	for _, in := range c.Incidents {
		commands[in.ID] = c.Commands(in)
	}
	r.Inputs = each(r.Inputs, func(in *model.Input) {
		in.Streams = each(in.Streams, func(s *model.Stream) {
			s.Problems = each(s.Problems, nil)
			if s.Counts == nil {
				s.Counts = map[string]int64{}
			}
		})
	})
	r.Clock = each(r.Clock, nil)
	r.Pods = each(r.Pods, func(p *model.Pod) {
		p.Containers = each(p.Containers, nil)
		p.Probes = each(p.Probes, nil)
		p.IPIntervals = each(p.IPIntervals, func(i *model.IPInterval) { i.Sources = each(i.Sources, nil) })
	})
	r.Incidents = each(r.Incidents, func(i *model.Incident) {
		i.Subjects = each(i.Subjects, nil)
		i.Contributing = each(i.Contributing, nil)
		i.Alternatives = each(i.Alternatives, nil)
		i.Evidence = each(i.Evidence, nil)
		i.Score = each(i.Score, nil)
		i.WouldChange = each(i.WouldChange, nil)
		i.Missing = each(i.Missing, nil)
		i.Recommend = each(i.Recommend, nil)
		i.Reproduce = each(commands[i.ID], nil)
		i.Consequences = each(i.Consequences, nil)
		if i.Recurrence != nil {
			rec := *i.Recurrence
			rec.Pods = each(rec.Pods, nil)
			i.Recurrence = &rec
		}
	})
	r.Nodes = each(r.Nodes, func(n *model.Node) {
		n.Addresses, n.PodCIDRs = each(n.Addresses, nil), each(n.PodCIDRs, nil)
	})
	r.IPDisagreements = each(r.IPDisagreements, func(d *model.IPDisagreement) {
		d.Claims = each(d.Claims, func(c *model.IPClaim) { c.Sources = each(c.Sources, nil) })
	})
	r.Checked.Nodes = each(r.Checked.Nodes, nil)
	r.Checked.CouldNot = each(r.Checked.CouldNot, nil)
	if r.Checked.Grid == nil {
		r.Checked.Grid = map[string]int{}
	}
	if r.Totals.ByCause == nil {
		r.Totals.ByCause = map[string]int{}
	}
	return &r
}

// each copies a list, never to nil, and applies f to the copies.
func each[T any](in []T, f func(*T)) []T {
	out := append(make([]T, 0, len(in)), slices.Clip(in)...)
	if f != nil {
		for i := range out {
			f(&out[i])
		}
	}
	return out
}
