package pcap

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"time"

	"github.com/google/gopacket/layers"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// EtherTypes.
const (
	etherIPv4  = 0x0800
	etherARP   = 0x0806
	etherVLAN  = 0x8100
	etherQinQ  = 0x88a8
	etherQinQ2 = 0x9100
	etherTEB   = 0x6558 // transparent Ethernet bridging
	etherIPv6  = 0x86dd
	etherMPLS  = 0x8847
	etherMPLS2 = 0x8848
	etherPPPoE = 0x8864
	maxLLC     = 1500 // up to here the field is a length and LLC follows
)

// IP protocol numbers.
const (
	protoHopByHop = 0
	protoICMP     = 1
	protoIGMP     = 2
	protoIPIP     = 4
	protoTCP      = 6
	protoUDP      = 17
	protoIPv6     = 41
	protoRouting  = 43
	protoFragment = 44
	protoGRE      = 47
	protoAH       = 51
	protoICMPv6   = 58
	protoDestOpts = 60
	protoMobility = 135
	protoHIP      = 139
	protoShim6    = 140
)

// maxDepth bounds headers inside headers: tunnels, VLAN tags, extension headers.
const maxDepth = 16

// interfaceNumbers gives out numbers for interface names.
type interfaceNumbers interface{ Interface(name string) uint16 }

// decoder fills one reused flow.Packet from records. Every method checks the
// length of what it reads; whatever does not fit leaves the packet undecoded
// with a reason.
type decoder struct {
	p          flow.Packet
	interfaces interfaceNumbers
	wire       int // bytes of the frame that were not captured
	depth      int
	more       bool   // the first of several fragments
	reason     string // why the packet is undecoded
	cut        bool   // because it was not captured to the end of its headers

	lastIfindex uint32
	lastIfnum   uint16
	lastName    string
	lastNamenum uint16
	precision   time.Duration
}

// decode reads a record. The packet is valid until the next call.
func (d *decoder) decode(rec *Record) *flow.Packet {
	d.p = flow.Packet{Ref: event.Ref{Packet: rec.Frame, Offset: rec.Offset}, At: rec.At, Kind: flow.Undecoded}
	d.depth, d.reason, d.cut, d.more = 0, "", false, false
	d.wire = max(0, int(int64(rec.Length)-int64(len(rec.Data))))
	d.precision = rec.Precision
	if rec.Interface != "" {
		if rec.Interface != d.lastName {
			d.lastName, d.lastNamenum = rec.Interface, d.interfaces.Interface(rec.Interface)
		}
		d.p.Interface = d.lastNamenum
	}
	switch rec.Direction {
	case 1:
		d.p.Dir = flow.DirIn
	case 2:
		d.p.Dir = flow.DirOut
	}
	d.link(rec.Link, rec.Data)
	return &d.p
}

// fail leaves the packet undecoded. A header that does not fit was cut by the
// snaplen when part of the frame is missing, and is malformed when not.
func (d *decoder) fail(reason string) {
	d.p.Kind, d.reason, d.cut = flow.Undecoded, reason, d.wire > 0
}

// supported reports whether link knows a link type.
func supported(link uint32) bool {
	switch link {
	case linkNull, linkEthernet, linkRaw12, linkRaw14, linkRaw, linkLoop, linkSLL, linkIPv4, linkIPv6, linkSLL2:
		return true
	}
	return link == linkNFLOG || isWrapped(link) || envelopes[link] != nil
}

func (d *decoder) link(link uint32, b []byte) {
	switch link {
	case linkEthernet:
		d.ethernet(b)
	case linkSLL2:
		d.sll2(b)
	case linkSLL:
		d.sll(b)
	case linkRaw, linkRaw12, linkRaw14, linkIPv4, linkIPv6:
		d.p.Lacks |= flow.LacksMAC
		d.ip(b)
	case linkNull, linkLoop:
		d.null(b)
	case linkNFLOG:
		d.nflog(b)
	default:
		if isWrapped(link) {
			d.wrapped(link, b)
			return
		}
		if e := envelopes[link]; e != nil {
			d.p.Lacks |= flow.LacksMAC
			d.envelope(e, b)
			return
		}
		d.fail("link type " + LinkTypeName(link))
	}
}

