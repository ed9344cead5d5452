package flow

import (
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

const (
	// answerWithin is how long a request waits for its answer.
	answerWithin = event.Nanos(1e9)
	// maxHeldARP bounds the observations held back until the answer to an earlier
	// request is known.
	maxHeldARP = 4096
)

// heldARP is an observation in the queue, in frame order.
type heldARP struct {
	at  event.Nanos
	ref event.Ref
	arp *event.ARP
	sig uint64
}

// arpBook holds ARP and neighbour discovery observations back for up to one
// second of capture time, so that each request is emitted with its answer, and
// all in frame order.
type arpBook struct {
	held []heldARP
	head int
	// open counts the requests for an address that wait in the queue, so that a
	// storm of replies does not search it each time.
	open map[netip.Addr]int
}

// neighbour takes an ARP or ND packet.
func (t *Tracker) neighbour(p *Packet) {
	v6 := p.Kind == Neighbour
	if !v6 {
		if p.ARPOpcode == 2 {
			t.n.arpReply++
		} else if p.ARPOpcode == 1 {
			t.n.arpRequest++
		}
	}
	t.talker(p)
	h := mixMAC(mixMAC(mix(0, uint64(p.ARPOpcode)<<8|uint64(p.Kind)), p.SenderMAC), p.TargetMAC)
	h = mixAddr(mixAddr(h, p.Src), p.Dst)
	like := slow
	if p.EthSrc.IsZero() {
		like = weak // text without addresses: replies to two hosts look the same
	}
	if t.copies.seen(p, h, like) {
		t.n.duplicates++
		t.arp.copyOf(h)
		return
	}
	a := &event.ARP{
		Op: arpOp(p), V6: v6, SenderIP: p.Src, TargetIP: p.Dst,
		SenderMAC: p.SenderMAC, TargetMAC: p.TargetMAC, EthSrc: p.EthSrc, EthDst: p.EthDst,
		Unicast: p.ARPOpcode == 1 && !p.EthDst.IsZero() && p.EthDst[0]&1 == 0,
		Router:  p.Router,
	}
	if p.Interface != 0 {
		a.Interface = t.interfaces[p.Interface-1]
	}
	if p.ARPOpcode == 2 {
		t.arp.answer(a, p.At)
	}
	if p.ARPOpcode == 1 {
		t.sighting(p)
	}
	if len(t.arp.held)-t.arp.head >= maxHeldARP {
		t.limit("arp-limit", "more than 4096 ARP frames within a second: the first requests were taken as unanswered", p.Ref)
		t.arp.pop(t)
	}
	t.arp.push(heldARP{at: p.At, ref: p.Ref, arp: a, sig: h})
	t.arp.advance(t, p.At)
}

func arpOp(p *Packet) event.ARPOp {
	switch {
	case p.Src.IsUnspecified():
		return event.ARPProbe
	case p.Src == p.Dst && p.Kind == ARP, p.Kind == Neighbour && p.ARPOpcode == 2 && !p.Solicited:
		return event.ARPAnnounce
	case p.ARPOpcode == 2:
		return event.ARPReply
	}
	return event.ARPRequest
}

// copyOf counts a copy with the observation it is a copy of, one of the latest.
func (b *arpBook) copyOf(sig uint64) {
	const near = 64
	for i := len(b.held) - 1; i >= max(b.head, len(b.held)-near); i-- {
		if b.held[i].sig == sig {
			b.held[i].arp.Copies++
			return
		}
	}
}

// asks reports whether an observation waits for an answer.
func (h *heldARP) asks() bool {
	return (h.arp.Op == event.ARPRequest || h.arp.Op == event.ARPProbe) && !h.arp.Answered
}

func (b *arpBook) push(h heldARP) {
	if h.asks() {
		if b.open == nil {
			b.open = make(map[netip.Addr]int)
		}
		b.open[h.arp.TargetIP]++
	}
	b.held = append(b.held, h)
}

// answer marks the requests that a reply answers.
func (b *arpBook) answer(reply *event.ARP, at event.Nanos) {
	if b.open[reply.SenderIP] == 0 {
		return
	}
	for i := b.head; i < len(b.held); i++ {
		h := &b.held[i]
		if h.asks() && h.arp.TargetIP == reply.SenderIP && at-h.at <= answerWithin {
			b.settle(h)
			h.arp.Answered = true
			h.arp.AnswerMAC = reply.SenderMAC
		}
	}
}

// settle takes a request off the count of those that wait.
func (b *arpBook) settle(h *heldARP) {
	if b.open[h.arp.TargetIP]--; b.open[h.arp.TargetIP] <= 0 {
		delete(b.open, h.arp.TargetIP)
	}
}

// advance lets go what is settled at the given time: the head of the queue as
// long as no copy of it may follow, nor an answer.
func (b *arpBook) advance(t *Tracker, now event.Nanos) {
	for b.head < len(b.held) {
		h := &b.held[b.head]
		wait := slow.elsewhere
		if h.asks() {
			wait = answerWithin
		}
		if now-h.at <= wait {
			return
		}
		b.pop(t)
	}
}

func (b *arpBook) pop(t *Tracker) {
	h := b.held[b.head]
	if h.asks() {
		b.settle(&h)
	}
	b.held[b.head] = heldARP{}
	b.head++
	if b.head == len(b.held) {
		b.held, b.head = b.held[:0], 0
	} else if b.head > maxHeldARP {
		b.held = append(b.held[:0], b.held[b.head:]...)
		b.head = 0
	}
	t.emit(h.at, h.ref, h.arp)
}

func (b *arpBook) flush(t *Tracker) {
	for b.head < len(b.held) {
		b.pop(t)
	}
}

// icmpError attaches an ICMP error to the connection it quotes.
func (t *Tracker) icmpError(p *Packet) {
	v6 := p.v6()
	if !v6 && p.ICMPType == 3 || v6 && p.ICMPType == 1 {
		t.n.unreachable++
	}
	t.talker(p)
	h := mixAddr(mixAddr(mix(mix(0, uint64(p.ICMPType)<<8|uint64(p.ICMPCode)), uint64(p.IPID)), p.Src), p.QuoteDst)
	h = mix(h, uint64(p.QuoteSport)<<48|uint64(p.QuoteDport)<<32|uint64(p.QuoteSeq))
	if t.copies.seen(p, h, weak) {
		t.n.duplicates++
		return
	}
	if p.QuoteProto != protoTCP || !p.QuoteSrc.IsValid() {
		return
	}
	k, _ := keyOf(p.QuoteSrc, p.QuoteDst, p.QuoteSport, p.QuoteDport)
	c := t.table.m[k]
	if c == nil {
		return
	}
	c.icmps++
	if !c.icmp.Seen() {
		c.icmp = event.ICMPError{Mark: p.mark(), From: p.Src, Type: p.ICMPType, Code: p.ICMPCode, V6: v6}
	}
	c.last = p.mark()
}

const protoTCP = 6
