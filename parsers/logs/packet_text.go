package logs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

var _ = register(Format{
	Name: "packet-text",
	Doc: "Printed packets: tcpdump in any of its forms (-n, -e, -v, -t to -ttttt, -S, -q, -A, --number, -i any, and the wording of " +
		"versions 3 to 5), tshark's lines and Wireshark's export as text.",
	Detect: func(head []byte, _ string) int { return surveyPackets(head).score() },
	Parse:  parsePacketText,
})

const (
	// maxPacketLine bounds a printed line; the longest are the options of routing
	// protocols at -vvv.
	maxPacketLine = 64 << 10
	// maxContinued bounds what is kept of the lines that follow a packet's first:
	// an HTTP head and a quoted packet fit in many times.
	maxContinued = 32 << 10
)

// packetText reads one stream of printed packets. A packet is decoded when the
// next one begins: only then all its lines are there.
type packetText struct {
	in      *Input
	info    *event.StreamInfo
	tracker *flow.Tracker
	style   packetSurvey
	clock   textClock
	names   hostNames
	seqs    seqBook

	p    flow.Packet // of the record being read
	head []byte      // its first line, behind number and stamp
	more []byte      // its other lines, each with its newline
	open bool
	dump bool // the other lines are payload: any line belongs to it
	row  bool // a line of tshark or Wireshark

	frames, rejected int64
	saw              seenParts
	first, last      event.Nanos
	problems         []event.Problem
}

// seenParts notes what at least one packet carried.
type seenParts struct{ mac, ttl, id, flags, tcp, absolute bool }

func parsePacketText(ctx context.Context, in *Input) error {
	br := bufio.NewReaderSize(in.R, 64<<10)
	head, _ := br.Peek(64 << 10)
	in.R = br
	r := &packetText{in: in, info: in.Info, style: surveyPackets(head)}
	earlier := r.info.Capture
	r.info.Capture = &event.CaptureInfo{Dropped: -1, Text: true}
	r.clock = r.style.clock()
	r.tracker = flow.New(r.info, in.Sink, r.clock.template)
	readTcpdumpCommand(r.info.Capture, r.tracker, in.Command)

	l := newTextLines(in, maxPacketLine)
	for l.scan() {
		if l.n&0xfff == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if l.cut {
			r.problem("line-limit", "a line is longer than 64 KiB and was cut", place{l.n, l.offset})
		}
		r.line(l.text(), place{l.n, l.offset})
	}
	r.flush()
	r.finish(l.n - firstLine(in))
	r.info.Capture = joinCaptures(earlier, r.info.Capture)
	return l.err
}

// line takes the next line of the text.
func (r *packetText) line(text []byte, at place) {
	if text = bytes.TrimRight(text, " \t"); len(text) == 0 {
		r.keep(text)
		return
	}
	if start, ok := r.style.split(text); ok {
		r.flush()
		r.begin(start, at)
		return
	}
	if !r.dump && r.banner(text) {
		return
	}
	if r.continues(text) {
		r.keep(text)
		return
	}
	r.info.Records++
	r.reject("unknown-line", "a line is no printed packet and no part of one", at)
}

// continues reports whether a line belongs to the packet before it.
func (r *packetText) continues(text []byte) bool {
	switch {
	case !r.open:
		return false
	case text[0] == ' ', text[0] == '\t', r.dump, r.style.rows > 0:
		return true
	case text[0] == 'E' || text[0] == '`': // the first byte of an IP header: -A
		r.dump = len(r.more) == 0
		return r.dump
	}
	return startsPacket(text) // inside a tunnel
}

func (r *packetText) keep(text []byte) {
	if r.open && len(r.more)+len(text) < maxContinued {
		r.more = append(append(r.more, text...), '\n')
	}
}

// begin opens a record.
func (r *packetText) begin(start packetStart, at place) {
	r.open, r.dump, r.row = true, false, start.row
	r.head = append(r.head[:0], start.rest...)
	r.more = r.more[:0]
	stamp, precise := r.clock.read(start)
	if precise {
		r.tracker.SetPrecision(r.clock.template)
	}
	r.p = flow.Packet{Ref: event.Ref{Stream: r.info.ID, Line: at.line, Offset: at.offset}, At: stamp}
}

