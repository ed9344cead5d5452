package logs

import (
	"bytes"
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// Lines of tshark, and of Wireshark's export of the packet list: number, time,
// source, destination, protocol, length and the information column, separated
// by blanks or tabs. The arrows of both are "→", and "?" or ">" where a pasted
// text lost them.

// isWiresharkHeader recognises the titles of the columns.
func isWiresharkHeader(b []byte) bool {
	w := bytes.Fields(b)
	return len(w) >= 6 && string(bytes.Trim(w[0], `"`)) == "No." && bytes.Contains(b, []byte("Source")) && bytes.Contains(b, []byte("Protocol"))
}

// packetRow is a line taken apart.
type packetRow struct {
	src, dst, protocol []byte
	length             int64
	info               []byte
}

func isArrow(b []byte) bool {
	return string(b) == "→" || string(b) == "->" || string(b) == "?" || string(b) == ">" || string(b) == "\u00bb"
}

// splitRow reads what follows number and time.
func splitRow(b []byte) (r packetRow, ok bool) {
	next := func() []byte {
		b = skipBlanks(b)
		i := bytes.IndexAny(b, " \t")
		if i < 0 {
			i = len(b)
		}
		w := b[:i]
		b = b[i:]
		return w
	}
	r.src = next()
	if r.dst = next(); isArrow(r.dst) {
		r.dst = next()
	}
	r.protocol = next()
	n, ok := allDigits(next())
	if !ok || len(r.src) == 0 || len(r.protocol) == 0 || r.protocol[0] < 'A' || r.protocol[0] > 'z' {
		return r, false
	}
	r.length, r.info = n, skipBlanks(b)
	return r, rowAddress(r.src) && rowAddress(r.dst)
}

// rowAddress reports whether a column holds an IP address or an Ethernet one.
func rowAddress(b []byte) bool {
	if _, ok := plainAddr(b); ok {
		return true
	}
	if _, _, ok := printedMAC(b); ok {
		return true
	}
	i := bytes.IndexByte(b, '_') // "Xensource_12:34:56": the maker's name
	return i > 0 && bytes.Count(b[i:], []byte(":")) == 2
}

// startsRow reports whether b, behind number and time, is a line of tshark.
func startsRow(b []byte) bool {
	_, ok := splitRow(b)
	return ok
}

// wireshark reads a line of tshark or Wireshark.
func (d *packetDecoder) wireshark(b []byte) {
	row, ok := splitRow(b)
	if !ok {
		d.fail("unknown-packet", b)
		return
	}
	p := d.p
	d.ethernetII()
	if m, _, ok := printedMAC(row.src); ok {
		p.EthSrc = m
	}
	if m, _, ok := printedMAC(row.dst); ok {
		p.EthDst = m
	}
	p.Src, _ = plainAddr(row.src)
	p.Dst, _ = plainAddr(row.dst)
	p.Kind = flow.Other
	switch {
	case string(row.protocol) == "ARP":
		d.rowARP(row.info)
	case !p.Src.IsValid() || !p.Dst.IsValid():
	case string(row.protocol) == "ICMP":
		d.rowICMP(row.info)
	case string(row.protocol) == "ICMPv6":
		d.rowICMP6(row.info)
	default:
		if !d.rowTCP(row.info) && d.r.seqs.rowPayload(p, row) && startsHTTP(row.info) {
			p.Payload = append(bytes.Clone(row.info), '\r', '\n')
			p.Payload = p.Payload[:min(len(p.Payload), p.Length)]
		}
		if p.Kind == flow.TCP && p.Flags&(flow.SYN|flow.RST) == 0 {
			d.r.seqs.rowSize(p, row)
		}
	}
}

// ethernetII takes the addresses from the details of a packet, where they are
// printed: "Ethernet II, Src: Maker_.. (02:..), Dst: .. (02:..)".
func (d *packetDecoder) ethernetII() {
	_, b, ok := bytes.Cut(d.more, []byte("Ethernet II, Src: "))
	if !ok {
		return
	}
	line, _, _ := cutByte(b, '\n')
	src, dst, _ := bytes.Cut(line, []byte("Dst: "))
	for i, text := range [][]byte{src, dst} {
		if j := bytes.IndexByte(text, '('); j >= 0 {
			text = text[j+1:]
		}
		m, _, _ := printedMAC(bytes.TrimRight(text, "), "))
		if i == 0 {
			d.p.EthSrc = m
		} else {
			d.p.EthDst = m
		}
	}
}

// rowFlags are the flags as Wireshark names them.
var rowFlags = map[string]uint8{"SYN": flow.SYN, "ACK": flow.ACK, "FIN": flow.FIN, "RST": flow.RST, "PSH": flow.PSH}

// rowTCP reads "[TCP Retransmission] 58150 → 8080 [SYN] Seq=0 Win=64240 Len=0
// MSS=1460 TSval=1 TSecr=0". Numbers are relative: each connection is given a
// made-up start, so that a second one between the same ports is told apart.
func (d *packetDecoder) rowTCP(b []byte) bool {
	again := false
	for len(b) > 0 && b[0] == '[' {
		end := closing(b)
		if end < 0 {
			return false
		}
		mark := b[:end]
		again = again || bytes.Contains(mark, []byte("Retransmission")) || bytes.Contains(mark, []byte("Out-Of-Order"))
		b = skipBlanks(b[end+1:])
	}
	sport, rest, ok := leadingUint(b)
	if !ok {
		return false
	}
	arrow, rest, _ := cutByte(skipBlanks(rest), ' ')
	dport, rest, ok := leadingUint(rest)
	if rest = skipBlanks(rest); !ok || !isArrow(arrow) || len(rest) == 0 || rest[0] != '[' || sport > 65535 || dport > 65535 {
		return false
	}
	end := closing(rest)
	if end < 0 {
		return false
	}
	p := d.p
	for f := range bytes.SplitSeq(rest[1:end], []byte(",")) {
		p.Flags |= rowFlags[string(bytes.TrimSpace(f))]
	}
	p.Kind, p.SrcPort, p.DstPort = flow.TCP, uint16(sport), uint16(dport)
	p.Lacks |= flow.RelativeSeq
	rest = rest[end+1:]
	number := func(key string) int64 { n, _ := numberAfter(rest, key); return n }
	p.Seq, p.Ack = uint32(number(" Seq=")), uint32(number(" Ack="))
	p.Window = uint16(min(number(" Win="), 65535))
	p.Length = int(min(number(" Len="), 1<<30))
	p.MSS = uint16(min(number(" MSS="), 65535))
	if n, ok := numberAfter(rest, " TSval="); ok {
		p.HasTS, p.TSval, p.TSecr = true, uint32(n), uint32(number(" TSecr="))
	}
	d.r.seqs.row(p, again)
	return true
}

// row gives a connection its made-up initial numbers.
func (s *seqBook) row(p *flow.Packet, again bool) {
	t, side := s.talk(p)
	if p.Flags&flow.SYN != 0 {
		if p.Flags&flow.ACK == 0 {
			if !t.hasSYN[side] || !again && t.based {
				s.made += 1 << 20
				t.syn[side], t.hasSYN[side], t.based = s.made, true, false
			}
			p.Seq = t.syn[side]
			s.attempt(p, p.Seq)
			s.live(p)
		} else {
			t.based = true
			p.Seq, p.Ack = s.made+1<<19, t.syn[1-side]+1
		}
		return
	}
	t.based = true
	s.live(p)
	t.next[side] = p.Seq + uint32(p.Length)
}

// live remembers the connection used last between two hosts, for lines that name
// no ports.
func (s *seqBook) live(p *flow.Packet) {
	if s.rows == nil || len(s.rows) >= maxAttempts {
		s.rows = make(map[[2]netip.Addr]rowTalk)
	}
	k := [2]netip.Addr{p.Src, p.Dst}
	r := s.rows[k]
	if r.sport != p.SrcPort || r.dport != p.DstPort {
		r = rowTalk{sport: p.SrcPort, dport: p.DstPort, headers: r.headers}
	}
	s.rows[k] = r
}

// rowSize notes how much of a frame is headers.
func (s *seqBook) rowSize(p *flow.Packet, row packetRow) {
	k := [2]netip.Addr{p.Src, p.Dst}
	if r, ok := s.rows[k]; ok && row.length > int64(p.Length) {
		r.headers = row.length - int64(p.Length)
		s.rows[k] = r
	}
}

// rowPayload reads a line of a protocol above TCP, which shows neither ports nor
// numbers: it belongs to the connection used last between the two hosts, and
// what the frame holds beyond the headers seen so far is its payload.
func (s *seqBook) rowPayload(p *flow.Packet, row packetRow) bool {
	r, ok := s.rows[[2]netip.Addr{p.Src, p.Dst}]
	switch string(row.protocol) {
	case "HTTP", "HTTP/JSON", "HTTP/XML", "HTTP2", "GRPC", "SSL", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3", "MySQL", "PGSQL", "RESP":
	default:
		return false
	}
	back, known := s.rows[[2]netip.Addr{p.Dst, p.Src}]
	if !ok && known {
		r, ok = rowTalk{sport: back.dport, dport: back.sport, headers: back.headers}, true
	}
	if !ok || r.headers == 0 || row.length <= r.headers {
		return false
	}
	p.Kind, p.SrcPort, p.DstPort, p.Flags = flow.TCP, r.sport, r.dport, flow.PSH|flow.ACK
	p.Lacks |= flow.RelativeSeq | flow.LacksOptions
	p.Length = int(row.length - r.headers)
	t, side := s.talk(p)
	p.Seq, p.Ack = max(t.next[side], 1), max(t.next[1-side], 1)
	p.Window = 1 // not printed; zero would mean a closed window
	t.next[side] = p.Seq + uint32(p.Length)
	return true
}

// rowARP reads "Who has 10.1.0.1? Tell 10.1.0.5", "10.1.0.1 is at 02:..", "ARP
// Announcement for 10.1.0.1" and "Who has 10.1.0.1? (ARP Probe)".
func (d *packetDecoder) rowARP(b []byte) {
	p := d.p
	p.Kind, p.ARPOpcode, p.SenderMAC = flow.ARP, 1, p.EthSrc
	p.Src, p.Dst = netip.Addr{}, netip.Addr{}
	switch {
	case bytes.HasPrefix(b, []byte("Who has ")):
		target, rest, _ := cutByte(b[len("Who has "):], '?')
		sender := []byte("0.0.0.0")
		if _, tell, ok := bytes.Cut(rest, []byte("Tell ")); ok {
			sender = word(tell)
		}
		d.arpAddresses(sender, target)
	case bytes.Contains(b, []byte(" is at ")):
		p.ARPOpcode = 2
		address, m, _ := bytes.Cut(b, []byte(" is at "))
		p.SenderMAC, _, _ = printedMAC(m)
		p.TargetMAC = p.EthDst
		d.arpAddresses(address, nil)
	case bytes.Contains(b, []byte("Announcement for ")), bytes.HasPrefix(b, []byte("Gratuitous ARP for ")):
		_, address, _ := bytes.Cut(b, []byte(" for "))
		if bytes.Contains(b, []byte("(Reply)")) {
			p.ARPOpcode = 2
		}
		d.arpAddresses(word(address), word(address))
	default:
		p.Kind = flow.Other
	}
}

// rowCodes are the codes of "Destination unreachable" by Wireshark's words.
var rowCodes = []struct {
	words string
	code  uint8
}{
	{"(Network unreachable)", 0}, {"(Host unreachable)", 1}, {"(Protocol unreachable)", 2}, {"(Port unreachable)", 3}, {"(Fragmentation needed)", 4},
	{"(Network administratively prohibited)", 9}, {"(Host administratively prohibited)", 10}, {"(Communication administratively filtered)", 13},
}

func (d *packetDecoder) rowICMP(b []byte) {
	p := d.p
	switch {
	case bytes.HasPrefix(b, []byte("Echo (ping) request")):
		p.Kind, p.ICMPType = flow.ICMPEcho, 8
	case bytes.HasPrefix(b, []byte("Echo (ping) reply")):
		p.Kind = flow.ICMPEchoReply
	case bytes.HasPrefix(b, []byte("Destination unreachable")):
		p.Kind, p.ICMPType = flow.ICMPError, 3
		for _, c := range rowCodes {
			if bytes.Contains(b, []byte(c.words)) {
				p.ICMPCode = c.code
			}
		}
		d.guessQuote(p.Src, 0) // most are sent by the host that was asked
	case bytes.HasPrefix(b, []byte("Time-to-live exceeded")):
		p.Kind, p.ICMPType = flow.ICMPError, 11
	}
}

func (d *packetDecoder) rowICMP6(b []byte) {
	p := d.p
	starts := func(s string) bool { return bytes.HasPrefix(b, []byte(s)) }
	from := func(key string) (m event.MAC) {
		if _, r, ok := bytes.Cut(b, []byte(key)); ok {
			m, _, _ = printedMAC(r)
		}
		return m
	}
	switch {
	case starts("Echo (ping) request"):
		p.Kind, p.ICMPType = flow.ICMPEcho, 128
	case starts("Echo (ping) reply"):
		p.Kind, p.ICMPType = flow.ICMPEchoReply, 129
	case starts("Neighbor Solicitation for "):
		p.Kind, p.ICMPType, p.ARPOpcode = flow.Neighbour, 135, 1
		p.Dst, p.SenderMAC = addrAfter(b, " for "), from(" from ")
	case starts("Neighbor Advertisement "):
		p.Kind, p.ICMPType, p.ARPOpcode = flow.Neighbour, 136, 2
		p.Src, p.SenderMAC = addrAfter(b, "Advertisement "), from(" is at ")
		p.Router, p.Solicited = bytes.Contains(b, []byte("rtr")), bytes.Contains(b, []byte("sol"))
	case starts("Router Solicitation"):
		p.Kind, p.ICMPType = flow.RouterSolicit, 133
	case starts("Multicast Listener Report"):
		p.Kind, p.ICMPType = flow.Multicast, 143
	case starts("Destination Unreachable"):
		p.Kind, p.ICMPType = flow.ICMPError, 1
		if bytes.Contains(b, []byte("(Port unreachable)")) {
			p.ICMPCode = 4
		} else if bytes.Contains(b, []byte("(Address unreachable)")) {
			p.ICMPCode = 3
		}
		d.guessQuote(p.Src, 0)
	}
	if p.Kind == flow.Neighbour && (!p.Src.IsValid() || !p.Dst.IsValid()) {
		d.fail("unresolved-name", b)
	}
}
