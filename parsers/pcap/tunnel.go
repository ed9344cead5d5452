package pcap

import (
	"encoding/binary"
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// UDP ports of overlays. 8472 is what Linux and flannel use for VXLAN, 4789 the
// registered one.
const (
	portVXLAN      = 4789
	portVXLANLinux = 8472
	portGeneve     = 6081
)

// overlay reads what a UDP datagram to an overlay port encapsulates. It reports
// whether the datagram is one: other programs use these ports too.
func (d *decoder) overlay(port uint16, b []byte) bool {
	if len(b) < 8 {
		return false
	}
	switch port {
	case portVXLAN, portVXLANLinux:
		if b[0]&0x08 == 0 || b[7] != 0 || len(b) < 8+14 {
			return false
		}
		if !d.enter("vxlan") {
			return true
		}
		d.ethernet(b[8:])
		return true
	case portGeneve:
		hl := 8 + int(b[0]&0x3f)*4
		if b[0]>>6 != 0 || b[7] != 0 || len(b) < hl {
			return false
		}
		t := binary.BigEndian.Uint16(b[2:])
		if t != etherTEB && t != etherIPv4 && t != etherIPv6 && t != etherARP {
			return false
		}
		if !d.enter("geneve") {
			return true
		}
		if t == etherTEB {
			d.ethernet(b[hl:])
		} else {
			d.etherType(t, b[hl:])
		}
		return true
	}
	return false
}

// enter notes that the packet goes on inside a tunnel. The addresses so far are
// the tunnel's; the outermost ones are kept. It reports whether there is room
// for one more header.
func (d *decoder) enter(tunnel string) bool {
	if d.depth++; d.depth > maxDepth {
		d.fail("nested headers")
		return false
	}
	p := &d.p
	if p.Tunnel == "" {
		p.Tunnel, p.OuterSrc, p.OuterDst = tunnel, p.Src, p.Dst
	}
	p.Src, p.Dst, p.SrcPort, p.DstPort = netip.Addr{}, netip.Addr{}, 0, 0
	p.TTL, p.IPID, p.VLAN = 0, 0, 0
	// The addresses of the link layer are those of the tunnel's end.
	p.EthSrc, p.EthDst = event.MAC{}, event.MAC{}
	p.Lacks |= flow.LacksMAC
	return true
}

// ipInIP reads an IP packet inside another.
func (d *decoder) ipInIP(proto uint8, b []byte) {
	name := "ipip"
	if v6 := d.p.Src.Is6(); proto == protoIPv6 && !v6 {
		name = "6in4"
	} else if v6 {
		name = map[uint8]string{protoIPIP: "4in6", protoIPv6: "6in6"}[proto]
	}
	if d.enter(name) {
		d.ip(b)
	}
}

// gre reads generic routing encapsulation, RFC 2784 and 2890, and the mirroring
// that Cisco and Open vSwitch carry in it.
func (d *decoder) gre(b []byte) {
	if len(b) < 4 {
		d.fail("gre header")
		return
	}
	flags, t := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	if flags&7 != 0 {
		d.envelope(greDecoder, b)
		return
	}
	hl := 4
	for _, bit := range [...]uint16{0x8000, 0x2000, 0x1000} { // checksum, key, sequence number
		if flags&bit != 0 {
			hl += 4
		}
	}
	switch {
	case t == 0x88be && flags&0x1000 != 0:
		hl += 8 // ERSPAN type II
	case t == 0x22eb:
		hl += 12 // ERSPAN type III
	}
	if flags&0x4000 != 0 || len(b) < hl {
		d.fail("gre header")
		return
	}
	switch t {
	case etherIPv4, etherIPv6:
		if d.enter("gre") {
			d.etherType(t, b[hl:])
		}
	case etherTEB:
		if d.enter("gre") {
			d.ethernet(b[hl:])
		}
	case 0x88be, 0x22eb:
		if d.enter("erspan") {
			d.ethernet(b[hl:])
		}
	default:
		d.envelope(greDecoder, b)
	}
}
