package flow

import (
	"encoding/binary"
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Limits of copy recognition. A packet with an IP identification or a TCP
// timestamp is recognised again even after a queue has held it (netem, a slow
// veth); one without either only at once, because a retransmission would look
// the same.
const (
	copySlots       = 8192
	copyStrongLimit = event.Nanos(2e9)
	copyWeakLimit   = event.Nanos(20e6)
	copySamePlace   = event.Nanos(2e6)
	copyPlaces      = 6
)

// place is an interface and a direction.
type place uint32

// sighting is the last packet that fell into a slot, and where it was seen.
type sighting struct {
	sig    uint64
	at     event.Nanos
	n      uint8
	places [copyPlaces]place
}

// copies recognises a packet that was captured more than once: on each
// interface it passed ("-i any"), or twice by a mirror port. It is a fixed
// table: a packet that met another one in its slot meanwhile is not recognised.
type copies struct{ slots []sighting }

func newCopies() copies { return copies{slots: make([]sighting, copySlots)} }

// seen reports whether the packet with this signature is a copy of an earlier
// one, and remembers it. Strong says that the signature holds a field that a
// retransmission would change.
func (c *copies) seen(p *Packet, sig uint64, strong bool) bool {
	s := &c.slots[sig&(copySlots-1)]
	here := place(p.Interface)<<2 | place(p.Dir)
	if s.sig == sig {
		age := p.At - s.at
		if age < 0 {
			age = -age
		}
		limit := copyWeakLimit
		switch {
		// The cooked header of version 1 has a direction but no interface: two equal
		// places may be two interfaces.
		case s.has(here) && (p.Interface != 0 || p.Dir == DirUnknown):
			limit = -1
			if strong {
				limit = copySamePlace
			}
		case strong:
			limit = copyStrongLimit
		}
		if age <= limit {
			if s.n < copyPlaces && !s.has(here) {
				s.places[s.n] = here
				s.n++
			}
			return true
		}
	}
	s.sig, s.at, s.n = sig, p.At, 1
	s.places[0] = here
	return false
}

func (s *sighting) has(h place) bool {
	for _, o := range s.places[:s.n] {
		if o == h {
			return true
		}
	}
	return false
}

// mix folds a word into a hash. It is fixed, so that equal inputs give equal
// answers in every run.
func mix(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func mixAddr(h uint64, a netip.Addr) uint64 {
	b := a.As16()
	return mix(mix(h, binary.BigEndian.Uint64(b[:8])), binary.BigEndian.Uint64(b[8:]))
}

func mixMAC(h uint64, m event.MAC) uint64 {
	return mix(h, uint64(m[0])<<40|uint64(m[1])<<32|uint64(m[2])<<24|uint64(m[3])<<16|uint64(m[4])<<8|uint64(m[5]))
}