// flush decodes the record and hands it to the tracker.
func (r *packetText) flush() {
	if !r.open {
		return
	}
	r.open = false
	r.frames++
	r.info.Records++
	p := &r.p
	at := place{p.Ref.Line, p.Ref.Offset}
	if p.At != 0 {
		if r.first == 0 || p.At < r.first {
			r.first = p.At
		}
		r.last = max(r.last, p.At)
	}
	d := packetDecoder{r: r, p: p, more: r.more}
	if r.row {
		d.wireshark(r.head)
	} else {
		d.link(r.head)
	}
	if d.why != "" {
		p.Kind = flow.Undecoded
		r.reject(d.why, d.message(), at)
	}
	r.note(p)
	r.tracker.Add(p)
}

// note keeps what the form of the text was seen to carry, and tells the tracker
// what this packet lacks.
func (r *packetText) note(p *flow.Packet) {
	if p.EthSrc.IsZero() || p.EthDst.IsZero() {
		p.Lacks |= flow.LacksMAC
	}
	r.saw.mac = r.saw.mac || !p.EthSrc.IsZero()
	if p.TTL == 0 {
		p.Lacks |= flow.LacksTTL | flow.LacksIPID
	} else {
		r.saw.ttl = true
		r.saw.id = r.saw.id || p.Src.Is4()
	}
	if p.Kind == flow.TCP {
		r.saw.tcp = true
		r.saw.flags = r.saw.flags || p.Lacks&flow.LacksFlags == 0
		r.saw.absolute = r.saw.absolute || p.Lacks&(flow.LacksSeq|flow.RelativeSeq) == 0
	}
}

// finish closes the tracker and completes the stream's row.
func (r *packetText) finish(lines int64) {
	r.tracker.Close()
	c := r.info.Capture
	c.Lacks = r.lacks()
	c.Names = r.names.names
	r.info.Rejected += r.rejected
	r.info.Count("frames", r.frames)
	r.info.Count("lines", lines)
	if r.frames > 0 && r.clock.form != stampNone {
		first, last := r.clock.template, r.clock.template
		first.At, last.At = r.first, r.last
		if r.info.First.IsZero() || first.At < r.info.First.At {
			r.info.First = first
		}
		if last.At > r.info.Last.At {
			r.info.Last = last
		}
	}
	for _, p := range r.problems {
		r.in.Sink.Problem(p)
	}
}

// lacks names what no packet of the text carried.
func (r *packetText) lacks() []string {
	var out []string
	for _, part := range []struct {
		lacks bool
		name  string
	}{
		{!r.saw.mac, "mac"}, {!r.saw.ttl, "ttl"}, {!r.saw.id, "ip-id"},
		{r.clock.template.Missing&(event.MissingDate|event.MissingEpoch) != 0, "date"},
		{r.saw.tcp && !r.saw.flags, "flags"}, {r.saw.tcp && !r.saw.absolute, "absolute-seq"},
	} {
		if part.lacks {
			out = append(out, part.name)
		}
	}
	return out
}

// reject counts a line or packet that was not understood.
func (r *packetText) reject(code, message string, at place) {
	r.rejected++
	r.problem(code, message, at)
}

// problem keeps one problem of each kind, with its first place and how often it
// was met.
func (r *packetText) problem(code, message string, at place) {
	for i := range r.problems {
		if p := &r.problems[i]; p.Code == code {
			p.Count++
			return
		}
	}
	r.problems = append(r.problems, event.Problem{
		Ref:  event.Ref{Stream: r.info.ID, Line: at.line, Offset: at.offset},
		Path: r.info.Path, Code: code, Message: message, Count: 1,
	})
}

// packetDecoder reads the text of one record into a packet.
type packetDecoder struct {
	r    *packetText
	p    *flow.Packet
	more []byte // continuation lines not yet read
	// why is the code of the problem that leaves the packet undecoded, "" none; what
	// is the word it is about.
	why, what string
	quoting   bool // the packet is one that an ICMP error quotes
	depth     int
}

// fail leaves the packet undecoded.
func (d *packetDecoder) fail(code string, what []byte) {
	if d.why == "" {
		d.why, d.what = code, clip(what, 60)
	}
}

func (d *packetDecoder) message() string {
	switch d.why {
	case "unresolved-name":
		return fmt.Sprintf("a packet names a host instead of its address, and nothing tells the address: first %q", d.what)
	case "unresolved-port":
		return fmt.Sprintf("a packet names a service whose port is not known: first %q", d.what)
	case "packet-cut":
		return "a packet was not captured to the end of its headers, or not printed so"
	}
	return fmt.Sprintf("a packet is not in a known form: first %q", d.what)
}

// nextLine takes the next continuation line, without leading blanks.
func (d *packetDecoder) nextLine() ([]byte, bool) {
	if len(d.more) == 0 {
		return nil, false
	}
	line, rest, _ := cutByte(d.more, '\n')
	d.more = rest
	return skipBlanks(line), true
}
