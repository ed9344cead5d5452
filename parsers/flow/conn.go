package flow

import (
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

const (
	maxSYNTimes   = 16 // as event.Flow.SYNTimes
	maxPathPlaces = 6  // interfaces kept per SYN and per answer
	histLimit     = 32 // letters of history kept
	clientSide    = 0
	serverSide    = 1
)

// conn is a live connection. It is kept small: event.Flow, which has room for
// everything, is made only when the connection ends.
type conn struct {
	key       connKey
	clientIsB bool // the client is the key's b
	synSeen   bool
	hasAnswer bool
	isnKnown  bool
	relative  bool // printed packets with relative numbers: no number is the wire's
	noSeq     bool // printed packets without sequence numbers
	histLen   uint8
	hist      [histLimit]byte

	ref         event.Ref // first frame
	first, last event.Mark

	ep [2]endpoint

	syn, synack, lastSynack, ack           event.Mark
	request, requestAck, response, lastRsp event.Mark
	icmp                                   event.ICMPError
	icmps                                  int32

	synTimes []event.Nanos // only when there is more than one
	syns     int32
	synacks  int32
	copies   int32
	reqEnd   uint32

	clientMAC, synDst, lastSynDst event.MAC
	answerMAC, answerDst          event.MAC
	synPath, answerPath           path

	synTTL, synackTTL, rstTTL uint8
	rstHasACK                 bool
	rstIPID                   uint16
	synackWindow, rstWindow   uint16
	mss                       uint16
	rstSeq                    uint32
	serverTS                  uint32

	vlan   uint16
	tunnel string

	app    *app
	target *event.TargetCount
}

// endpoint is one side of a connection: Zeek's view of its state, and its
// sequence numbers.
type endpoint struct {
	state, prev epState
	seen        uint8 // history bits
	started     bool
	start       uint32 // initial sequence number
	next        uint32 // one past the highest sent
	lastSYN     uint32 // relative numbers of the last control segments in the history
	lastFIN     uint32
	lastRST     uint32
	rxmt, zero  scaled
	gaps        scaled
	bytes       int64
	retrans     int32
	maxSegment  int32
	fin, rst    event.Mark
	talker      *event.Talker
}

// path is the interfaces a packet was seen on, in order of appearance.
type path struct {
	n  uint8
	on [maxPathPlaces]uint16
}

func (s *path) add(i uint16) {
	if i == 0 || int(s.n) == len(s.on) {
		return
	}
	for _, o := range s.on[:s.n] {
		if o == i {
			return
		}
	}
	s.on[s.n] = i
	s.n++
}

func (s *path) names(t *Tracker) []string {
	if s.n == 0 {
		return nil
	}
	out := make([]string, s.n)
	for i, o := range s.on[:s.n] {
		out[i] = t.interfaces[o-1]
	}
	return out
}

// closed reports whether nothing but late repetitions can follow.
func (c *conn) closed() bool {
	a, b := c.ep[clientSide].state, c.ep[serverSide].state
	return a == epReset || b == epReset || a == epClosed && b == epClosed
}

func (c *conn) closedRank() int {
	if c.closed() {
		return 1
	}
	return 0
}

func (c *conn) client() netip.AddrPort {
	if c.clientIsB {
		return c.key.b()
	}
	return c.key.a()
}

func (c *conn) server() netip.AddrPort {
	if c.clientIsB {
		return c.key.a()
	}
	return c.key.b()
}

// tcp takes a TCP segment.
func (t *Tracker) tcp(p *Packet) {
	k, swapped := keyOf(p.Src, p.Dst, p.SrcPort, p.DstPort)
	c := t.table.m[k]
	isCopy := t.isTCPCopy(&k, p)
	if c != nil && !isCopy && p.Flags&(SYN|ACK|RST|FIN) == SYN && c.reusedBy(p, swapped) {
		t.finish(c)
		c = nil
	}
	if c == nil {
		isCopy = false // of nothing that is still there
		c = t.open(k, swapped, p)
	}
	side := clientSide
	if swapped != c.clientIsB {
		side = serverSide
	}
	t.countTCP(c, p, side, isCopy)
	t.talkerOf(&c.ep[side], p)
	if isCopy {
		t.n.duplicates++
		c.copies++
		c.passes(p, side)
		if c.tunnel == "" {
			c.tunnel = p.Tunnel
		}
		return
	}
	c.segment(t, p, side)
}

// isTCPCopy asks the table of copies; the signature leaves out what a bridge or
// router changes (addresses of the link layer, TTL).
func (t *Tracker) isTCPCopy(k *connKey, p *Packet) bool {
	h := mix(mix(mix(mix(0, k.aHi), k.aLo), k.bHi), k.bLo)
	h = mix(h, k.ports<<16^uint64(p.SrcPort))
	h = mix(h, uint64(p.Seq)<<32|uint64(p.Ack))
	h = mix(h, uint64(p.TSval)<<32|uint64(p.IPID)<<16|uint64(p.Window))
	h = mix(h, uint64(p.Length)<<8|uint64(p.Flags))
	if p.IPID != 0 || p.TSval != 0 {
		return t.copies.seen(p, h, strong)
	}
	return t.copies.seen(p, h, weak)
}

// reusedBy reports whether a SYN opens another connection on the same 4-tuple.
func (c *conn) reusedBy(p *Packet, swapped bool) bool {
	switch {
	case swapped != c.clientIsB:
		// From the other side: a new connection the other way round, unless both
		// opened at once.
		return c.closed() || !c.synSeen && c.synacks == 0
	case p.Lacks&LacksSeq != 0:
		return c.closed()
	case c.isnKnown:
		return p.Seq != c.ep[clientSide].start
	default:
		return true
	}
}

// open makes a connection for its first packet and decides who the client is.
func (t *Tracker) open(k connKey, swapped bool, p *Packet) *conn {
	if len(t.table.m) >= maxConns {
		t.makeRoom(p.Ref)
	}
	c := t.table.add(k)
	c.ref, c.first = p.Ref, p.mark()
	c.clientIsB = swapped
	c.vlan, c.tunnel = p.VLAN, p.Tunnel
	c.noSeq = p.Lacks&LacksSeq != 0
	flip := false
	switch p.Flags & (SYN | ACK) {
	case SYN:
	case SYN | ACK:
		flip = true
	default:
		flip = t.fromServer(p)
	}
	if flip {
		c.clientIsB = !swapped
		c.note('^')
	}
	return c
}

// fromServer guesses whether a packet of a connection whose start was not seen
// was sent by the server: an address others opened connections to, else the
// lower port.
func (t *Tracker) fromServer(p *Packet) bool {
	if t.targets.known(p.destination()) {
		return false
	}
	if t.targets.known(p.source()) {
		return true
	}
	return p.SrcPort < p.DstPort
}

// countTCP keeps the whole-file counters and those of the target.
func (t *Tracker) countTCP(c *conn, p *Packet, side int, isCopy bool) {
	if p.Flags&(SYN|RST) == 0 {
		return
	}
	if c.target == nil {
		if c.target = t.target(c.server(), p); c.target == nil {
			c.target = new(event.TargetCount)
		}
	}
	switch {
	case p.Flags&RST != 0:
		t.n.rst++
		if side == serverSide {
			c.target.RSTFrom++
		} else {
			c.target.RSTTo++
		}
	case p.Flags&ACK != 0:
		t.n.synack++
		if side == serverSide {
			c.target.SYNACK++
		}
	default:
		t.n.syn++
		if side == clientSide {
			c.target.SYN++
		}
		if c.syns > 0 && side == clientSide {
			t.n.synAgain++
			if !isCopy {
				t.n.synRetrans++
			}
		}
	}
}

// talkerOf counts the sender. An endpoint remembers its entry, so that the table
// is asked once per connection.
func (t *Tracker) talkerOf(e *endpoint, p *Packet) {
	if w := e.talker; w != nil && w.MAC == p.EthSrc {
		w.Frames++
		w.Last = max(w.Last, p.At)
		return
	}
	e.talker = t.talker(p)
}

// passes notes where a handshake packet or a copy of it was seen.
func (c *conn) passes(p *Packet, side int) {
	switch {
	case side == clientSide && p.Flags&(SYN|ACK|RST) == SYN:
		c.synPath.add(p.Interface)
		if c.synDst.IsZero() {
			c.synDst = p.EthDst
		}
		if p.EthDst != c.synDst && c.synSeen {
			c.lastSynDst = p.EthDst
		}
	case side == serverSide && p.Flags&(SYN|RST) != 0:
		c.answerPath.add(p.Interface)
		if c.answerDst.IsZero() {
			c.answerDst = p.EthDst
		}
	}
}

// segment takes a segment that is not a copy.
func (c *conn) segment(t *Tracker, p *Packet, side int) {
	e, peer := &c.ep[side], &c.ep[1-side]
	seq, ack := p.Seq, p.Ack
	if p.Lacks&RelativeSeq != 0 {
		c.relative = true
		if p.Flags&SYN == 0 {
			seq, ack = e.start+seq, peer.start+ack
		}
	}
	c.last = p.mark()
	again := e.track(c, p, peer, seq, ack)
	c.step(side, p.Flags, p.Length)

	c.passes(p, side)
	if side == clientSide {
		c.fromClient(t, p, seq)
	} else {
		c.fromServer(p, ack)
	}
	if p.Flags&FIN != 0 && !e.fin.Seen() {
		e.fin = c.last
	}
	if p.Flags&RST != 0 && !e.rst.Seen() {
		e.rst = c.last
	}
	if p.Length > 0 && p.Flags&RST == 0 {
		e.maxSegment = max(e.maxSegment, int32(min(p.Length, 1<<30)))
		if !again {
			c.payload(t, p, side, seq)
		}
	}
}

// fromClient marks the client's moments.
func (c *conn) fromClient(t *Tracker, p *Packet, seq uint32) {
	switch {
	case p.Flags&(SYN|ACK|RST) == SYN:
		c.syns++
		if !c.synSeen {
			c.synSeen, c.isnKnown = true, p.Lacks&LacksSeq == 0
			c.syn = c.last
			c.clientMAC, c.synDst = p.EthSrc, p.EthDst
			c.synTTL, c.mss = p.TTL, p.MSS
			t.sighting(p)
			return
		}
		if c.synTimes == nil {
			c.synTimes = append(make([]event.Nanos, 0, 4), c.syn.At)
		}
		if len(c.synTimes) < maxSYNTimes {
			c.synTimes = append(c.synTimes, p.At)
		}
	case p.Flags&ACK != 0 && p.Flags&(SYN|RST) == 0 && c.synack.Seen() && !c.ack.Seen():
		c.ack = c.last
	}
	if p.Length > 0 && p.Flags&RST == 0 && !c.request.Seen() {
		c.request = c.last
		c.reqEnd = seq + uint32(p.Length)
	}
}

// fromServer marks the server's moments.
func (c *conn) fromServer(p *Packet, ack uint32) {
	if p.Flags&(SYN|RST) != 0 && !c.hasAnswer {
		c.hasAnswer = true
		c.answerMAC, c.answerDst = p.EthSrc, p.EthDst
		c.serverTS = p.TSval
	}
	switch {
	case p.Flags&RST != 0:
		if !c.ep[serverSide].rst.Seen() {
			c.rstTTL, c.rstIPID, c.rstWindow, c.rstSeq = p.TTL, p.IPID, p.Window, p.Seq
			c.rstHasACK = p.Flags&ACK != 0
		}
		return
	case p.Flags&(SYN|ACK) == SYN|ACK:
		c.synacks++
		c.lastSynack = c.last
		if !c.synack.Seen() {
			c.synack = c.last
			c.synackTTL, c.synackWindow = p.TTL, p.Window
			c.isnKnown = c.isnKnown || p.Lacks&LacksSeq == 0
		}
	}
	if c.request.Seen() && !c.requestAck.Seen() && p.Flags&ACK != 0 && !c.noSeq && int32(ack-c.reqEnd) >= 0 {
		c.requestAck = c.last
	}
	if p.Length > 0 {
		if !c.response.Seen() {
			c.response = c.last
		}
		c.lastRsp = c.last
	}
}
