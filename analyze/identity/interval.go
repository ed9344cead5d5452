package identity

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// intervals builds the IP history of a pod. An IP belongs to the sandbox in
// whose life it was observed: the kubelet takes it from the sandbox status, so
// it begins with the sandbox and ends with it.
func (b *Builder) intervals(p *Pod) {
	facts := b.ips[p]
	slices.SortStableFunc(facts, func(x, y ipFact) int {
		return cmp.Or(cmp.Compare(x.at, y.at), x.ref.Compare(y.ref), strings.Compare(x.p.Via, y.p.Via), strings.Compare(joinIPs(x.p.IPs), joinIPs(y.p.IPs)))
	})
	end := p.End()
	type key struct {
		ip      netip.Addr
		sandbox int
	}
	at := make(map[key]*Interval)
	var order []key
	for _, f := range facts {
		t := f.at
		if t == 0 {
			// A snapshot tells the last state its source knew. One that an audit log
			// recorded has a time of its own, and tells of the sandbox alive then.
			t = b.snapshotTime(p, t)
		}
		sb := p.sandboxAt(t, f.p.SandboxID)
		for i, ip := range f.p.IPs {
			ip = ip.Unmap()
			if f.p.Fact == event.IPReleased {
				if iv := at[key{ip, sb}]; iv != nil && f.at > iv.From {
					iv.To = f.at
					iv.Sources = append(iv.Sources, Source{Kind: f.p.Via + " (released)", Trust: f.rank, At: f.at, Ref: f.ref})
				}
				continue
			}
			k := key{ip, sb}
			iv := at[k]
			if iv == nil {
				iv = &Interval{IP: ip, State: Held}
				if f.p.Fact == event.IPTargeted {
					iv.State = Targeted
				}
				if sb >= 0 {
					s := p.Sandboxes[sb]
					iv.Sandbox, iv.From, iv.To = s.ID, s.From, s.To
				} else {
					iv.From = cmp.Or(f.at, start(p))
				}
				at[k] = iv
				order = append(order, k)
			}
			if f.p.Fact != event.IPTargeted {
				iv.State = Held
			}
			if sb < 0 && f.at != 0 && f.at < iv.From {
				iv.From = f.at
			}
			if iv.To != 0 && f.at > iv.To && iv.ended() && NearnessOf(f.p.Via) == Direct {
				iv.To = 0 // taken back, and handed out again
				if sb >= 0 {
					iv.To = p.Sandboxes[sb].To
				}
			}
			if iv.MAC.IsZero() {
				iv.MAC = f.p.MAC
			}
			if secondary(f.p) {
				iv.Secondary = true
			} else if i == 0 {
				iv.Primary = true
				if by := (Source{Kind: f.p.Via, Trust: f.rank, At: f.at, Ref: f.ref}); len(f.p.IPs) > 1 && (iv.first.Kind == "" || NearnessOf(iv.first.Kind) == Direct && NearnessOf(by.Kind) == Told) {
					iv.first = by // the status decides: probes go by it
				}
			}
			iv.addSource(Source{Kind: f.p.Via, Trust: f.rank, At: f.at, Ref: f.ref})
		}
	}
	for _, k := range order {
		iv := at[k]
		if end != 0 && (iv.To == 0 || iv.To > end) {
			iv.To = end
		}
		iv.forward()
		p.Intervals = append(p.Intervals, *iv)
	}
	b.x.settle(p)
	primaries(p, b.nodes[p.Node])
}

// forward keeps an interval from ending before it begins, where records of an
// end and a begin come from clocks that disagree.
func (iv *Interval) forward() {
	if iv.To != 0 && iv.To < iv.From {
		iv.To = iv.From
	}
}

// maxSources bounds the statements kept per interval.
const maxSources = 16

// addSource keeps a statement, unless its record says the same already (an
// audited write is both a write and a snapshot). Of many statements of one kind
// the first ones and the last are kept.
func (iv *Interval) addSource(s Source) {
	if slices.ContainsFunc(iv.Sources, func(o Source) bool { return o.Ref == s.Ref && o.At == s.At && !s.Ref.IsZero() }) {
		return
	}
	if len(iv.Sources) < maxSources {
		iv.Sources = append(iv.Sources, s)
		return
	}
	last, n := 0, 0
	for i := range iv.Sources {
		if iv.Sources[i].Kind == s.Kind {
			last, n = i, n+1
		}
	}
	if n >= 2 {
		iv.Sources = append(slices.Delete(iv.Sources, last, last+1), s)
	}
}

