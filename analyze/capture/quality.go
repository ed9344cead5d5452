package capture

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Covers reports whether the capture ran without a hole from from to to: only
// then may the absence of a packet mean that it was not there.
func (c *Capture) Covers(from, to event.Nanos) bool {
	if c.First == 0 || from < c.First || to > c.Last {
		return false
	}
	if c.Info.Capture.Dropped > 0 {
		return false
	}
	for _, g := range c.Gaps {
		if g.To > from && g.From < to && g.To.Sub(g.From) > hole {
			return false
		}
	}
	return true
}

// Shows reports whether the capture's filter let packets of this server address
// through: it has seen the address and port at some time.
func (c *Capture) Shows(server netip.AddrPort) bool {
	return slices.ContainsFunc(c.Info.Capture.Targets, func(t event.TargetCount) bool { return t.Addr == server })
}

// ShowsPort reports whether any connection to the port stands in the capture:
// filters name ports more often than addresses.
func (c *Capture) ShowsPort(port uint16) bool {
	return slices.ContainsFunc(c.Info.Capture.Targets, func(t event.TargetCount) bool { return t.Addr.Port() == port })
}

// ShowsARP reports whether ARP or neighbour discovery got through the filter.
func (c *Capture) ShowsARP() bool { return c.Info.Capture.ARPFrames > 0 }

// NodeSide returns the node-side captures that cover the span without a hole, on
// the node ("" matches any), best point first.
func (s *Set) NodeSide(node string, from, to event.Nanos) []*Capture {
	var out []*Capture
	for _, c := range s.Captures {
		if !c.Inside() && c.Covers(from, to) && (node == "" || c.Node == "" || c.Node == node) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *Capture) int { return rank(a.Point) - rank(b.Point) })
	return out
}

// PodSide returns the captures inside the pod (or on its veth) that cover the
// span without a hole.
func (s *Set) PodSide(p *identity.Pod, from, to event.Nanos) []*Capture {
	var out []*Capture
	for _, c := range s.Captures {
		if c.Inside() && c.Pod == p && p != nil && c.Covers(from, to) {
			out = append(out, c)
		}
	}
	return out
}

// Between returns the connections to a server that began in [from, to].
func (s *Set) Between(server netip.AddrPort, from, to event.Nanos) []*Conn {
	cs := s.byServer[server]
	lo, _ := slices.BinarySearchFunc(cs, from, func(c *Conn, t event.Nanos) int {
		if c.Start() < t {
			return -1
		}
		return 1
	})
	hi := lo
	for hi < len(cs) && cs[hi].Start() <= to {
		hi++
	}
	return cs[lo:hi]
}

// ARPFor returns the ARP and ND frames about an IP (asked for or claimed) in
// [from, to].
func (s *Set) ARPFor(ip netip.Addr, from, to event.Nanos) []ARPSeen {
	var out []ARPSeen
	list := s.arpOf[ip]
	for _, i := range list[since(list, from, s.arpAt):] {
		if s.ARP[i].At > to {
			break
		}
		out = append(out, s.ARP[i])
	}
	return out
}

// EgressOf returns the frames that an address sent of its own accord in
// [from, to].
func (s *Set) EgressOf(ip netip.Addr, from, to event.Nanos) []EgressSeen {
	var out []EgressSeen
	list := s.egressOf[ip]
	for _, i := range list[since(list, from, s.egressAt):] {
		if s.Egress[i].At > to {
			break
		}
		out = append(out, s.Egress[i])
	}
	return out
}

// LastEgress returns the last frame in [from, to] that the address or, unless it
// is zero, the MAC sent of its own accord; nil when there is none.
func (s *Set) LastEgress(ip netip.Addr, mac event.MAC, from, to event.Nanos) *EgressSeen {
	last := int32(-1)
	look := func(list []int32) {
		if i := since(list, to+1, s.egressAt); i > 0 && s.Egress[list[i-1]].At >= from {
			last = max(last, list[i-1])
		}
	}
	look(s.egressOf[ip])
	if !mac.IsZero() {
		look(s.egressFrom[mac])
	}
	if last < 0 {
		return nil
	}
	return &s.Egress[last]
}

// byAddress indexes the sightings, which are in time order.
func (s *Set) byAddress() {
	s.arpOf, s.egressOf, s.egressFrom = make(map[netip.Addr][]int32), make(map[netip.Addr][]int32), make(map[event.MAC][]int32)
	for i := range s.ARP {
		a := &s.ARP[i]
		s.arpOf[a.TargetIP] = append(s.arpOf[a.TargetIP], int32(i))
		if a.SenderIP != a.TargetIP {
			s.arpOf[a.SenderIP] = append(s.arpOf[a.SenderIP], int32(i))
		}
	}
	for i := range s.Egress {
		e := &s.Egress[i]
		s.egressOf[e.IP] = append(s.egressOf[e.IP], int32(i))
		s.egressFrom[e.MAC] = append(s.egressFrom[e.MAC], int32(i))
	}
}

func (s *Set) arpAt(i int32) event.Nanos    { return s.ARP[i].At }
func (s *Set) egressAt(i int32) event.Nanos { return s.Egress[i].At }

// since is the place of the first of the indexed sightings, in time order, at or
// after t.
func since(list []int32, t event.Nanos, at func(int32) event.Nanos) int {
	i, _ := slices.BinarySearchFunc(list, t, func(i int32, t event.Nanos) int { return cmp.Compare(at(i), t) })
	return i
}

// Spans are the times through which the capture ran without a hole, see Covers.
func (c *Capture) Spans() []event.Gap {
	if c.First == 0 || c.Info.Capture.Dropped > 0 {
		return nil
	}
	var out []event.Gap
	from := c.First
	for _, g := range c.Gaps {
		if g.To.Sub(g.From) > hole && g.From > from {
			out = append(out, event.Gap{From: from, To: g.From})
			from = g.To
		}
	}
	return append(out, event.Gap{From: from, To: c.Last})
}

// hole is how long a silence must be to be one of the capture, not of the network:
// longer than probing could leave.
const hole = 10 * time.Minute
