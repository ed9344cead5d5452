package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// maxPrinted bounds headers inside headers of one record.
const maxPrinted = 16

// anyDirections are what -i any prints for the way of a packet.
var anyDirections = map[string]flow.Direction{
	"In": flow.DirIn, "Out": flow.DirOut, "P": flow.DirOther, "B": flow.DirIn, "M": flow.DirIn,
}

// anyPrefix takes what -i any puts before a packet: interface and direction
// (since 4.99), or the direction alone (-e with the older cooked header).
func anyPrefix(b []byte) (name []byte, dir flow.Direction, rest []byte, ok bool) {
	w, rest, found := cutByte(b, ' ')
	if !found || len(w) == 0 {
		return nil, 0, b, false
	}
	if dir, ok = anyDirections[string(w)]; ok {
		return nil, dir, skipBlanks(rest), true
	}
	rest = skipBlanks(rest)
	d, rest, found := cutByte(rest, ' ')
	if !found || len(w) > 15 || w[len(w)-1] == ',' {
		return nil, 0, b, false
	}
	dir, ok = anyDirections[string(d)]
	return w, dir, skipBlanks(rest), ok
}

// startsPacket reports whether b, which stands behind the stamp, begins a packet
// of a kind that is read here. It is what detection rests on.
func startsPacket(b []byte) bool {
	if _, _, rest, ok := anyPrefix(b); ok {
		b = rest
		if bytes.HasPrefix(b, []byte("ifindex ")) {
			return true
		}
	}
	for _, p := range []string{"IP ", "IP6 "} {
		if rest, ok := after(b, p); ok {
			return len(rest) > 0 && (rest[0] == '(' || bytes.Contains(rest, []byte(" > ")) || bytes.HasPrefix(rest, []byte("truncated-ip")))
		}
	}
	for _, p := range []string{"ARP, ", "arp who-has ", "arp reply ", "ethertype "} {
		if bytes.HasPrefix(b, []byte(p)) {
			return true
		}
	}
	_, rest, ok := printedMAC(b)
	if !ok {
		return false
	}
	if r, ok := after(rest, "> "); ok {
		_, _, ok = printedMAC(r)
		return ok
	}
	return bytes.HasPrefix(rest, []byte("ethertype ")) || oldLink(b) != nil
}

// printedMAC takes a link-layer address with the remark about its maker and the
// blank behind it. Version 3 left out leading zeros.
func printedMAC(b []byte) (m event.MAC, rest []byte, ok bool) {
	if r, found := after(b, "Broadcast"); found {
		return event.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, macRemark(r), true
	}
	for i := range m {
		n := 0
		for n < len(b) && n < 2 && isHex(b[n]) {
			r, _ := hexRune(b[n:], 1)
			m[i] = m[i]<<4 | byte(r)
			n++
		}
		if n == 0 {
			return event.MAC{}, b, false
		}
		if b = b[n:]; i < 5 {
			if len(b) == 0 || b[0] != ':' {
				return event.MAC{}, b, false
			}
			b = b[1:]
		}
	}
	if len(b) > 0 && b[0] == ':' {
		return event.MAC{}, b, false
	}
	return m, macRemark(b), true
}

func macRemark(b []byte) []byte {
	b = skipBlanks(b)
	if bytes.HasPrefix(b, []byte("(oui ")) {
		if _, rest, ok := cutByte(b, ')'); ok {
			return bytes.TrimPrefix(rest, []byte(" "))
		}
	}
	return b
}

// oldLink returns what follows the link-layer header as version 3 printed it:
// two addresses, the type and the length. It is nil when b does not begin so.
func oldLink(b []byte) []byte {
	_, rest, ok := printedMAC(b)
	if !ok {
		return nil
	}
	if _, rest, ok = printedMAC(rest); !ok {
		return nil
	}
	_, rest, _ = cutByte(rest, ' ')
	n, rest, ok := leadingUint(rest)
	if !ok || n == 0 || !bytes.HasPrefix(rest, []byte(": ")) {
		return nil
	}
	return rest[2:]
}

