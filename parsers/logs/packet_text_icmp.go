package logs

import (
	"bytes"
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// icmpWords tell an ICMP message by how it is printed; the first that is
// contained decides.
var icmpWords = []struct {
	words      string
	kind       flow.Kind
	typ, code  uint8
	startsWith bool
}{
	{"echo request", flow.ICMPEcho, 8, 0, true},
	{"echo reply", flow.ICMPEchoReply, 0, 0, true},
	{"time exceeded in-transit", flow.ICMPError, 11, 0, true},
	{"ip reassembly time exceeded", flow.ICMPError, 11, 1, true},
	{"parameter problem", flow.ICMPError, 12, 0, true},
	{"redirect", flow.ICMPError, 5, 0, true},
	{"source quench", flow.ICMPError, 4, 0, true},
	{"unreachable - need to frag", flow.ICMPError, 3, 4, false},
	{"unreachable - source route failed", flow.ICMPError, 3, 5, false},
	{"unreachable - source host isolated", flow.ICMPError, 3, 8, false},
	{"unreachable - admin prohibited filter", flow.ICMPError, 3, 13, false},
	{"unreachable - host precedence violation", flow.ICMPError, 3, 14, false},
	{"unreachable - precedence cutoff", flow.ICMPError, 3, 15, false},
}

// icmp4 reads an ICMP message behind "ICMP ".
func (d *packetDecoder) icmp4(b []byte) {
	p := d.p
	p.Kind = flow.Other
	known := false
	for _, w := range icmpWords {
		if w.startsWith && bytes.HasPrefix(b, []byte(w.words)) || !w.startsWith && bytes.Contains(b, []byte(w.words)) {
			p.Kind, p.ICMPType, p.ICMPCode, known = w.kind, w.typ, w.code, true
			break
		}
	}
	if !known && bytes.Contains(b, []byte(" unreachable")) {
		p.Kind, p.ICMPType, p.ICMPCode = flow.ICMPError, 3, unreachableCode(b)
	}
	if p.Kind != flow.ICMPError || d.quoting {
		return
	}
	if d.quote() || p.ICMPType != 3 {
		return
	}
	// Without -v the quoted packet is told by its destination alone.
	words := bytes.Fields(b)
	var target netip.Addr
	for _, w := range words[:min(2, len(words))] {
		if a, ok := plainAddr(w); ok {
			target = a
			break
		}
	}
	port := uint16(0)
	if i := bytes.Index(b, []byte(" port ")); i >= 0 {
		w, _, _ := cutByte(b[i+len(" port "):], ' ')
		port, _ = portNumber(bytes.TrimRight(w, ","))
		if bytes.Contains(b[:i+1], []byte(" udp ")) {
			p.QuoteProto = 17
			return
		}
	}
	d.guessQuote(target, port)
}

func unreachableCode(b []byte) uint8 {
	host := bytes.HasPrefix(b, []byte("host "))
	pick := func(net, onHost uint8) uint8 {
		if host {
			return onHost
		}
		return net
	}
	switch {
	case bytes.Contains(b, []byte("unreachable - unknown")):
		return pick(6, 7)
	case bytes.Contains(b, []byte("unreachable - admin prohibited")):
		return pick(9, 10)
	case bytes.Contains(b, []byte("unreachable - tos prohibited")):
		return pick(11, 12)
	case bytes.Contains(b, []byte(" port ")):
		return 3
	case bytes.Contains(b, []byte(" protocol ")):
		return 2
	}
	return pick(0, 1)
}

// guessQuote takes the latest connection attempt from whom the error was sent
// to as the packet that is quoted.
func (d *packetDecoder) guessQuote(target netip.Addr, port uint16) {
	p := d.p
	s, ok := d.r.seqs.syns[[2]netip.Addr{p.Dst, target}]
	if !ok || port != 0 && port != s.dport {
		return
	}
	p.QuoteProto, p.QuoteSrc, p.QuoteDst = 6, p.Dst, target
	p.QuoteSport, p.QuoteDport, p.QuoteSeq = s.sport, s.dport, s.seq
}

// quote reads the packet that an error quotes, printed on the lines behind it
// (-v).
func (d *packetDecoder) quote() bool {
	for {
		line, ok := d.nextLine()
		if !ok {
			return false
		}
		if !startsPacket(line) {
			continue
		}
		var q flow.Packet
		in := packetDecoder{r: d.r, p: &q, more: d.more, quoting: true, depth: d.depth}
		in.network(nil, line)
		if !q.Src.IsValid() {
			return false
		}
		p := d.p
		p.QuoteSrc, p.QuoteDst, p.QuoteSport, p.QuoteDport, p.QuoteSeq = q.Src, q.Dst, q.SrcPort, q.DstPort, q.Seq
		switch q.Kind {
		case flow.TCP:
			p.QuoteProto = 6
		case flow.UDP:
			p.QuoteProto = 17
		}
		return true
	}
}

// icmp6 reads a message behind "ICMP6, ".
func (d *packetDecoder) icmp6(b []byte) {
	p := d.p
	starts := func(s string) bool { return bytes.HasPrefix(b, []byte(s)) }
	has := func(s string) bool { return bytes.Contains(b, []byte(s)) }
	p.Kind = flow.Other
	switch {
	case starts("echo request"):
		p.Kind, p.ICMPType = flow.ICMPEcho, 128
	case starts("echo reply"):
		p.Kind, p.ICMPType = flow.ICMPEchoReply, 129
	case starts("neighbor solicitation"):
		d.solicitation(b)
	case starts("neighbor advertisement"):
		d.advertisement(b)
	case starts("router solicitation"):
		p.Kind, p.ICMPType = flow.RouterSolicit, 133
	case starts("multicast listener"):
		p.ICMPType = 143
		if !has("query") {
			p.Kind = flow.Multicast
		}
	case starts("packet too big"):
		p.Kind, p.ICMPType = flow.ICMPError, 2
		d.quote()
	case starts("time exceeded"):
		p.Kind, p.ICMPType = flow.ICMPError, 3
		d.quote()
	case starts("parameter problem"):
		p.Kind, p.ICMPType = flow.ICMPError, 4
		d.quote()
	case starts("destination unreachable"), starts("unreachable"):
		p.Kind, p.ICMPType = flow.ICMPError, 1
		for i, w := range []string{"unreachable route", "unreachable prohibited", "beyond scope", "unreachable address", "unreachable port"} {
			if has(w) {
				p.ICMPCode = uint8(i)
			}
		}
		if d.quoting || d.quote() {
			return
		}
		var target netip.Addr
		port := uint16(0)
		words := bytes.Fields(b)
		for i, w := range words {
			if a, ok := plainAddr(bytes.Trim(w, ",")); ok && a.Is6() {
				target = a
			}
			if string(w) == "port" && i+1 < len(words) {
				if n, ok := portNumber(bytes.Trim(words[i+1], ",")); ok {
					port = n
				}
			}
		}
		if !has(" udp port") {
			d.guessQuote(target, port)
		}
	}
}

// addrAfter reads the address behind a key.
func addrAfter(b []byte, key string) netip.Addr {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return netip.Addr{}
	}
	w, _, _ := cutByte(b[i+len(key):], ' ')
	a, _ := plainAddr(bytes.Trim(w, ","))
	return a
}