func (d *decoder) ethernet(b []byte) {
	if len(b) < 14 {
		d.fail("ethernet header")
		return
	}
	d.p.EthDst, d.p.EthSrc = event.MAC(b[:6]), event.MAC(b[6:12])
	d.etherType(binary.BigEndian.Uint16(b[12:]), b[14:])
}

// sll is the cooked header of "-i any", version 1: direction, sender address.
func (d *decoder) sll(b []byte) {
	if len(b) < 16 {
		d.fail("cooked header")
		return
	}
	d.cooked(uint8(binary.BigEndian.Uint16(b)), binary.BigEndian.Uint16(b[2:]), binary.BigEndian.Uint16(b[4:]), b[6:14])
	d.etherType(binary.BigEndian.Uint16(b[14:]), b[16:])
}

// sll2 is version 2, which names the interface by its index.
func (d *decoder) sll2(b []byte) {
	if len(b) < 20 {
		d.fail("cooked header")
		return
	}
	if i := binary.BigEndian.Uint32(b[4:]); i != d.lastIfindex || d.lastIfnum == 0 {
		d.lastIfindex, d.lastIfnum = i, d.interfaces.Interface("if"+strconv.FormatUint(uint64(i), 10))
	}
	d.p.Interface = d.lastIfnum
	d.cooked(b[10], binary.BigEndian.Uint16(b[8:]), uint16(b[11]), b[12:20])
	d.etherType(binary.BigEndian.Uint16(b), b[20:])
}

// cooked takes the fields both versions have.
func (d *decoder) cooked(kind uint8, hatype, halen uint16, addr []byte) {
	switch kind {
	case 3:
		d.p.Dir = flow.DirOther
	case 4:
		d.p.Dir = flow.DirOut
	default:
		d.p.Dir = flow.DirIn
	}
	d.p.Lacks |= flow.LacksMAC
	if halen == 6 && hatype == 1 {
		d.p.EthSrc = event.MAC(addr[:6])
	}
}

// null is the BSD loopback header: an address family in either byte order.
func (d *decoder) null(b []byte) {
	if len(b) < 4 {
		d.fail("loopback header")
		return
	}
	d.p.Lacks |= flow.LacksMAC
	af := binary.LittleEndian.Uint32(b)
	if af > 0xffff {
		af = binary.BigEndian.Uint32(b)
	}
	switch af {
	case 2, 10, 23, 24, 28, 30: // AF_INET, and AF_INET6 of Linux, Windows, the BSDs and macOS
		d.ip(b[4:])
	default:
		d.p.Kind = flow.Other
	}
}

func (d *decoder) etherType(t uint16, b []byte) {
	switch t {
	case etherIPv4:
		d.ipv4(b)
	case etherIPv6:
		d.ipv6(b)
	case etherARP:
		d.arp(b)
	case etherVLAN, etherQinQ, etherQinQ2:
		if d.depth++; len(b) < 4 || d.depth > maxDepth {
			d.fail("vlan tag")
			return
		}
		d.p.VLAN = binary.BigEndian.Uint16(b) & 0x0fff
		d.etherType(binary.BigEndian.Uint16(b[2:]), b[4:])
	case etherMPLS, etherMPLS2:
		d.envelope(layers.LayerTypeMPLS, b)
	case etherPPPoE:
		d.envelope(layers.LayerTypePPPoE, b)
	default:
		if t <= maxLLC && len(b) >= 8 && b[0] == 0xaa && b[1] == 0xaa {
			d.envelope(layers.LayerTypeLLC, b[:min(int(t), len(b))])
			return
		}
		d.p.Kind = flow.Other
	}
}

