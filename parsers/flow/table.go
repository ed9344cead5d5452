package flow

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// How long a connection stays in memory after its last frame. Unanswered SYNs
// and established connections may stay silent for minutes (SYN back-off, keep
// alive; five minutes are Zeek's limit); a closed connection waits a little for
// late retransmissions.
const (
	sweepEvery = event.Nanos(10e9)
	idleClosed = event.Nanos(10e9)
	idleOpen   = event.Nanos(300e9)
	// maxConns bounds the connections in memory; about 16 MB.
	maxConns = 1 << 15
)

// connKey is a 4-tuple in an order that both directions share. It is made of
// words only, so that it hashes in one go.
type connKey struct{ aHi, aLo, bHi, bLo, ports uint64 }

// keyOf returns the key of a pair of endpoints; swapped says that the first one
// is the key's b.
func keyOf(src, dst netip.Addr, sport, dport uint16) (k connKey, swapped bool) {
	s, d := src.As16(), dst.As16()
	k.aHi, k.aLo = binary.BigEndian.Uint64(s[:8]), binary.BigEndian.Uint64(s[8:])
	k.bHi, k.bLo = binary.BigEndian.Uint64(d[:8]), binary.BigEndian.Uint64(d[8:])
	if k.aLo > k.bLo || k.aLo == k.bLo && (k.aHi > k.bHi || k.aHi == k.bHi && sport > dport) {
		k.aHi, k.aLo, k.bHi, k.bLo = k.bHi, k.bLo, k.aHi, k.aLo
		k.ports = uint64(dport)<<16 | uint64(sport)
		return k, true
	}
	k.ports = uint64(sport)<<16 | uint64(dport)
	return k, false
}

func (k connKey) a() netip.AddrPort { return wordsAddr(k.aHi, k.aLo, uint16(k.ports>>16)) }
func (k connKey) b() netip.AddrPort { return wordsAddr(k.bHi, k.bLo, uint16(k.ports)) }

func wordsAddr(hi, lo uint64, port uint16) netip.AddrPort {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	return netip.AddrPortFrom(netip.AddrFrom16(b).Unmap(), port)
}

// table holds the live connections.
type table struct {
	m         map[connKey]*conn
	free      []*conn
	victims   []*conn
	nextSweep event.Nanos
}

func (t *table) init() { t.m = make(map[connKey]*conn) }

func (t *table) add(k connKey) *conn {
	var c *conn
	if n := len(t.free); n > 0 {
		c, t.free = t.free[n-1], t.free[:n-1]
		*c = conn{}
	} else {
		c = new(conn)
	}
	c.key = k
	t.m[k] = c
	return c
}

// sweep lets connections go that have been idle too long. It runs every ten
// seconds of capture time.
func (t *Tracker) sweep() {
	tb := &t.table
	tb.nextSweep = t.last + sweepEvery
	tb.victims = tb.victims[:0]
	for _, c := range tb.m {
		limit := idleOpen
		if c.closed() {
			limit = idleClosed
		}
		if t.last-c.last.At > limit {
			tb.victims = append(tb.victims, c)
		}
	}
	t.release()
}

// makeRoom evicts a quarter of a full table: closed connections first, then
// those that have been silent for the most packets. Time stamps are not asked,
// they may be wrong.
func (t *Tracker) makeRoom(at event.Ref) {
	tb := &t.table
	all := tb.victims[:0]
	for _, c := range tb.m {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *conn) int {
		return cmp.Or(cmp.Compare(b.closedRank(), a.closedRank()), cmp.Compare(a.last.Packet, b.last.Packet))
	})
	tb.victims = all[:len(all)/4]
	for _, c := range tb.victims {
		if !c.closed() {
			t.limit("connection-limit", "more than 32768 connections open at once: the longest silent ones were closed early", at)
			break
		}
	}
	t.release()
}

// release emits the victims in the order of their first frames and takes them
// out of the table.
func (t *Tracker) release() {
	v := t.table.victims
	slices.SortFunc(v, func(a, b *conn) int { return cmp.Compare(a.first.Packet, b.first.Packet) })
	for _, c := range v {
		t.finish(c)
	}
	clear(v)
	t.table.victims = v[:0]
}

// finish emits a connection and forgets it.
func (t *Tracker) finish(c *conn) {
	t.n.flows++
	t.emit(c.first.At, c.ref, c.event(t))
	delete(t.table.m, c.key)
	t.table.free = append(t.table.free, c)
}

func (t *Tracker) finishAll() {
	for _, c := range t.table.m {
		t.table.victims = append(t.table.victims, c)
	}
	t.release()
}