func (d *packetDecoder) solicitation(b []byte) {
	p := d.p
	target := addrAfter(b, "who has ")
	if !target.IsValid() {
		d.fail("unresolved-name", b)
		return
	}
	p.Kind, p.ICMPType, p.ARPOpcode, p.Dst = flow.Neighbour, 135, 1, target
	if p.SenderMAC = d.linkOption(); p.SenderMAC.IsZero() {
		p.SenderMAC = p.EthSrc
	}
}

// advertisement: its flags are printed with -v only. One to a single host
// answers a solicitation, one to all was sent unasked (RFC 4861, 7.2.4, 7.2.6).
func (d *packetDecoder) advertisement(b []byte) {
	p := d.p
	target := addrAfter(b, "tgt is ")
	if !target.IsValid() {
		d.fail("unresolved-name", b)
		return
	}
	p.Solicited = !p.Dst.IsMulticast()
	if _, flags, ok := bytes.Cut(b, []byte("Flags [")); ok {
		flags, _, _ = cutByte(flags, ']')
		p.Router, p.Solicited = bytes.Contains(flags, []byte("router")), bytes.Contains(flags, []byte("solicited"))
	}
	p.Kind, p.ICMPType, p.ARPOpcode, p.Src = flow.Neighbour, 136, 2, target
	p.SenderMAC, p.TargetMAC = d.linkOption(), p.EthDst
	if p.SenderMAC.IsZero() {
		p.SenderMAC = p.EthSrc
	}
}

// linkOption reads the link-layer address option that -v prints on its own
// line.
func (d *packetDecoder) linkOption() event.MAC {
	for {
		line, ok := d.nextLine()
		if !ok {
			return event.MAC{}
		}
		if i := bytes.Index(line, []byte("link-address option")); i >= 0 {
			if _, r, ok := bytes.Cut(line[i:], []byte(": ")); ok {
				m, _, _ := printedMAC(r)
				return m
			}
		}
	}
}
