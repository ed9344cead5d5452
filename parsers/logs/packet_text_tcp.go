package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// flagLetters are the letters of tcpdump for the flags a tracker knows; the
// others (W, E, U, e) do not matter to it.
var flagLetters = map[byte]uint8{'F': flow.FIN, 'S': flow.SYN, 'R': flow.RST, 'P': flow.PSH, '.': flow.ACK}

// printedFlags reads "S.", "P." or "none".
func printedFlags(b []byte) uint8 {
	var f uint8
	if string(b) == "none" {
		return 0
	}
	for _, c := range b {
		f |= flagLetters[c]
	}
	return f
}

// oldFlags reports whether b begins with flags as version 3 printed them: letters
// alone, before the numbers.
func oldFlags(b []byte) bool {
	w, rest, ok := cutByte(b, ' ')
	if !ok || len(w) == 0 || len(w) > 8 {
		return false
	}
	for _, c := range w {
		if bytes.IndexByte([]byte("SFRPWE."), c) < 0 {
			return false
		}
	}
	for _, p := range []string{"ack ", "win ", "[tcp ", "[bad ", "urg "} {
		if bytes.HasPrefix(rest, []byte(p)) {
			return true
		}
	}
	_, rest, ok = leadingUint(rest)
	return ok && len(rest) > 0 && rest[0] == ':'
}

// printedTCP is what the text of a segment tells of its numbers.
type printedTCP struct {
	hasSeq, hasAck bool
	seq, ack       uint32
	suffix         []byte // what is printed behind the length: the payload's protocol
}

// tcp reads a segment behind the addresses.
func (d *packetDecoder) tcp(b []byte) {
	p := d.p
	p.Kind = flow.TCP
	var t printedTCP
	switch {
	case bytes.HasPrefix(b, []byte("Flags [")):
		b = b[len("Flags ["):]
		f, rest, ok := cutByte(b, ']')
		if !ok {
			d.fail("packet-cut", b)
			return
		}
		p.Flags = printedFlags(f)
		t.fields(p, bytes.TrimPrefix(rest, []byte(", ")))
	case bytes.HasPrefix(b, []byte("tcp ")):
		// -q: nothing but the length.
		n, _, _ := leadingUint(b[len("tcp "):])
		p.Length = int(n)
		p.Lacks |= flow.LacksFlags | flow.LacksSeq | flow.LacksOptions
	default:
		f, rest, _ := cutByte(b, ' ')
		p.Flags = printedFlags(f)
		t.oldFields(p, rest)
	}
	if d.quoting {
		p.Seq = t.seq
		return
	}
	if p.Lacks&flow.LacksSeq == 0 {
		d.r.seqs.resolve(p, &t)
	}
	if p.Length > 0 {
		p.Payload = printedPayload(t.suffix, d.more, p.Length)
	}
}

// fields reads what version 4 and later print: fields separated by commas.
func (t *printedTCP) fields(p *flow.Packet, b []byte) {
	for len(b) > 0 {
		switch {
		case bytes.HasPrefix(b, []byte("seq ")):
			t.readSeq(b[4:])
		case bytes.HasPrefix(b, []byte("ack ")):
			n, _, ok := leadingUint(b[4:])
			t.ack, t.hasAck = uint32(n), ok
		case bytes.HasPrefix(b, []byte("win ")):
			n, _, _ := leadingUint(b[4:])
			p.Window = uint16(min(n, 65535))
		case bytes.HasPrefix(b, []byte("options [")):
			b = b[len("options ["):]
			end := bytes.Index(b, []byte("], "))
			if end < 0 {
				end = len(b)
			}
			readTCPOptions(p, b[:end])
			b = b[min(len(b), end+1):]
		case bytes.HasPrefix(b, []byte("length ")):
			n, rest, _ := leadingUint(b[len("length "):])
			p.Length = int(min(n, 1<<30))
			t.suffix = bytes.TrimPrefix(bytes.TrimPrefix(rest, []byte(":")), []byte(" "))
			return
		case b[0] == '[':
			if end := closing(b); end >= 0 {
				b = b[end:]
			}
		}
		i := bytes.Index(b, []byte(", "))
		if i < 0 {
			return
		}
		b = b[i+2:]
	}
}

func (t *printedTCP) readSeq(b []byte) (rest []byte) {
	n, rest, ok := leadingUint(b)
	t.seq, t.hasSeq = uint32(n), ok
	return rest
}

// oldFields reads "1234:1334(100) ack 5 win 5840 <mss 1460,nop> (DF)".
func (t *printedTCP) oldFields(p *flow.Packet, b []byte) {
	for len(b) > 0 {
		switch {
		case b[0] == '[':
			if end := closing(b); end >= 0 {
				b = b[end+1:]
			}
		case isDigit(b[0]):
			rest := t.readSeq(b)
			if len(rest) == 0 || rest[0] != ':' {
				return
			}
			_, rest, _ = leadingUint(rest[1:])
			if r, ok := after(rest, "("); ok {
				n, _, _ := leadingUint(r)
				p.Length = int(min(n, 1<<30))
			}
		case bytes.HasPrefix(b, []byte("ack ")):
			n, rest, ok := leadingUint(b[4:])
			t.ack, t.hasAck = uint32(n), ok
			p.Flags |= flow.ACK
			b = rest
		case bytes.HasPrefix(b, []byte("win ")):
			n, rest, _ := leadingUint(b[4:])
			p.Window = uint16(min(n, 65535))
			b = rest
		case b[0] == '<':
			end := bytes.IndexByte(b, '>')
			if end < 0 {
				return
			}
			readTCPOptions(p, b[1:end])
			b = b[end:]
		case b[0] == '(':
			return
		}
		var more bool
		if _, b, more = cutByte(b, ' '); !more {
			return
		}
	}
}

// readTCPOptions keeps MSS and time stamps.
func readTCPOptions(p *flow.Packet, b []byte) {
	for len(b) > 0 {
		var o []byte
		o, b, _ = cutByte(b, ',')
		o = skipBlanks(o)
		if r, ok := after(o, "mss "); ok {
			n, _, _ := leadingUint(r)
			p.MSS = uint16(min(n, 65535))
			continue
		}
		r, ok := after(o, "TS val ")
		if !ok {
			r, ok = after(o, "timestamp ") // before 4.0, without "ecr"
		}
		if ok {
			n, r, _ := leadingUint(r)
			p.HasTS, p.TSval = true, uint32(n)
			n, _, _ = leadingUint(bytes.TrimPrefix(skipBlanks(r), []byte("ecr ")))
			p.TSecr = uint32(n)
		}
	}
}
