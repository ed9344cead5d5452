package pcap

import (
	"encoding/binary"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// Link types that wrap an ordinary frame or packet in a header of their own:
// InfiniBand, and the tags that switch chips put into frames on the way to their
// CPU. Their formats are described with the link-layer header types of
// tcpdump.org (LINKTYPE_IPOIB, LINKTYPE_DSA_TAG_BRCM, LINKTYPE_DSA_TAG_DSA,
// LINKTYPE_JUNIPER_ETHER) unless another source is named.

const (
	// dsaTag is the length of a tag of Marvell's Distributed Switch Architecture and
	// of Broadcom's; edsaTag is Marvell's behind an EtherType and two zero bytes.
	dsaTag  = 4
	edsaTag = 8
	// ipoibHeader is an InfiniBand global routing header and the four bytes of RFC
	// 4391: EtherType and reserved.
	ipoibHeader = 44
)

// wrapped reads a frame of one of these link types.
func (d *decoder) wrapped(link uint32, b []byte) {
	switch link {
	case linkIPoIB:
		d.ipoib(b)
	case linkDSABrcm:
		d.switchTag(b, dsaTag)
	case linkDSA:
		d.dsaVLAN(b, 12)
		d.switchTag(b, dsaTag)
	case linkEDSA:
		d.dsaVLAN(b, 16)
		d.switchTag(b, edsaTag)
	case linkDSABrcmPrepend:
		if len(b) < dsaTag {
			d.fail("switch tag")
			return
		}
		d.ethernet(b[dsaTag:])
	case linkJuniperEther:
		d.juniper(b)
	}
}

func isWrapped(link uint32) bool {
	switch link {
	case linkIPoIB, linkDSABrcm, linkDSA, linkEDSA, linkDSABrcmPrepend, linkJuniperEther:
		return true
	}
	return false
}

// ipoib reads IP over InfiniBand. Its hardware addresses have 20 bytes and are
// left unknown.
func (d *decoder) ipoib(b []byte) {
	if len(b) < ipoibHeader {
		d.fail("infiniband header")
		return
	}
	d.p.Lacks |= flow.LacksMAC
	d.etherType(binary.BigEndian.Uint16(b[40:]), b[ipoibHeader:])
}

// switchTag reads an Ethernet frame that has a tag of n bytes between its
// addresses and its EtherType.
func (d *decoder) switchTag(b []byte, n int) {
	if len(b) < 14+n {
		d.fail("switch tag")
		return
	}
	d.p.EthDst, d.p.EthSrc = event.MAC(b[:6]), event.MAC(b[6:12])
	d.etherType(binary.BigEndian.Uint16(b[12+n:]), b[14+n:])
}

// dsaVLAN takes the VLAN id that Marvell's tag at an offset carries in the place
// of the frame's own, if it had one. The format is that of Linux, net/dsa/tag_dsa.c.
func (d *decoder) dsaVLAN(b []byte, at int) {
	const tagged = 0x20
	if len(b) >= at+dsaTag && b[at]&tagged != 0 {
		d.p.VLAN = binary.BigEndian.Uint16(b[at+2:]) & 0x0fff
	}
}

// juniper reads an Ethernet frame behind the header that Junos puts before
// captured frames: a magic number, flags, and extensions where a flag says so.
// Where another flag says that the frame has no link layer, four bytes and the
// IP packet follow.
func (d *decoder) juniper(b []byte) {
	const (
		magic      = 0x4d4743
		noLink     = 0x02
		extensions = 0x80
	)
	if len(b) < 4 || binary.BigEndian.Uint32(b)>>8 != magic {
		d.fail("juniper header")
		return
	}
	flags, n := b[3], 4
	if flags&extensions != 0 {
		if len(b) < 6 {
			d.fail("juniper header")
			return
		}
		n = 6 + int(binary.BigEndian.Uint16(b[4:]))
	}
	if flags&noLink != 0 {
		n += 4
	}
	switch {
	case len(b) < n:
		d.fail("juniper header")
	case flags&noLink != 0:
		d.p.Lacks |= flow.LacksMAC
		d.ip(b[n:])
	default:
		d.ethernet(b[n:])
	}
}

// portBCMLI is the UDP port from or to which Broadcom's switches mirror packets
// for lawful interception. The format is known from tcpdump's printer of it: four
// bytes with direction, kind of packet, number of VLAN tags and an identifier,
// then the packet.
const portBCMLI = 49152

// bcmLI opens a mirrored packet. The port is the first of those that programs
// use for their own packets, so every field must have one of its few values and
// the inner IP packet must fill the datagram of n bytes; otherwise the datagram
// is left as it is.
func (d *decoder) bcmLI(b []byte, n int) {
	const undecided, ipv4, ipv6, ethernet = 4, 5, 6, 7
	if len(b) < 4+14 {
		return
	}
	shim := binary.BigEndian.Uint32(b)
	direction, kind, tags := shim>>29, shim>>25&15, shim>>22&7
	if direction != 2 && direction != 3 || tags < 1 || tags > 3 {
		return
	}
	b, n = b[4:], n-4
	version := b[0] >> 4
	switch {
	case kind == ethernet && framesIP(b, n):
		if d.enter("bcm-li") {
			d.ethernet(b)
		}
	case (kind == undecided || kind == ipv4 && version == 4 || kind == ipv6 && version == 6) && ipLength(b) == n:
		if d.enter("bcm-li") {
			d.ip(b)
		}
	}
}

// framesIP reports whether a frame of n bytes holds an IP packet or a PPPoE
// session's packet that fits, or ARP.
func framesIP(b []byte, n int) bool {
	at := 12
	for ; len(b) >= at+4; at += 4 {
		switch t := binary.BigEndian.Uint16(b[at:]); t {
		case etherVLAN, etherQinQ, etherQinQ2:
		case etherIPv4, etherIPv6:
			size := ipLength(b[at+2:])
			return size > 0 && at+2+size <= n && (b[at+2]>>4 == 4) == (t == etherIPv4)
		case etherPPPoE:
			const version1, session, header = 0x11, 0, 6
			return len(b) >= at+2+header && b[at+2] == version1 && b[at+3] == session &&
				at+2+header+int(binary.BigEndian.Uint16(b[at+6:])) <= n
		default:
			return t == etherARP
		}
	}
	return false
}

// ipLength is the length that an IP header states, 0 when there is none.
func ipLength(b []byte) int {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4 && b[0]&15 >= 5:
		return int(binary.BigEndian.Uint16(b[2:]))
	case len(b) >= 40 && b[0]>>4 == 6:
		return 40 + int(binary.BigEndian.Uint16(b[4:]))
	}
	return 0
}
