package pcap

import (
	"encoding/binary"
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

func (d *decoder) ipv6(b []byte) {
	if len(b) < 40 || b[0]>>4 != 6 {
		d.fail("ipv6 header")
		return
	}
	p := &d.p
	p.Src, p.Dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	p.TTL = b[7]
	n := int(binary.BigEndian.Uint16(b[4:]))
	if n == 0 {
		n = len(b) - 40 + d.wire // jumbogram or segmentation offload
	}
	d.extensions(b[6], b[40:min(len(b), 40+n)], n)
}

// extensions walks the chain of extension headers to the transport.
func (d *decoder) extensions(next uint8, b []byte, n int) {
	for {
		size := 0
		switch next {
		case protoHopByHop, protoRouting, protoDestOpts, protoMobility, protoHIP, protoShim6:
			if len(b) >= 2 {
				size = (int(b[1]) + 1) * 8
			}
		case protoAH:
			if len(b) >= 2 {
				size = (int(b[1]) + 2) * 4
			}
		case protoFragment:
			if len(b) >= 8 {
				size = 8
				d.more = b[3]&1 != 0
				if binary.BigEndian.Uint16(b[2:])&0xfff8 != 0 {
					d.p.Kind = flow.Fragment
					return
				}
			}
		default:
			d.transport(next, b, n)
			return
		}
		if d.depth++; size == 0 || size > len(b) || d.depth > maxDepth {
			d.fail("ipv6 extension header")
			return
		}
		next, b, n = b[0], b[size:], n-size
	}
}
