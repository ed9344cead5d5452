package redact

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

func parseIP(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(s)
	return a.Unmap(), err == nil
}

// addr replaces an address, keeping loopback, unspecified, broadcast and
// multicast addresses, which name no one.
func (r *redactor) addr(a netip.Addr) netip.Addr {
	if !a.IsValid() || plain(a.Unmap()) {
		return a
	}
	if r.meeting {
		r.addrs.meet(a.Unmap())
		return a
	}
	return r.addrs.replace(a)
}

func (r *redactor) addrPort(a netip.AddrPort) netip.AddrPort {
	if !a.IsValid() {
		return a
	}
	return netip.AddrPortFrom(r.addr(a.Addr()), a.Port())
}

func plain(a netip.Addr) bool {
	if a.Is4() {
		b := a.As4()
		return b[0] == 127 || b[0] == 0 || b[0] >= 224 && b[0] < 240 || b == [4]byte{255, 255, 255, 255}
	}
	return a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() && !solicited(a)
}

// solicited reports whether an address is a solicited-node group, which repeats
// the end of the address it is made for.
func solicited(a netip.Addr) bool {
	b := a.As16()
	return b[0] == 0xff && b[1] == 0x02 && bytes.Equal(b[2:13], []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff})
}

// addresses replaces IP addresses so that those with a common prefix keep one.
type addresses struct {
	met map[netip.Addr]netip.Addr
}

func newAddresses() addresses { return addresses{met: map[netip.Addr]netip.Addr{}} }

func (x *addresses) meet(a netip.Addr) {
	if a = a.Unmap(); a.IsValid() && !plain(a) {
		x.met[a.WithZone("")] = netip.Addr{}
	}
}

func (x *addresses) known(a netip.Addr) bool {
	_, ok := x.met[a.Unmap()]
	return ok
}

func (x *addresses) replace(a netip.Addr) netip.Addr {
	zone := a.Zone()
	mapped := a.Is4In6()
	p, ok := x.met[a.Unmap().WithZone("")]
	if !ok {
		// Met for the first time after the assignment: it can't be named any more.
		if a.Unmap().Is4() {
			return netip.AddrFrom4([4]byte{255, 255, 255, 254})
		}
		return netip.AddrFrom16([16]byte{0: 0x3f, 1: 0xff, 15: 0xff})
	}
	if mapped {
		return netip.AddrFrom16(p.As16())
	}
	if zone != "" && p.Is6() {
		p = p.WithZone(zone)
	}
	return p
}

// A numbering numbers the values met under a prefix in their order, from 1.
type numbering map[string][]string

func (n numbering) of(prefix, value string) int {
	i := slices.Index(n[prefix], value)
	if i < 0 {
		i = len(n[prefix])
		n[prefix] = append(n[prefix], value)
	}
	return i + 1
}

// assign gives each address a stand-in of ranges that no network uses: IPv4 in
// 240.0.0.0/4, IPv6 in the documentation prefix 3fff::/20. The parts of an
// address are numbered in order under the parts before them, so addresses share
// a /8, /16, /24 (/48, /64 ... by 16 bits) exactly when the originals do.
func (x *addresses) assign() {
	list := x.sorted()
	n := numbering{}
	for _, a := range list {
		b := a.AsSlice()
		if a.Is4() {
			p := [4]byte{byte(240 + min(n.of("4", string(b[:1]))-1, 15))}
			for i := 1; i < 4; i++ {
				p[i] = byte(n.of("4/"+string(b[:i]), string(b[i:i+1])) - 1)
			}
			// ".0" is the name of a network, not of a host: numbers start at 1 there.
			p[3]++
			x.met[a] = netip.AddrFrom4(p)
			continue
		}
		p := [16]byte{0: 0x3f, 1: 0xff}
		site := n.of("6", string(b[:6]))
		p[2], p[3], p[4], p[5] = byte(site>>24)&0x0f, byte(site>>16), byte(site>>8), byte(site)
		for i := 6; i < 16; i += 2 {
			v := n.of("6/"+string(b[:i]), string(b[i:i+2]))
			p[i], p[i+1] = byte(v>>8), byte(v)
		}
		switch {
		case solicited(a):
			copy(p[:13], b[:13])
		case a.IsLinkLocalUnicast():
			copy(p[:8], []byte{0xfe, 0x80, 0, 0, 0, 0, 0, 0})
			p[8], p[9] = 0xff, 0xff
		}
		x.met[a] = netip.AddrFrom16(p)
	}
}

func (x *addresses) sorted() []netip.Addr {
	list := make([]netip.Addr, 0, len(x.met))
	for a := range x.met {
		list = append(list, a)
	}
	slices.SortFunc(list, netip.Addr.Compare)
	return list
}

func (x *addresses) pairs() []Pair {
	var out []Pair
	for _, a := range x.sorted() {
		out = append(out, Pair{kindIP.String(), a.String(), x.met[a].String()})
	}
	return out
}

// macs replaces MAC addresses.
type macs struct{ met map[event.MAC]event.MAC }

func newMACs() macs { return macs{map[event.MAC]event.MAC{}} }

// replace keeps broadcast and multicast, except for groups that repeat the end
// of an IPv6 address.
func (x *macs) replace(m event.MAC, meeting bool) event.MAC {
	if m.IsZero() || m[0]&1 == 1 && !(m[0] == 0x33 && m[1] == 0x33 && m[2] == 0xff) {
		return m
	}
	if meeting {
		x.met[m] = event.MAC{}
		return m
	}
	if p, ok := x.met[m]; ok {
		return p
	}
	return event.MAC{0x06, 0xff, 0xff, 0xff, 0xff, 0xff}
}

func (x *macs) sorted() []event.MAC {
	list := make([]event.MAC, 0, len(x.met))
	for m := range x.met {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b event.MAC) int { return cmp.Compare(string(a[:]), string(b[:])) })
	return list
}

// assign numbers the addresses under a locally administered prefix.
func (x *macs) assign() {
	n := 0
	for _, m := range x.sorted() {
		for {
			n++
			p := event.MAC{0x06, 0x00, 0x5e, byte(n >> 16), byte(n >> 8), byte(n)}
			if m[0] == 0x33 {
				p[0], p[1], p[2] = 0x33, 0x33, 0xff
			}
			if _, taken := x.met[p]; !taken {
				x.met[m] = p
				break
			}
		}
	}
}

func (x *macs) pairs() []Pair {
	var out []Pair
	for _, m := range x.sorted() {
		out = append(out, Pair{kindMAC.String(), m.String(), x.met[m].String()})
	}
	return out
}
