package flow

import "github.com/probe-forensics/probe-forensics/parsers/event"

// The state machine follows Zeek's TCP analyzer, so that states and histories
// mean what readers of conn.log know them to mean. One difference: a connection
// that begins with a SYN-ACK is always seen from its receiver, the client.

// epState is the state of one endpoint, in Zeek's terms.
type epState uint8

const (
	epInactive epState = iota
	epSynSent
	epSynAckSent
	epPartial
	epEstablished
	epClosed
	epReset
)

func (e *endpoint) become(s epState) { e.prev, e.state = e.state, s }

// History bits: letters that are written once for each side.
const (
	seenSYN uint8 = 1 << iota
	seenFIN
	seenRST
	seenData
	seenACK
	seenOdd
	seenMulti
)

// scaled counts something whose letter is written at the 1st, 10th, 100th ...
// time.
type scaled struct{ n, at uint32 }

func (s *scaled) hit() bool {
	if s.at == 0 {
		s.at = 1
	}
	s.n++
	if s.n != s.at || s.at > 1e8 {
		return false
	}
	s.at *= 10
	return true
}

func (c *conn) note(letter byte) {
	if int(c.histLen) < len(c.hist) {
		c.hist[c.histLen] = letter
		c.histLen++
	}
}

// letter writes a history letter for a side: upper case for the client.
func (c *conn) letter(e *endpoint, l byte) {
	if e == &c.ep[serverSide] {
		l |= 0x20
	}
	c.note(l)
}

// once writes a letter unless the side has it already; it reports whether it
// had.
func (c *conn) once(e *endpoint, bit uint8, l byte) bool {
	if e.seen&bit != 0 {
		return true
	}
	e.seen |= bit
	c.letter(e, l)
	return false
}

// track follows sequence numbers and history for a segment of endpoint e and
// reports whether its payload was sent before.
func (e *endpoint) track(c *conn, p *Packet, peer *endpoint, seq, ack uint32) (again bool) {
	length := uint32(p.Length)
	flags := p.Flags
	end := seq
	if flags&RST == 0 {
		end += length
	}
	if flags&SYN != 0 {
		end++
	}
	if flags&FIN != 0 {
		end++
	}
	switch {
	case !e.started:
		e.started, e.start, e.next = true, seq, end
		if flags&SYN == 0 {
			e.start, e.next = seq-1, seq
		}
	case flags&SYN != 0 && seq != e.start && (e.state < epClosed && e.state != epInactive || e.state == epReset && e.prev == epInactive):
		e.start, e.next = seq, end
	}
	c.history(e, flags, seq-e.start, length)
	if p.Window == 0 && flags&RST == 0 && p.Lacks&LacksSeq == 0 && peer.state != epClosed && e.state != epReset && e.zero.hit() {
		c.letter(e, 'W')
	}
	if flags&ACK != 0 {
		peer.acked(c, flags, ack)
	}
	if p.Lacks&LacksSeq != 0 {
		e.bytes += int64(length)
		return false
	}
	return e.advance(c, flags, seq, end, length)
}

// acked takes the other side's acknowledgement. One of bytes that were never
// seen means that the capture missed them; a closing segment is not believed.
func (e *endpoint) acked(c *conn, flags uint8, ack uint32) {
	if !e.started {
		e.started, e.start, e.next = true, ack-1, ack-1
		return
	}
	missed := int32(ack - e.next)
	if missed <= 0 || missed > farJump || flags&(SYN|FIN|RST) != 0 || c.noSeq || e.state == epInactive || e.state == epPartial {
		return
	}
	e.next = ack
	if e.gaps.hit() {
		c.letter(e, 'G')
	}
}

// farJump is how far a SYN or RST may move the highest sequence number.
const farJump = 1 << 20

// advance moves the highest sequence number sent and counts payload.
func (e *endpoint) advance(c *conn, flags uint8, seq, end, length uint32) (again bool) {
	ahead := int32(end - e.next)
	if length > 0 && flags&RST == 0 {
		switch fresh := ahead - int32(bit(flags, FIN)); {
		case fresh >= int32(length):
			e.bytes += int64(length)
		case fresh > 0:
			e.bytes += int64(fresh)
		case ahead <= 0 && !(length == 1 && ahead == 0):
			e.retrans++ // one byte up to the edge is a keep-alive
		}
	}
	switch {
	case flags&(SYN|RST) != 0 && (ahead > farJump || ahead < -farJump):
	case flags&FIN != 0 && e.next == e.start+1:
		e.next = end
	case e.state == epReset:
	case ahead > 0:
		e.next = end
	case length > 0:
		if e.rxmt.hit() {
			c.letter(e, 'T')
		}
		return true
	}
	return false
}

func bit(flags, f uint8) uint32 {
	if flags&f != 0 {
		return 1
	}
	return 0
}

