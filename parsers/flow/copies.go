package flow

import (
	"encoding/binary"
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// copySlots is the size of the table.
const (
	copySlots  = 8192
	copyPlaces = 6
)

// likeness says how long two equal packets are taken for one.
type likeness struct {
	// elsewhere is the limit for another interface or direction, here for the same
	// one (a mirror port, a bridge port in hairpin mode).
	elsewhere, here event.Nanos
}

var (
	// A packet with an IP identification or a TCP time stamp is recognised again
	// even after a queue has held it: a retransmission would differ.
	strong = likeness{elsewhere: 2e9, here: 2e6}
	// One with neither is recognised only at once, and not at the same place: a
	// retransmission, or the reset of another segment, would look the same.
	weak = likeness{elsewhere: 20e6, here: -1}
	// ARP and neighbour discovery are repeated after a second at the earliest.
	slow = likeness{elsewhere: 20e6, here: 2e6}
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
// one, and remembers it.
func (c *copies) seen(p *Packet, sig uint64, like likeness) bool {
	s := &c.slots[sig&(copySlots-1)]
	here := place(p.Interface)<<2 | place(p.Dir)
	if s.sig == sig {
		age := p.At - s.at
		if age < 0 {
			age = -age
		}
		limit := like.elsewhere
		if s.has(here) && (p.Interface != 0 || p.Dir == DirUnknown) {
			// The cooked header of version 1 has a direction but no interface: there,
			// equal places may be two interfaces.
			limit = like.here
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