// ip reads a packet whose version is in its first byte.
func (d *decoder) ip(b []byte) {
	switch {
	case len(b) == 0:
		d.fail("ip header")
	case b[0]>>4 == 4:
		d.ipv4(b)
	case b[0]>>4 == 6:
		d.ipv6(b)
	default:
		d.fail("ip version")
	}
}

func (d *decoder) ipv4(b []byte) {
	if len(b) < 20 || b[0]>>4 != 4 {
		d.fail("ipv4 header")
		return
	}
	hl := int(b[0]&15) * 4
	if hl < 20 || len(b) < hl {
		d.fail("ipv4 header length")
		return
	}
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 {
		total = len(b) + d.wire // segmentation offload leaves it zero
	}
	if total < hl {
		d.fail("ipv4 total length")
		return
	}
	p := &d.p
	p.Src, p.Dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	p.TTL, p.IPID = b[8], binary.BigEndian.Uint16(b[4:])
	proto := b[9]
	frag := binary.BigEndian.Uint16(b[6:])
	rest := b[hl:min(len(b), total)] // what follows is padding
	if frag&0x1fff != 0 {
		p.Kind = flow.Fragment
		return
	}
	d.more = frag&0x2000 != 0
	d.transport(proto, rest, total-hl)
}

// transport reads what IP carries: n is its length on the wire, which may be
// more than was captured.
func (d *decoder) transport(proto uint8, b []byte, n int) {
	switch proto {
	case protoTCP:
		d.tcp(b, n)
	case protoUDP:
		d.udp(b)
	case protoICMP:
		d.icmp(b)
	case protoICMPv6:
		d.icmpv6(b)
	case protoIPIP, protoIPv6:
		d.ipInIP(proto, b)
	case protoGRE:
		d.gre(b)
	case protoIGMP:
		d.p.Kind = flow.Multicast
	default:
		d.p.Kind = flow.Other
	}
}

func (d *decoder) tcp(b []byte, n int) {
	if len(b) < 20 {
		d.fail("tcp header")
		return
	}
	p := &d.p
	hl := int(b[12]>>4) * 4
	if hl < 20 || n < hl && !d.more {
		d.fail("tcp header length")
		return
	}
	p.Kind = flow.TCP
	p.SrcPort, p.DstPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	p.Seq, p.Ack = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	p.Flags = b[13]
	p.Window = binary.BigEndian.Uint16(b[14:])
	p.Length = max(0, n-hl)
	if hl < len(b) {
		p.Payload = b[hl:]
	}
	if hl > 20 {
		d.tcpOptions(b[20:min(hl, len(b))])
	}
}

// tcpOptions keeps MSS and time stamps.
func (d *decoder) tcpOptions(b []byte) {
	if len(b) == 12 && binary.BigEndian.Uint32(b) == 0x0101080a {
		// What every segment of a connection with time stamps carries.
		d.p.HasTS = true
		d.p.TSval, d.p.TSecr = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
		return
	}
	for len(b) > 0 {
		switch b[0] {
		case 0:
			return
		case 1:
			b = b[1:]
			continue
		}
		if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
			return
		}
		n := int(b[1])
		switch {
		case b[0] == 2 && n == 4:
			d.p.MSS = binary.BigEndian.Uint16(b[2:])
		case b[0] == 8 && n == 10:
			d.p.HasTS = true
			d.p.TSval, d.p.TSecr = binary.BigEndian.Uint32(b[2:]), binary.BigEndian.Uint32(b[6:])
		}
		b = b[n:]
	}
}

func (d *decoder) udp(b []byte) {
	if len(b) < 8 {
		d.fail("udp header")
		return
	}
	d.p.Kind = flow.UDP
	d.p.SrcPort, d.p.DstPort = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	if d.p.SrcPort == portBCMLI || d.p.DstPort == portBCMLI {
		d.bcmLI(b[8:], int(binary.BigEndian.Uint16(b[4:]))-8)
		return
	}
	d.overlay(d.p.DstPort, b[8:])
}