// observed keeps the first and the last of what is seen again and again.
func (iv *Interval) observed(s Source) {
	first, last := -1, -1
	for i := range iv.Sources {
		if iv.Sources[i].Kind == s.Kind {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	switch {
	case last > first && s.At > iv.Sources[last].At:
		iv.Sources[last] = s
	case last == first && (first < 0 || s.At > iv.Sources[first].At) && len(iv.Sources) < maxSources:
		iv.Sources = append(iv.Sources, s)
	}
}

// secondary reports whether a statement is about an interface other than the
// pod's own: the address of a further network is not what probes go to.
func secondary(p *event.PodIP) bool {
	switch p.Interface {
	case "", "eth0", "unknown": // as an address manager writes that did not see the request
		return p.Via == "cni-secondary"
	}
	return true
}

// snapshotTime is the time at which a snapshot's IPs were surely owned: the last
// sandbox the inputs know of.
func (b *Builder) snapshotTime(p *Pod, at event.Nanos) event.Nanos {
	if n := len(p.Sandboxes); n > 0 {
		return max(at, p.Sandboxes[n-1].From)
	}
	return cmp.Or(at, start(p))
}

// sandboxAt returns the index of the sandbox with the id, else of the one alive
// at t, -1 for none.
func (p *Pod) sandboxAt(t event.Nanos, id string) int {
	if id != "" {
		for i := range p.Sandboxes {
			if p.Sandboxes[i].ID == id {
				return i
			}
		}
	}
	found := -1
	for i := range p.Sandboxes {
		if p.Sandboxes[i].From <= t {
			found = i
		}
	}
	if found < 0 && len(p.Sandboxes) > 0 && t != 0 {
		// Reported a moment before the runtime's own line: the first one.
		return 0
	}
	return found
}

// End is when the pod stopped owning anything: its removal, or a terminal phase;
// zero while it lived.
func (p *Pod) End() event.Nanos {
	if p.RemovedAt != 0 {
		return p.RemovedAt
	}
	if p.Terminal() {
		var end event.Nanos
		for _, r := range p.Runs {
			end = max(end, r.To)
		}
		return end
	}
	return 0
}

// Terminal reports whether the pod's phase says that all containers ended for
// good: it keeps its podIP in the status and owns nothing.
func (p *Pod) Terminal() bool { return p.Phase == "Succeeded" || p.Phase == "Failed" }

// Holders returns every pod that held the IP at t: hostNetwork pods (they share
// the node's address, whether their object is known or not) and completed pods
// are never holders. Overlaps are kept.
func (x *Index) Holders(ip netip.Addr, t event.Nanos) []Holder {
	var hs []Holder
	ip = ip.Unmap()
	if x.shared[ip] {
		return nil
	}
	for _, p := range x.byIP[ip] {
		if p.HostNetwork {
			continue
		}
		for i := range p.Intervals {
			iv := &p.Intervals[i]
			if iv.IP == ip && iv.State != Stale && iv.Contains(t) && (!p.Terminal() || iv.To != 0) {
				hs = append(hs, Holder{Pod: p, Interval: iv})
			}
		}
	}
	return hs
}

// PodsWith returns the pods that held or were targeted at the IP at any time.
func (x *Index) PodsWith(ip netip.Addr) []*Pod { return x.byIP[ip.Unmap()] }

// Observe adds a statement about a pod's IP found after the index was built (probe
// outputs, packets) and keeps the intervals sorted.
func (x *Index) Observe(p *Pod, ip netip.Addr, at event.Nanos, kind string, ref event.Ref) {
	ip = ip.Unmap()
	for i := range p.Intervals {
		iv := &p.Intervals[i]
		if iv.IP == ip && (iv.Contains(at) || iv.From.Sub(at) < 2e9 && iv.From >= at) {
			iv.observed(Source{Kind: kind, Trust: trust(kind), At: at, Ref: ref})
			return
		}
	}
	iv := Interval{IP: ip, From: at, State: Targeted, Primary: true, Sources: []Source{{Kind: kind, Trust: trust(kind), At: at, Ref: ref}}}
	if sb := p.sandboxAt(at, ""); sb >= 0 {
		s := p.Sandboxes[sb]
		// A first use within the sandbox's life dates the IP to the sandbox, unless the
		// same sandbox is known to hold another address of the family.
		if !p.sandboxHolds(s.ID, ip) {
			iv.Sandbox, iv.From, iv.To, iv.State = s.ID, min(s.From, at), s.To, Held
		}
	}
	if end := p.End(); end != 0 && (iv.To == 0 || iv.To > end) && end > iv.From {
		iv.To = end
	}
	p.Intervals = append(p.Intervals, iv)
	slices.SortStableFunc(p.Intervals, compareIntervals)
	if !slices.Contains(x.byIP[ip], p) {
		x.byIP[ip] = append(x.byIP[ip], p)
	}
}

func (p *Pod) sandboxHolds(id string, ip netip.Addr) bool {
	for i := range p.Intervals {
		iv := &p.Intervals[i]
		if iv.Sandbox == id && iv.State == Held && iv.IP.Is4() == ip.Is4() {
			return true
		}
	}
	return false
}
