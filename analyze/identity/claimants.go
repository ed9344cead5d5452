package identity

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// claimants finds addresses that several live pods claim at one time.
func (x *Index) claimants() []Disagreement {
	ips := make([]netip.Addr, 0, len(x.byIP))
	for ip, pods := range x.byIP {
		if len(pods) > 1 && !x.shared[ip] && !ip.IsLinkLocalUnicast() && !ip.IsLoopback() {
			ips = append(ips, ip)
		}
	}
	slices.SortFunc(ips, netip.Addr.Compare)
	var out []Disagreement
	for _, ip := range ips {
		if d, ok := x.claimantsOf(ip); ok {
			out = append(out, d)
		}
	}
	return out
}

// maxClaimants bounds the claims to one address that are compared.
const maxClaimants = 512

// lived is a time in which a pod surely held an address.
type lived struct {
	p        *Pod
	iv       *Interval
	from, to event.Nanos
}

func (x *Index) claimantsOf(ip netip.Addr) (Disagreement, bool) {
	var all []lived
	for _, p := range x.byIP[ip] {
		if p.HostNetwork {
			continue
		}
		for i := range p.Intervals {
			iv := &p.Intervals[i]
			if iv.IP != ip || iv.State != Held || iv.Secondary || !ownedBy(iv) || p.Terminal() && iv.To == 0 {
				continue
			}
			l := lived{p, iv, iv.From, x.aliveUntil(p)}
			if iv.To != 0 {
				l.to = min(l.to, iv.To)
			}
			if l.to > l.from && len(all) < maxClaimants {
				all = append(all, l)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b lived) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.p.String(), b.p.String()), cmp.Compare(a.p.UID, b.p.UID))
	})
	var d Disagreement
	in := make(map[*Interval]bool)
	for i, a := range all {
		for _, b := range all[i+1:] {
			from, to := max(a.from, b.from), min(a.to, b.to)
			if a.p == b.p || to.Sub(from) < minClaim || x.apart(a.p, b.p, ip) || a.p.UID == "" || b.p.UID == "" {
				continue
			}
			if d.From == 0 || from < d.From {
				d.From = from
			}
			d.To = max(d.To, to)
			for _, l := range [...]lived{a, b} {
				if !in[l.iv] {
					in[l.iv] = true
					d.Claims = append(d.Claims, Claim{l.p, l.iv, bare(x.statements(l.iv))})
				}
			}
		}
	}
	if len(d.Claims) < 2 {
		return d, false
	}
	d.Owners = true
	if d.To == math.MaxInt64 {
		d.To = 0
	}
	slices.SortStableFunc(d.Claims, func(a, b Claim) int {
		return -better(x.statements(a.Interval), x.statements(b.Interval))
	})
	first, second := x.statements(d.Claims[0].Interval), x.statements(d.Claims[1].Interval)
	d.Believed = better(first, second) != 0
	if d.Believed {
		d.Why = fmt.Sprintf("%s is believed to own it: %s (rank %.2f) ranks above %s (rank %.2f); the others still claim it", d.Claims[0].Pod, kinds(first), rank(first), kinds(second), rank(second))
	} else {
		d.Why = fmt.Sprintf("the claims rank alike (%.2f): all stay in the history, none is believed", rank(first))
	}
	return d, true
}

// ownedBy reports whether a source that knows of ownership stands behind an
// interval: what consumers and endpoints believe is not enough.
func ownedBy(iv *Interval) bool {
	return slices.ContainsFunc(iv.Sources, func(s Source) bool { return s.Trust >= 0.85 && !s.released() })
}

// aliveUntil is up to when the inputs show that the pod lived: to the collection
// where an object holds it then, else to its last record, or to its deletion.
func (x *Index) aliveUntil(p *Pod) event.Nanos {
	t := p.Last
	if p.listed {
		t = math.MaxInt64 // when that was is known as a lower bound only
	}
	for _, end := range [...]event.Nanos{p.DeletedAt, p.RemovedAt, p.End()} {
		if end != 0 {
			t = min(t, end)
		}
	}
	return t
}

// apart reports whether two pods may rightly have one address: their nodes hand
// out the same range, each behind its own translation.
func (x *Index) apart(p, q *Pod, ip netip.Addr) bool {
	m, n := x.Node(p.Node), x.Node(q.Node)
	if m == nil || n == nil || m == n {
		return false
	}
	in := func(c netip.Prefix) bool { return c.Contains(ip) }
	return slices.ContainsFunc(m.PodCIDRs, in) && slices.ContainsFunc(n.PodCIDRs, in)
}