// link reads what stands before the network layer, and goes on with that.
func (d *packetDecoder) link(b []byte) {
	if name, dir, rest, ok := anyPrefix(b); ok {
		d.p.Dir = dir
		b = rest
		if r, found := after(b, "ifindex "); found {
			n, r, _ := cutByte(r, ' ')
			b = r
			if string(name) == "?" {
				name = append([]byte("if"), n...)
			}
		}
		if len(name) > 0 && string(name) != "?" {
			d.p.Interface = d.r.tracker.Interface(string(name))
		}
		if m, rest, ok := printedMAC(b); ok {
			b = rest
			if m != (event.MAC{}) {
				d.p.EthSrc = m
			}
		}
	}
	d.frame(b)
}

// frame reads an Ethernet header, if printed, and what it carries.
func (d *packetDecoder) frame(b []byte) {
	if d.depth++; d.depth > maxPrinted {
		d.fail("unknown-packet", b)
		return
	}
	if src, rest, ok := printedMAC(b); ok {
		if r, found := after(rest, "> "); found {
			dst, r, ok := printedMAC(r)
			if !ok {
				// "aa:… > bb:…, ethertype" and the same with the maker's name.
				d.fail("unknown-packet", b)
				return
			}
			d.p.EthSrc, d.p.EthDst = src, dst
			b = skipBlanks(bytes.TrimPrefix(r, []byte(",")))
		} else if r := oldLink(b); r != nil {
			d.p.EthSrc = src
			d.p.EthDst, _, _ = printedMAC(rest)
			b = r
		}
	}
	d.typed(b)
}

// typed reads the type of an Ethernet frame where it is printed, and VLAN tags.
func (d *packetDecoder) typed(b []byte) {
	kind := []byte(nil)
	for range maxPrinted {
		if r, ok := after(b, "ethertype "); ok {
			var rest []byte
			kind, rest, _ = cutByte(r, ' ')
			kind = bytes.TrimSuffix(kind, []byte(","))
			if _, tail, ok := cutByte(rest, ')'); ok && len(rest) > 0 && rest[0] == '(' {
				rest = skipBlanks(bytes.TrimLeft(tail, ",:"))
			}
			b = rest
			continue
		}
		if r, ok := after(b, "length "); ok {
			_, r, _ = leadingUint(r)
			b = skipBlanks(bytes.TrimPrefix(r, []byte(":")))
			continue
		}
		if r, ok := after(b, "vlan "); ok {
			n, r, _ := leadingUint(r)
			d.p.VLAN = uint16(n & 0xfff)
			if i := bytes.IndexByte(r, 'p'); i >= 0 && i < 4 { // ", p 0, " with ", DEI, "
				_, r, _ = leadingUint(skipBlanks(r[i+1:]))
			}
			b = skipBlanks(bytes.TrimLeft(bytes.TrimPrefix(skipBlanks(bytes.TrimLeft(r, ",")), []byte("DEI")), ","))
			continue
		}
		if r, ok := after(b, "802.1Q "); ok { // version 3: 802.1Q vlan#10 P0
			b = r
			continue
		}
		if r, ok := after(b, "vlan#"); ok {
			n, r, _ := leadingUint(r)
			d.p.VLAN = uint16(n & 0xfff)
			if r = skipBlanks(r); len(r) > 2 && r[0] == 'P' {
				_, r, _ = cutByte(r, ' ')
			}
			b = r
			continue
		}
		break
	}
	d.network(kind, b)
}

// network reads what a frame carries; kind is the printed type, nil when none
// was printed.
func (d *packetDecoder) network(kind, b []byte) {
	if r, ok := after(b, "IP "); ok {
		d.ip4(r)
		return
	}
	if r, ok := after(b, "IP6 "); ok {
		d.ip6(r)
		return
	}
	for _, p := range []string{"ARP, ", "arp "} {
		if r, ok := after(b, p); ok {
			d.arp(r)
			return
		}
	}
	switch string(kind) {
	case "IPv4":
		d.ip4(b)
	case "IPv6":
		d.ip6(b)
	case "ARP":
		d.arp(b)
	default:
		// A protocol printed by name, with its length or its fields behind a comma.
		if len(kind) == 0 && !bytes.Contains(b, []byte(", ")) && !bytes.Contains(b, []byte("length ")) {
			d.fail("unknown-packet", b)
			return
		}
		d.p.Kind = flow.Other
	}
}