// history writes the letters for the flags of a segment. A control letter is
// repeated only when its sequence number differs from the last one.
func (c *conn) history(e *endpoint, flags uint8, rel, length uint32) {
	switch flags & (SYN | FIN | RST) {
	case 0:
		if length > 0 {
			c.once(e, seenData, 'D')
		} else if flags&ACK != 0 {
			c.once(e, seenACK, 'A')
		}
	case SYN:
		l := byte('S')
		if flags&ACK != 0 {
			l = 'H'
		}
		if c.once(e, seenSYN, l) && rel != e.lastSYN {
			c.letter(e, l)
		}
		e.lastSYN = rel
	case FIN:
		if c.once(e, seenFIN, 'F') && rel+length != e.lastFIN {
			c.letter(e, 'F')
		}
		e.lastFIN = rel + length
	case RST:
		if c.once(e, seenRST, 'R') && rel != e.lastRST {
			c.letter(e, 'R')
		}
		e.lastRST = rel
	default:
		if flags&(FIN|RST) == FIN|RST {
			c.once(e, seenOdd, 'I')
		} else {
			c.once(e, seenMulti, 'Q')
		}
	}
}

// step moves the endpoint states.
func (c *conn) step(side int, flags uint8, length int) {
	e, peer := &c.ep[side], &c.ep[1-side]
	switch e.state {
	case epInactive:
		c.wake(side, flags, length)
	case epSynSent, epSynAckSent:
		if flags&FIN != 0 {
			e.become(epClosed)
		}
		if flags&RST != 0 {
			e.become(epReset)
		}
	case epPartial, epEstablished:
		if flags&(SYN|ACK) == SYN && e.state == epPartial && peer.state == epInactive {
			e.become(epSynSent)
		}
		if flags&(FIN|RST) == FIN {
			e.become(epClosed)
			if peer.state == epReset && peer.prev == epClosed {
				peer.become(epClosed) // its RST followed its FIN: a normal end
			}
		}
		if flags&RST != 0 {
			e.become(epReset)
		}
	case epClosed:
		if flags&RST != 0 && peer.state != epClosed {
			e.become(epReset)
		}
	}
}

// wake is the first segment of an endpoint.
func (c *conn) wake(side int, flags uint8, length int) {
	e, peer := &c.ep[side], &c.ep[1-side]
	if flags&SYN != 0 {
		if side == clientSide {
			e.become(epSynSent)
			if flags&ACK != 0 {
				e.become(epSynAckSent)
			} else if peer.state == epEstablished {
				e.become(epEstablished) // the SYN was recorded after its answer
			}
		} else {
			if peer.state == epSynSent {
				peer.become(epEstablished)
			}
			e.become(epEstablished)
		}
	}
	if flags&FIN != 0 {
		e.become(epClosed)
	}
	if flags&RST != 0 {
		e.become(epReset)
	}
	if e.state != epInactive {
		return
	}
	switch {
	case side == serverSide && length == 0 && peer.state == epSynSent: // ACK before the SYN-ACK
	case flags&ACK != 0 && peer.state == epEstablished:
		e.become(epEstablished) // only the SYN was missed
	default:
		e.become(epPartial)
	}
}

// state is Zeek's conn_state.
func (c *conn) state() event.ConnState {
	o, r := &c.ep[clientSide], &c.ep[serverSide]
	oIdle := o.state == epInactive || o.state == epPartial
	rIdle := r.state == epInactive || r.state == epPartial
	pick := func(cond bool, yes, no event.ConnState) event.ConnState {
		if cond {
			return yes
		}
		return no
	}
	switch {
	case r.state == epReset:
		if o.state == epSynSent || o.state == epSynAckSent || o.state == epReset && o.bytes == 0 && r.bytes == 0 {
			return event.REJ
		}
		return pick(oIdle, event.RSTRH, event.RSTR)
	case o.state == epReset:
		if rIdle {
			return pick(c.synThenRST(), event.RSTOS0, event.OTH)
		}
		return event.RSTO
	case r.state == epClosed && o.state == epClosed:
		return event.SF
	case o.state == epClosed:
		return pick(rIdle, event.SH, event.S2)
	case r.state == epClosed:
		return pick(oIdle, event.SHR, event.S3)
	case o.state == epSynSent && r.state == epInactive:
		return event.S0
	case o.state == epEstablished && r.state == epEstablished:
		return event.S1
	}
	return event.OTH
}

// synThenRST reports whether the client's history is a SYN and then an RST with
// nothing else of its own between them.
func (c *conn) synThenRST() bool {
	h := c.hist[:c.histLen]
	if len(h) > 0 && h[0] == '^' {
		h = h[1:]
	}
	if len(h) == 0 || h[0] != 'S' {
		return false
	}
	for _, l := range h[1:] {
		switch l {
		case 'R':
			return true
		case 'H', 'A', 'F', 'G', 'I', 'Q':
			return false
		}
	}
	return false
}
