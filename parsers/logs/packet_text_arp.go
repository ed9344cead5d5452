package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// arp reads an ARP message, in the wording of every version:
//
//	Request who-has 10.1.1.1 (00:11:22:33:44:55) tell 10.1.1.2, length 28
//	Ethernet (len 6), IPv4 (len 4), Reply 10.1.1.1 is-at 0a:58:0a:01:01:01
//	Announcement 10.1.1.1
//	who-has 10.1.1.1 tell 10.1.1.2
func (d *packetDecoder) arp(b []byte) {
	p := d.p
	// Hardware other than Ethernet is printed with the length of its addresses.
	if bytes.HasPrefix(b, []byte("Unknown ")) && !bytes.Contains(b, []byte("IPv4 (len 4), ")) {
		p.Kind = flow.Other
		return
	}
	for _, part := range []string{"Ethernet (len 6), ", "IPv4 (len 4), "} {
		if i := bytes.Index(b, []byte(part)); i >= 0 {
			b = b[i+len(part):]
		}
	}
	isReply := bytes.HasPrefix(b, []byte("Reply ")) || bytes.HasPrefix(b, []byte("reply "))
	for _, w := range []string{"Request ", "Reply ", "reply "} {
		if r, ok := after(b, w); ok {
			b = r
			break
		}
	}
	if bytes.Contains(b, []byte("[|ARP]")) || bytes.Contains(b, []byte("[|arp]")) {
		d.fail("packet-cut", b)
		return
	}
	p.Kind = flow.ARP
	switch {
	case bytes.HasPrefix(b, []byte("who-has ")):
		p.ARPOpcode = 1
		target, rest, _ := cutByte(b[len("who-has "):], ' ')
		if len(rest) > 0 && rest[0] == '(' {
			if end := closing(rest); end > 0 {
				p.TargetMAC, _, _ = printedMAC(rest[1:end])
				rest = skipBlanks(rest[end+1:])
			}
		}
		sender, ok := after(rest, "tell ")
		if !ok {
			d.fail("packet-cut", b)
			return
		}
		d.arpAddresses(word(sender), target)
		p.SenderMAC = p.EthSrc
	case isReply:
		address, rest, _ := cutByte(b, ' ')
		r, ok := after(rest, "is-at ")
		if !ok {
			d.fail("packet-cut", b)
			return
		}
		p.ARPOpcode = 2
		p.SenderMAC, _, _ = printedMAC(r)
		p.TargetMAC = p.EthDst
		// To whom is not printed. A reply to all hosts answers nobody: it announces.
		d.arpAddresses(address, nil)
		if p.EthDst.IsBroadcast() {
			p.Dst = p.Src
		}
	case bytes.HasPrefix(b, []byte("Announcement ")):
		p.ARPOpcode, p.SenderMAC = 1, p.EthSrc
		address := word(b[len("Announcement "):])
		d.arpAddresses(address, address)
	case bytes.HasPrefix(b, []byte("Probe ")):
		p.ARPOpcode, p.SenderMAC = 1, p.EthSrc
		d.arpAddresses([]byte("0.0.0.0"), word(b[len("Probe "):]))
	case bytes.HasPrefix(b, []byte("Unknown")):
		d.fail("packet-cut", b)
	default:
		p.Kind = flow.Other // reverse and inverse ARP
	}
	if p.SenderMAC == (event.MAC{}) && p.Kind == flow.ARP {
		p.SenderMAC = p.EthSrc
	}
}

// word is the text up to a blank or comma.
func word(b []byte) []byte {
	if i := bytes.IndexAny(b, " ,"); i >= 0 {
		return b[:i]
	}
	return b
}

// arpAddresses sets sender and target; no target means that it is not printed.
func (d *packetDecoder) arpAddresses(sender, target []byte) {
	for i, text := range [][]byte{sender, target} {
		if text == nil {
			continue
		}
		e := d.r.names.endpoint(text)
		if e.why != "" || e.hasPort || !e.addr.Is4() {
			d.fail("unresolved-name", text)
			return
		}
		if i == 0 {
			d.p.Src = e.addr
		} else {
			d.p.Dst = e.addr
		}
	}
}
