package pcap

import (
	"encoding/binary"
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// arp reads an ARP message for IPv4. Hardware addresses that are not Ethernet's
// are left unknown.
func (d *decoder) arp(b []byte) {
	if len(b) < 8 {
		d.fail("arp header")
		return
	}
	hlen, plen := int(b[4]), int(b[5])
	if len(b) < 8+2*(hlen+plen) {
		d.fail("arp addresses")
		return
	}
	if binary.BigEndian.Uint16(b[2:]) != etherIPv4 || plen != 4 {
		d.p.Kind = flow.Other
		return
	}
	p := &d.p
	p.Kind = flow.ARP
	p.ARPOpcode = binary.BigEndian.Uint16(b[6:])
	sender, target := b[8:8+hlen], b[12+hlen:12+2*hlen]
	if hlen == 6 {
		p.SenderMAC, p.TargetMAC = event.MAC(sender), event.MAC(target)
	}
	p.Src = netip.AddrFrom4([4]byte(b[8+hlen:]))
	p.Dst = netip.AddrFrom4([4]byte(b[12+2*hlen:]))
}

func (d *decoder) icmp(b []byte) {
	if len(b) < 4 {
		d.fail("icmp header")
		return
	}
	p := &d.p
	p.ICMPType, p.ICMPCode = b[0], b[1]
	switch b[0] {
	case 0:
		p.Kind = flow.ICMPEchoReply
	case 8:
		p.Kind = flow.ICMPEcho
	case 3, 4, 5, 11, 12:
		p.Kind = flow.ICMPError
		if len(b) > 8 {
			d.quote(b[8:])
		}
	default:
		p.Kind = flow.Other
	}
}

func (d *decoder) icmpv6(b []byte) {
	if len(b) < 4 {
		d.fail("icmpv6 header")
		return
	}
	p := &d.p
	p.ICMPType, p.ICMPCode = b[0], b[1]
	switch b[0] {
	case 1, 2, 3, 4:
		p.Kind = flow.ICMPError
		if len(b) > 8 {
			d.quote(b[8:])
		}
	case 128:
		p.Kind = flow.ICMPEcho
	case 129:
		p.Kind = flow.ICMPEchoReply
	case 131, 132, 143:
		p.Kind = flow.Multicast
	case 133:
		p.Kind = flow.RouterSolicit
	case 135, 136:
		d.neighbour(b)
	default:
		p.Kind = flow.Other
	}
}

// neighbour reads a neighbour solicitation or advertisement. The address in
// question is the target field, the hardware address that of the option, or
// else of the frame.
func (d *decoder) neighbour(b []byte) {
	if len(b) < 24 {
		d.fail("neighbour discovery")
		return
	}
	p := &d.p
	p.Kind = flow.Neighbour
	target := netip.AddrFrom16([16]byte(b[8:]))
	mac := linkOption(b[24:])
	if b[0] == 135 {
		p.ARPOpcode = 1
		p.Dst = target
		p.SenderMAC = mac
		if mac.IsZero() {
			p.SenderMAC = p.EthSrc
		}
		return
	}
	p.ARPOpcode = 2
	p.Src = target
	p.Router, p.Solicited = b[4]&0x80 != 0, b[4]&0x40 != 0
	p.SenderMAC, p.TargetMAC = mac, p.EthDst
	if mac.IsZero() {
		p.SenderMAC = p.EthSrc
	}
}

// linkOption returns the address of a source or target link-layer address
// option.
func linkOption(b []byte) event.MAC {
	for len(b) >= 8 {
		n := int(b[1]) * 8
		if n == 0 || n > len(b) {
			break
		}
		if b[0] == 1 || b[0] == 2 {
			return event.MAC(b[2:8])
		}
		b = b[n:]
	}
	return event.MAC{}
}

// quote reads the start of the packet that an ICMP error quotes.
func (d *decoder) quote(b []byte) {
	p := &d.p
	var proto uint8
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		hl := int(b[0]&15) * 4
		if hl < 20 || len(b) < hl {
			return
		}
		p.QuoteSrc, p.QuoteDst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
		proto, b = b[9], b[hl:]
	case len(b) >= 40 && b[0]>>4 == 6:
		p.QuoteSrc, p.QuoteDst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
		proto, b = b[6], b[40:]
	default:
		return
	}
	p.QuoteProto = proto
	if (proto == protoTCP || proto == protoUDP) && len(b) >= 4 {
		p.QuoteSport, p.QuoteDport = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	}
	if proto == protoTCP && len(b) >= 8 {
		p.QuoteSeq = binary.BigEndian.Uint32(b[4:])
	}
}
