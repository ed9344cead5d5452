package logs

import (
	"bytes"
	"strconv"

	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// closing returns the index of the bracket that closes the one b begins with,
// -1 when there is none.
func closing(b []byte) int {
	open, depth := b[0], 0
	shut := byte(')')
	if open == '[' {
		shut = ']'
	}
	for i, c := range b {
		switch c {
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// numberAfter reads the number behind a key in b.
func numberAfter(b []byte, key string) (int64, bool) {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return 0, false
	}
	n, _, ok := leadingUint(skipBlanks(b[i+len(key):]))
	return n, ok
}

// ip4 reads an IPv4 packet behind "IP ": with -v the header's fields stand in
// brackets, and what it carries on the next line (before version 4 on the same).
func (d *packetDecoder) ip4(b []byte) {
	fragment := false
	if b = skipCut(b); len(b) > 0 && b[0] == '(' {
		end := closing(b)
		if end < 0 {
			d.fail("packet-cut", b)
			return
		}
		head := b[:end]
		if ttl, ok := numberAfter(head, "ttl "); ok && ttl < 256 {
			d.p.TTL = uint8(ttl)
		}
		if id, ok := numberAfter(head, " id "); ok && id < 1<<16 {
			d.p.IPID = uint16(id)
		}
		offset, _ := numberAfter(head, "offset ")
		fragment = offset > 0
		if b = skipBlanks(b[end+1:]); len(b) == 0 {
			next, ok := d.nextLine()
			if !ok {
				d.fail("packet-cut", head)
				return
			}
			b = next
		}
	}
	d.addresses(b, fragment)
}

// ip6 reads an IPv6 packet behind "IP6 ".
func (d *packetDecoder) ip6(b []byte) {
	if b = skipCut(b); len(b) > 0 && b[0] == '(' {
		end := closing(b)
		if end < 0 {
			d.fail("packet-cut", b)
			return
		}
		if ttl, ok := numberAfter(b[:end], "hlim "); ok && ttl < 256 {
			d.p.TTL = uint8(ttl)
		}
		b = skipBlanks(b[end+1:])
		if len(b) > 0 && b[0] == '[' { // remark about the length
			if end := closing(b); end >= 0 {
				b = skipBlanks(b[end+1:])
			}
		}
	}
	d.addresses(b, false)
}

// skipCut drops the remark about a packet that was not captured whole.
func skipCut(b []byte) []byte {
	if bytes.HasPrefix(b, []byte("truncated-ip")) {
		if _, rest, ok := bytes.Cut(b, []byte("missing! ")); ok {
			return rest
		}
	}
	return b
}

// addresses reads "a.port > b.port: " and goes on with what follows.
func (d *packetDecoder) addresses(b []byte, fragment bool) {
	src, rest, ok := bytes.Cut(b, []byte(" > "))
	if !ok || bytes.IndexByte(src, ' ') >= 0 {
		if bytes.Contains(b, []byte("[|ip")) || bytes.Contains(b, []byte("bad-")) || bytes.Contains(b, []byte("version ")) {
			d.fail("packet-cut", b)
		} else {
			d.fail("unknown-packet", b)
		}
		return
	}
	dst, body, _ := cutByte(rest, ' ')
	dst = bytes.TrimSuffix(dst, []byte(":"))
	from, to := d.r.names.endpoint(src), d.r.names.endpoint(dst)
	for _, e := range []*printedEndpoint{from, to} {
		if e.why != "" {
			d.fail(e.why, e.text)
			return
		}
	}
	d.p.Src, d.p.Dst = from.addr, to.addr
	d.p.SrcPort, d.p.DstPort = from.port, to.port
	if fragment {
		d.p.Kind = flow.Fragment
		return
	}
	d.transport(body, from.hasPort && to.hasPort)
}

// extensions drops what is printed of IPv6 extension headers and checksums
// before the upper layer's text.
func extensions(b []byte) []byte {
	for range maxPrinted {
		switch {
		case len(b) == 0:
			return b
		case b[0] == '[' && (bytes.HasPrefix(b, []byte("[udp ")) || bytes.HasPrefix(b, []byte("[bad ")) || bytes.HasPrefix(b, []byte("[no cksum]")) ||
			bytes.HasPrefix(b, []byte("[icmp6 ")) || bytes.HasPrefix(b, []byte("[header+payload ")) || bytes.HasPrefix(b, []byte("[total length "))),
			b[0] == '(':
			end := closing(b)
			if end < 0 {
				return b
			}
			b = skipBlanks(b[end+1:])
		case bytes.HasPrefix(b, []byte("HBH ")), bytes.HasPrefix(b, []byte("DSTOPT ")):
			_, b, _ = cutByte(b, ' ')
			b = skipBlanks(b)
		default:
			return b
		}
	}
	return b
}

// transport tells by the words what a packet carries.
func (d *packetDecoder) transport(b []byte, ports bool) {
	b = extensions(b)
	starts := func(s string) bool { return bytes.HasPrefix(b, []byte(s)) }
	switch {
	case starts("Flags ["), ports && oldFlags(b), ports && starts("tcp "):
		d.tcp(b)
	case starts("[|tcp]"):
		d.fail("packet-cut", b)
		d.p.Kind = flow.TCP
	case starts("ICMP6, "):
		d.icmp6(b[len("ICMP6, "):])
	case starts("icmp6: "):
		d.icmp6(b[len("icmp6: "):])
	case starts("ICMP "):
		d.icmp4(b[len("ICMP "):])
	case starts("icmp: "):
		d.icmp4(b[len("icmp: "):])
	case starts("igmp "), starts("MLD"):
		d.p.Kind = flow.Multicast
	case starts("IP "), starts("IP6 "):
		d.tunnelled(ipTunnel(b, d.p.Src.Is4()))
		d.network(nil, b)
	case starts("GREv"):
		d.inside("gre", b)
	case starts("frag (") && !starts("frag (0|"), !ports && (string(b) == "tcp" || string(b) == "udp" || string(b) == "icmp" || starts("ip-proto-")):
		d.p.Kind = flow.Fragment
	case starts("frag (0|"):
		if end := bytes.IndexByte(b, ')'); end >= 0 && d.depth < maxPrinted {
			d.depth++
			d.transport(skipBlanks(b[end+1:]), ports)
			return
		}
		d.p.Kind = flow.Fragment
	case ports && starts("sctp"):
		d.p.Kind = flow.Other
	case ports && (starts("VXLAN, ") || starts("OTV, ")):
		d.inside("vxlan", b)
	case ports && starts("Geneve, "):
		d.inside("geneve", b)
	case ports:
		d.p.Kind = flow.UDP
	default:
		d.p.Kind = flow.Other
	}
}

// ipTunnel names IP inside IP as package flow does.
func ipTunnel(b []byte, outer4 bool) string {
	if outer4 && bytes.HasPrefix(b, []byte("IP6 ")) {
		return "6in4"
	}
	return "ipip"
}

// tunnelled notes that what follows is inside a tunnel between the addresses
// read so far.
func (d *packetDecoder) tunnelled(name string) {
	p := d.p
	if p.Tunnel == "" {
		p.Tunnel, p.OuterSrc, p.OuterDst = name, p.Src, p.Dst
	}
	p.SrcPort, p.DstPort, p.TTL, p.IPID = 0, 0, 0, 0
}

// inside finds the packet that a tunnel carries: behind the tunnel's own header
// or on the next line.
func (d *packetDecoder) inside(name string, b []byte) {
	outer := flow.UDP
	if name == "gre" {
		outer = flow.Other
	}
	d.p.Kind = outer
	if d.quoting {
		return
	}
	for {
		for from := 0; ; {
			i := bytes.Index(b[from:], []byte(": "))
			if i < 0 {
				break
			}
			if from += i + 2; startsPacket(b[from:]) {
				d.tunnelled(name)
				d.frame(b[from:])
				return
			}
		}
		next, ok := d.nextLine()
		if !ok {
			return
		}
		if startsPacket(next) {
			d.tunnelled(name)
			d.frame(next)
			return
		}
		b = next
	}
}

// portNumber reads a port, or the name of a service for its number.
func portNumber(b []byte) (uint16, bool) {
	if n, err := strconv.ParseUint(string(b), 10, 16); err == nil {
		return uint16(n), true
	}
	n, ok := servicePorts[string(b)]
	return n, ok
}
