package flow

import (
	"net/netip"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Counter names of CONTRACT.md that a Tracker keeps. They count the whole file,
// copies of "-i any" included; tcp_syn_retransmitted alone leaves copies out.
const (
	countDuplicates = "duplicate_frames"
	countSYN        = "tcp_syn"
	countSYNACK     = "tcp_synack"
	countRST        = "tcp_rst"
	countSYNAgain   = "tcp_syn_repeated"
	countSYNRetrans = "tcp_syn_retransmitted"
	countARPRequest = "arp_request"
	countARPReply   = "arp_reply"
	countUnreach    = "icmp_unreachable"
	countUndecoded  = "undecoded"
	countFlows      = "tcp_flows"
)

const (
	maxGaps = 64
	gapSize = event.Nanos(60e9)
)

// Tracker follows the packets of one stream. It is not safe for concurrent use;
// a sink is called by the goroutine that calls Add and Close.
type Tracker struct {
	info      *event.StreamInfo
	cap       *event.CaptureInfo
	sink      event.Sink
	precision event.Stamp // template: Precision, Missing and Basis of the stream's stamps

	interfaces []string // by number-1

	table   table
	copies  copies
	targets targets
	talkers talkers
	arp     arpBook
	egress  egressBook
	names   interner

	last    event.Nanos // latest time stamp so far
	n       tally
	limited map[string]*event.Problem
	order   []string
}

// tally holds the counters as plain fields: they are touched for every packet.
type tally struct {
	undecoded, syn, synack, rst, synAgain, synRetrans    int64
	arpRequest, arpReply, unreachable, duplicates, flows int64
	arpFrames, icmpFrames, nonTCP                        int64
}

// New makes a tracker for one stream. It sets info.Capture when the caller has
// not, and adds to info.Counts when it is closed. Stamp is the template for the
// time of events: its At is ignored, its Precision, Missing and Basis are those
// of the stream's time stamps.
func New(info *event.StreamInfo, sink event.Sink, stamp event.Stamp) *Tracker {
	if info.Capture == nil {
		info.Capture = &event.CaptureInfo{Dropped: -1}
	}
	t := &Tracker{info: info, cap: info.Capture, sink: sink, precision: stamp, copies: newCopies()}
	t.table.init()
	t.targets.init()
	t.talkers.init()
	t.egress.init()
	return t
}

// Interface returns the number for a capturing interface's name. Equal names
// give equal numbers; the empty name and names beyond the 65535th give 0.
func (t *Tracker) Interface(name string) uint16 {
	if name == "" {
		return 0
	}
	if i := slices.Index(t.interfaces, name); i >= 0 {
		return uint16(i + 1)
	}
	if len(t.interfaces) >= maxInterfaces {
		t.limit("interface-limit", "more than 4096 interfaces: later ones are not told apart", event.Ref{Stream: t.info.ID})
		return 0
	}
	t.interfaces = append(t.interfaces, name)
	t.cap.Interfaces = append(t.cap.Interfaces, name)
	return uint16(len(t.interfaces))
}

const maxInterfaces = 4096

// SetPrecision changes the stamp template for the events to come (a pcapng file
// may hold interfaces of different resolution).
func (t *Tracker) SetPrecision(stamp event.Stamp) { t.precision = stamp }

// Add takes the next packet of the stream. The packet is the caller's again when
// Add returns.
func (t *Tracker) Add(p *Packet) {
	t.clock(p)
	switch p.Kind {
	case TCP:
		t.tcp(p)
	case ARP, Neighbour:
		t.n.arpFrames++
		t.neighbour(p)
	case ICMPError:
		t.n.icmpFrames++
		t.icmpError(p)
	case ICMPEcho, ICMPEchoReply, RouterSolicit, Multicast:
		t.n.icmpFrames++
		t.talker(p)
		t.sighting(p)
	case UDP:
		t.n.nonTCP++
		t.talker(p)
		t.sighting(p)
	case Undecoded:
		t.n.undecoded++
	default:
		t.n.nonTCP++
	}
}

// clock keeps first, last and the silences, and lets idle connections go.
func (t *Tracker) clock(p *Packet) {
	if p.At == 0 {
		return
	}
	if t.cap.First == 0 || p.At < t.cap.First {
		t.cap.First = p.At
	}
	if t.last != 0 && p.At-t.last > gapSize && len(t.cap.Gaps) < maxGaps {
		t.cap.Gaps = append(t.cap.Gaps, event.Gap{From: t.last, To: p.At})
	}
	if p.At > t.last {
		t.last = p.At
	}
	if t.last >= t.table.nextSweep {
		t.sweep()
	}
	t.arp.advance(t, p.At)
}

// Close ends the stream: what is still open is emitted and the counters are
// written to the stream's info.
func (t *Tracker) Close() {
	t.arp.flush(t)
	t.finishAll()
	c := t.cap
	c.Last = t.last
	c.Undecoded += t.n.undecoded
	c.Duplicates += t.n.duplicates
	c.ARPFrames += t.n.arpFrames
	c.ICMPFrames += t.n.icmpFrames
	c.NonTCP += t.n.nonTCP
	c.Targets = t.targets.sorted()
	c.Talkers = t.talkers.sorted()
	for _, k := range []struct {
		name string
		n    int64
	}{
		{countUndecoded, t.n.undecoded}, {countDuplicates, t.n.duplicates},
		{countSYN, t.n.syn}, {countSYNACK, t.n.synack}, {countRST, t.n.rst},
		{countSYNAgain, t.n.synAgain}, {countSYNRetrans, t.n.synRetrans},
		{countARPRequest, t.n.arpRequest}, {countARPReply, t.n.arpReply},
		{countUnreach, t.n.unreachable}, {countFlows, t.n.flows},
	} {
		t.info.Count(k.name, k.n)
	}
	for _, code := range t.order {
		t.sink.Problem(*t.limited[code])
	}
}

// limit notes that a bound was met; it is reported once, with a count, when the
// tracker is closed.
func (t *Tracker) limit(code, message string, at event.Ref) {
	if p := t.limited[code]; p != nil {
		p.Count++
		return
	}
	if t.limited == nil {
		t.limited = map[string]*event.Problem{}
	}
	t.limited[code] = &event.Problem{Ref: at, Path: t.info.Path, Code: code, Message: message, Count: 1}
	t.order = append(t.order, code)
}

// emit hands an event to the sink and counts it as kept.
func (t *Tracker) emit(at event.Nanos, ref event.Ref, pl event.Payload) {
	st := t.precision
	st.At = at
	t.info.Kept++
	t.sink.Emit(event.Event{Time: st, Node: t.info.Node, Ref: ref, Payload: pl})
}

// interner keeps one copy of the few strings that repeat in every connection
// (methods, paths, user agents).
type interner struct{ m map[string]string }

const maxInterned = 1024

func (i *interner) get(b []byte) string {
	if s, ok := i.m[string(b)]; ok {
		return s
	}
	s := string(b)
	if i.m == nil || len(i.m) >= maxInterned {
		i.m = make(map[string]string)
	}
	i.m[s] = s
	return s
}

// addrPort is the source or destination of a packet.
func (p *Packet) source() netip.AddrPort      { return netip.AddrPortFrom(p.Src, p.SrcPort) }
func (p *Packet) destination() netip.AddrPort { return netip.AddrPortFrom(p.Dst, p.DstPort) }
