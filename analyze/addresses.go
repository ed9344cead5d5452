package analyze

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// disagreements writes down where sources contradict each other about addresses.
// States of intervals that other claims oppose are kept in r.disputed.
func (r *run) disagreements() []model.IPDisagreement {
	out := []model.IPDisagreement{}
	r.disputed = make(map[*identity.Interval]bool)
	for _, d := range r.index.Disagreements() {
		m := model.IPDisagreement{Kind: model.DisagreeSources, Expected: d.Expected, From: model.At(d.From), To: model.At(d.To), Why: d.Why}
		if d.Owners {
			m.Kind = model.DisagreeOwners
		}
		wanted := false
		for i := range d.Claims {
			c := &d.Claims[i]
			k := model.IPClaim{Namespace: c.Pod.Namespace, Pod: c.Pod.Name, UID: c.Pod.UID, IP: c.IP().String(), Believed: d.Believed && i == 0, Sources: []model.IPSource{}}
			for _, s := range c.Sources {
				k.Sources = append(k.Sources, sourceOf(s))
				k.Rank = max(k.Rank, s.Trust)
			}
			m.Claims = append(m.Claims, k)
			wanted = wanted || r.matchesPod(c.Pod)
			if !d.Expected && c.Interval.State == identity.Held {
				r.disputed[c.Interval] = true
			}
		}
		if since, until := r.bounds(); since != 0 && cmp.Or(d.To, r.index.Last) < since || until != 0 && d.From > until {
			wanted = false
		}
		if wanted {
			out = append(out, m)
		}
	}
	return out
}

func sourceOf(s identity.Source) model.IPSource {
	return model.IPSource{Kind: s.Kind, Ref: model.RefOf(s.Ref), At: model.At(s.At), Rank: s.Trust}
}

// nodes writes down the addresses of the nodes.
func (r *run) nodes() []model.Node {
	told := make(map[string][]netip.Addr) // by their pods
	for _, p := range r.index.Pods {
		told[p.Node] = append(told[p.Node], p.NodeIPs()...)
	}
	out := []model.Node{}
	for _, n := range r.index.Nodes {
		if n.Name == "" || !glob(r.opts.Nodes, n.Name) {
			continue
		}
		m := model.Node{Name: n.Name, Addresses: []string{}, PodCIDRs: []string{}}
		for _, ip := range slices.Concat(n.Addresses, told[n.Name]) {
			if s := ip.Unmap().String(); !slices.Contains(m.Addresses, s) {
				m.Addresses = append(m.Addresses, s)
			}
		}
		for _, c := range n.PodCIDRs {
			m.PodCIDRs = append(m.PodCIDRs, c.String())
		}
		out = append(out, m)
	}
	return out
}
