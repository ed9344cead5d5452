package pcap

import (
	"encoding/binary"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// greDecoder reads the variants of GRE that gre leaves over.
var greDecoder = layers.LayerTypeGRE

// envelopes are the link types that are seldom met with Kubernetes; gopacket
// opens them.
var envelopes = map[uint32]gopacket.Decoder{
	linkPPP:       layers.LayerTypePPP,
	linkPPPSerial: pppWithAddress,
	linkPPPEther:  layers.LayerTypePPPoE,
	linkFDDI:      layers.LayerTypeFDDI,
	linkPFLOG:     layers.LayerTypePFLog,
	linkCiscoHDLC: ciscoHDLC,
}

// envelope lets gopacket open headers up to the first one that is decoded here,
// and goes on from there.
func (d *decoder) envelope(first gopacket.Decoder, b []byte) {
	if d.depth++; d.depth > maxDepth {
		d.fail("nested headers")
		return
	}
	pkt := gopacket.NewPacket(b, first, gopacket.DecodeOptions{NoCopy: true})
	rest := b
	for _, l := range pkt.Layers() {
		switch l.LayerType() {
		case layers.LayerTypeIPv4, layers.LayerTypeIPv6:
			d.ip(rest)
			return
		case layers.LayerTypeARP:
			d.arp(rest)
			return
		case layers.LayerTypeEthernet:
			d.ethernet(rest)
			return
		case gopacket.LayerTypeDecodeFailure:
			// gopacket refuses what was cut; this decoder may still read it.
			if len(rest) > 0 && (rest[0]>>4 == 4 || rest[0]>>4 == 6) {
				d.ip(rest)
				return
			}
			if pkt.Metadata().Truncated || len(rest) == 0 {
				d.fail("encapsulation")
				return
			}
			d.p.Kind = flow.Other // a protocol that gopacket does not know
			return
		}
		rest = l.LayerPayload()
	}
	d.p.Kind = flow.Other
}

// pppWithAddress skips the address and control bytes of PPP in HDLC framing.
var pppWithAddress = gopacket.DecodeFunc(func(b []byte, p gopacket.PacketBuilder) error {
	if len(b) >= 2 && b[0] == 0xff && b[1] == 0x03 {
		b = b[2:]
	}
	return layers.LayerTypePPP.Decode(b, p)
})

// ciscoHDLC is an address, a control byte and an EtherType.
var ciscoHDLC = gopacket.DecodeFunc(func(b []byte, p gopacket.PacketBuilder) error {
	if len(b) < 4 {
		p.SetTruncated()
		return errShort
	}
	return layers.EthernetType(binary.BigEndian.Uint16(b[2:])).Decode(b[4:], p)
})

// nflog reads the packet logged by a netfilter rule: attributes, in the byte
// order of the logging host (taken to be little-endian), of which one is the
// packet.
func (d *decoder) nflog(b []byte) {
	d.p.Lacks |= flow.LacksMAC
	if len(b) < 4 {
		d.fail("nflog header")
		return
	}
	const attrPayload = 9
	for b = b[4:]; len(b) >= 4; {
		n, kind := int(binary.LittleEndian.Uint16(b)), binary.LittleEndian.Uint16(b[2:])
		if n < 4 {
			break
		}
		if kind == attrPayload {
			d.ip(b[4:min(n, len(b))])
			return
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	d.fail("nflog attributes")
}
