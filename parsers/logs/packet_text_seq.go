package logs

import (
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// maxTalks bounds a generation of conversations whose numbers are remembered.
const maxTalks = 1 << 15

// smallNumber is what a relative number of a connection's beginning stays
// below; an absolute one is below it once in 65536 times.
const smallNumber = 1 << 16

type talkKey struct{ lo, hi netip.AddrPort }

// talk is what is known of the numbers of one conversation. Index 0 is the side
// with the lower address.
type talk struct {
	base    [2]uint32 // what tcpdump subtracts before it prints
	next    [2]uint32 // one past the highest number sent
	syn     [2]uint32 // number of the last SYN without ACK
	hasSYN  [2]bool
	based   bool
	decided bool // of a SYN-ACK: tells absolute numbers from relative ones
}

// seqBook turns the numbers that tcpdump prints into those of the packets.
// tcpdump keeps, for every conversation, the numbers of its first packet with
// an ACK (or of its last SYN-ACK) and prints later packets with an ACK relative
// to them, everything else as it is; -S prints all as they are. The same rules
// give the numbers back. Conversations are forgotten two generations late.
type seqBook struct {
	young, old map[talkKey]*talk
	// absolute is set once a packet behind a SYN-ACK has shown that the text was
	// printed with -S.
	absolute, decided bool
	syns              map[[2]netip.Addr]lastSYN
	made              uint32 // pseudo initial numbers given out for tshark's lines
	rows              map[[2]netip.Addr]rowTalk
}

// lastSYN is the latest connection attempt between two hosts.
type lastSYN struct {
	sport, dport uint16
	seq          uint32
}

// rowTalk is the connection used last in one direction between two hosts, by
// lines of tshark, and how much of its frames is headers.
type rowTalk struct {
	sport, dport uint16
	headers      int64
}

func (s *seqBook) talk(p *flow.Packet) (t *talk, side int) {
	k := talkKey{netip.AddrPortFrom(p.Src, p.SrcPort), netip.AddrPortFrom(p.Dst, p.DstPort)}
	if k.lo.Compare(k.hi) > 0 {
		k.lo, k.hi, side = k.hi, k.lo, 1
	}
	if t = s.young[k]; t != nil {
		return t, side
	}
	if t = s.old[k]; t == nil {
		t = new(talk)
	}
	if s.young == nil || len(s.young) >= maxTalks {
		s.old, s.young = s.young, make(map[talkKey]*talk)
	}
	s.young[k] = t
	return t, side
}

// resolve fills Seq and Ack of the packet from the printed numbers. A pure ACK
// is printed without its sequence number: it is the next one of its side.
func (s *seqBook) resolve(p *flow.Packet, n *printedTCP) {
	t, side := s.talk(p)
	switch {
	case p.Flags&flow.SYN != 0 && p.Flags&flow.ACK == 0:
		t.syn[side], t.hasSYN[side] = n.seq, true
		t.next[side] = n.seq + 1
		s.attempt(p, n.seq)
	case p.Flags&flow.ACK == 0:
	case p.Flags&flow.SYN != 0:
		t.base[side], t.base[1-side] = n.seq, n.ack-1
		t.next[side], t.next[1-side] = n.seq+1, n.ack
		t.based, t.decided = true, true
	case !t.based:
		s.begin(t, side, n)
	default:
		if !s.decided && t.decided && n.hasAck {
			s.absolute, s.decided = distance(n.ack, t.base[1-side]) < distance(n.ack, 0), true
		}
		if !s.absolute {
			n.seq += t.base[side]
			n.ack += t.base[1-side]
		}
	}
	if !n.hasSeq {
		n.seq = t.next[side]
	}
	p.Seq, p.Ack = n.seq, n.ack
	if p.Flags&(flow.SYN|flow.RST) == 0 {
		end := n.seq + uint32(p.Length)
		if p.Flags&flow.FIN != 0 {
			end++
		}
		if int32(end-t.next[side]) > 0 || n.hasSeq && distance(end, t.next[side]) > 1<<24 {
			t.next[side] = end
		}
	}
}

// begin is the first packet with an ACK of a conversation: tcpdump prints it as
// it is. In a text that was cut or filtered after printing it may have been
// another: then its numbers are small.
func (s *seqBook) begin(t *talk, side int, n *printedTCP) {
	t.based = true
	if !s.absolute && n.ack < smallNumber && n.seq < smallNumber && (n.ack != t.syn[1-side]+1 || !t.hasSYN[1-side]) {
		for i := range t.base {
			if t.hasSYN[i] {
				t.base[i] = t.syn[i]
			}
		}
		n.seq += t.base[side]
		n.ack += t.base[1-side]
		if !n.hasSeq && !t.hasSYN[side] {
			t.next[side] = t.base[side] + 1
		}
		return
	}
	t.base[1-side] = n.ack - 1
	if n.hasSeq {
		t.base[side] = n.seq
	} else {
		t.base[side] = t.next[side]
	}
}

func distance(a, b uint32) uint32 {
	if d := int32(a - b); d < 0 {
		return uint32(-d)
	} else {
		return uint32(d)
	}
}

const maxAttempts = 4096

// attempt notes a SYN, for ICMP errors that are printed without the packet they
// quote.
func (s *seqBook) attempt(p *flow.Packet, seq uint32) {
	if s.syns == nil || len(s.syns) >= maxAttempts {
		s.syns = make(map[[2]netip.Addr]lastSYN)
	}
	s.syns[[2]netip.Addr{p.Src, p.Dst}] = lastSYN{p.SrcPort, p.DstPort, seq}
}
