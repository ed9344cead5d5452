package identity

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// relation is what two addresses of one family on one pod are to each other.
type relation uint8

const (
	unrelated relation = iota
	changed            // the first address was replaced by the second
	lagging            // the first is that of an earlier sandbox, still told for a while
	opposed            // sources contradict each other
)

// relate compares two addresses that lie in the same sandbox of a pod, or in
// none. at is when the second replaced the first, or when the first was last
// told.
func (x *Index) relate(p *Pod, a, b *Interval) (r relation, at event.Nanos) {
	sa, sb := x.statements(a), x.statements(b)
	if len(sa) == 0 || len(sb) == 0 {
		return unrelated, 0
	}
	if at, ok := x.left(p, a, sa); ok && nearest(sa) < Direct {
		if at.Sub(a.From) <= MaxLag {
			return lagging, at
		}
		return opposed, at
	}
	if nearest(sa) == Used || nearest(sb) == Used {
		return unrelated, 0 // for Disagreements to judge: the spec may name another host
	}
	if at, ok := moved(sa, sb); ok {
		late, direct := remains(sa, at)
		if !direct && (len(late) == 0 || late[len(late)-1].at.Sub(at) <= MaxLag) {
			return changed, at
		}
		return opposed, at
	}
	if a.To != 0 && a.To <= sb[0].at && a.ended() {
		return changed, a.To
	}
	return opposed, max(sa[0].at, sb[0].at)
}

// ended reports whether a source says that the address was taken back.
func (iv *Interval) ended() bool { return slices.ContainsFunc(iv.Sources, Source.released) }

// left reports whether the pod held the interval's address in an earlier sandbox,
// and when it was last told for this one.
func (x *Index) left(p *Pod, iv *Interval, ss []statement) (event.Nanos, bool) {
	if iv.Sandbox == "" {
		return 0, false
	}
	for i := range p.Intervals {
		o := &p.Intervals[i]
		if o.IP == iv.IP && o.Sandbox != "" && o.Sandbox != iv.Sandbox && o.From < iv.From && o.State == Held {
			return ss[len(ss)-1].at, true
		}
	}
	return 0, false
}

// comparable reports whether two intervals of a pod can contradict each other.
func comparable(a, b *Interval) bool {
	return a.IP != b.IP && a.IP.Is4() == b.IP.Is4() && a.Sandbox == b.Sandbox && !a.Secondary && !b.Secondary
}

// maxCompared bounds the intervals of one pod that are compared with each other:
// a pod has a few. More are names without a UID, or made up.
const maxCompared = 256

// settle ends addresses that were replaced inside one sandbox, and marks those
// that are only still told of: they are owned no longer.
func (x *Index) settle(p *Pod) {
	defer func() { slices.SortStableFunc(p.Intervals, compareIntervals) }()
	if len(p.Intervals) > maxCompared {
		return
	}
	for i := range p.Intervals {
		for j := range p.Intervals {
			a, b := &p.Intervals[i], &p.Intervals[j]
			if i == j || !comparable(a, b) || a.State == Stale || b.State == Stale {
				continue
			}
			switch r, at := x.relate(p, a, b); r {
			case changed:
				if a.To == 0 || a.To > at {
					a.To = at
				}
				b.From = max(b.From, min(at, x.statements(b)[0].at))
			case lagging:
				a.State, a.Primary = Stale, false
				if a.To == 0 || a.To > at {
					a.To = max(at, a.From+1)
				}
			}
		}
	}
	x.early(p)
	for i := range p.Intervals {
		p.Intervals[i].forward()
	}
}

// early drops what was told of the next sandbox's address a moment before the
// record that dates it: it is no claim of the sandbox before.
func (x *Index) early(p *Pod) {
	p.Intervals = slices.DeleteFunc(p.Intervals, func(iv Interval) bool {
		ss := x.statements(&iv)
		i := slices.IndexFunc(p.Sandboxes, func(s Sandbox) bool { return s.ID == iv.Sandbox })
		if i < 0 || i+1 >= len(p.Sandboxes) || len(ss) == 0 || ss[0].at < p.Sandboxes[i+1].From.Add(-clockSlack) {
			return false
		}
		next := p.Sandboxes[i+1].ID
		n := slices.IndexFunc(p.Intervals, func(o Interval) bool { return o.IP == iv.IP && o.Sandbox == next })
		other := slices.ContainsFunc(p.Intervals, func(o Interval) bool { return comparable(&iv, &o) })
		if n < 0 || !other {
			return false
		}
		for _, s := range iv.Sources {
			p.Intervals[n].addSource(s)
		}
		return true
	})
}

func compareIntervals(a, b Interval) int {
	return cmp.Or(cmp.Compare(a.From, b.From), a.IP.Compare(b.IP), cmp.Compare(a.State, b.State))
}

// primaries says, for a pod with both families at a time, which source made an
// address the first one. The kubelet sorts what the runtime reports by the
// family of the node's own first address.
func primaries(p *Pod, n *Node) {
	if len(p.Intervals) > maxCompared {
		return
	}
	family := ""
	if n != nil && len(n.Addresses) > 0 {
		family = "; the node's first address is " + familyName(n.Addresses[0])
	}
	for i := range p.Intervals {
		iv := &p.Intervals[i]
		if !iv.Primary || iv.first.Kind == "" || !slices.ContainsFunc(p.Intervals, func(o Interval) bool {
			return o.Sandbox == iv.Sandbox && o.IP.Is4() != iv.IP.Is4() && !o.Secondary && o.State == Held
		}) {
			continue
		}
		iv.PrimaryWhy = "listed first by " + iv.first.Kind
		if iv.first.At != 0 {
			iv.PrimaryWhy += " at " + iv.first.At.Time().Format("15:04:05.000")
		}
		iv.PrimaryWhy += family
	}
}

func familyName(ip netip.Addr) string {
	if ip.Unmap().Is4() {
		return "IPv4"
	}
	return "IPv6"
}
