package capture

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Bounds of thinning, see Census.
const (
	// whole is how many connections of a pair are kept before anything is left out.
	whole = 8
	// around is how long before and after trouble every connection is kept.
	around = time.Minute
	// minRepeat is how often a client must have come, each time within comeback of
	// the time before, to count as periodic.
	minRepeat = 4
	comeback  = 2 * slowest
	// undecided is how many connections a pair gets to show its pace.
	undecided = 64
	slowest   = 5 * time.Minute
	fastest   = time.Second
	// onTime is the prober's default timeout.
	onTime = time.Second
)

// Census counts the connections of every client to every server in constant
// memory: what a long capture without any log shows is mostly traffic that no
// prober made, and probes that succeed like the ones before. Hashes that collide
// make it keep too much, never too little.
type Census struct {
	pairs   []visits
	servers []uint64 // a bit each
}

// visits are how often in a row a client came to a server, and the minute of the
// last time.
type visits struct {
	n      uint8
	minute uint16
}

const censusSlots = 1 << 20

// NewCensus returns an empty census.
func NewCensus() *Census {
	return &Census{pairs: make([]visits, censusSlots), servers: make([]uint64, censusSlots/64)}
}

// Observe counts a connection: one that came back in time, that is.
func (c *Census) Observe(f *event.Flow) {
	server := hashAddr(uint64(f.Server.Port()), f.Server.Addr())
	v := &c.pairs[hashAddr(server, f.Client.Addr())&(censusSlots-1)]
	minute := uint16(f.First.At / event.Nanos(time.Minute))
	// Flows come when they end, so one may have begun before the one before it.
	if apart := int16(minute - v.minute); v.n > 0 && max(apart, -apart) > int16(comeback/time.Minute) {
		v.n = 0
	}
	v.minute = minute
	if v.n = min(v.n+1, minRepeat); v.n == minRepeat {
		s := server & (censusSlots - 1)
		c.servers[s/64] |= 1 << (s % 64)
	}
}

// visited reports whether some client came to the server again and again.
func (c *Census) visited(server netip.AddrPort) bool {
	s := hashAddr(uint64(server.Port()), server.Addr()) & (censusSlots - 1)
	return c.servers[s/64]&(1<<(s%64)) != 0
}

// mix folds a word into a hash that is the same in every run: equal inputs give
// equal answers.
func mix(h, w uint64) uint64 {
	h = (h ^ w) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

func hashAddr(h uint64, a netip.Addr) uint64 {
	b := a.As16()
	return mix(mix(h, binary.BigEndian.Uint64(b[:8])), binary.BigEndian.Uint64(b[8:]))
}

// Stretch is a row of successful connections of one client to one server, at
// their usual distance, of which only the number is kept.
type Stretch struct {
	Client      netip.Addr
	Server      netip.AddrPort
	Count       int64
	First, Last event.Nanos // starts of the first and the last
	End         event.Nanos // answer of the last
	Ref         event.Ref   // of the first
}

// lane is the connections of one client to one server.
type lane struct {
	kept, seen int
	prev       event.Nanos
	steps      []time.Duration // the first distances
	step       time.Duration   // their median
	regular    int
	path, app  string
	until      event.Nanos // keep everything up to then
	held       []heldFlow  // ordinary ones, newest last
	stretch    *Stretch
}

type heldFlow struct {
	c   *Capture
	f   *event.Flow
	ref event.Ref
}

type laneKey struct {
	client netip.Addr
	server netip.AddrPort
}

// thinner decides connection by connection what a builder keeps.
type thinner struct {
	census   *Census
	lanes    map[laneKey]*lane
	order    []laneKey
	troubled map[netip.Addr]bool
	macs     map[event.MAC]bool
}

// Thin makes the builder keep, of each periodic client's connections, those near
// trouble: a connection that failed, was slow or came out of step. The others
// become stretches. Clients that keep no pace are left out beyond their first
// connections. Neighbour frames and egress sightings are then taken by
// AddNeighbours, once all connections were added.
func (b *Builder) Thin(c *Census) {
	b.thin = &thinner{census: c, lanes: make(map[laneKey]*lane), troubled: make(map[netip.Addr]bool), macs: make(map[event.MAC]bool)}
}

// AddNeighbours takes one event of a capture stream, where Thin is on: what
// concerns an address that had trouble is kept.
func (b *Builder) AddNeighbours(e *event.Event) {
	t := b.thin
	c := b.byID[e.Ref.Stream]
	if t == nil || c == nil {
		return
	}
	switch p := e.Payload.(type) {
	case *event.ARP:
		if t.troubled[p.SenderIP] || t.troubled[p.TargetIP] {
			b.neighbour(c, e)
		}
	case *event.Egress:
		if t.troubled[p.IP] || t.macs[p.MAC] {
			b.neighbour(c, e)
		}
	}
}

// offer takes a connection: it is kept now, held until its neighbours are known,
// or dropped.
func (b *Builder) offer(c *Capture, f *event.Flow, ref event.Ref) {
	t := b.thin
	if !t.census.visited(f.Server) {
		b.Skipped++
		return
	}
	k := laneKey{f.Client.Addr(), f.Server}
	l := t.lanes[k]
	if l == nil {
		l = &lane{path: f.Path, app: f.App}
		t.lanes[k] = l
		t.order = append(t.order, k)
	}
	at := f.First.At
	if f.SYN.Seen() {
		at = f.SYN.At
	}
	inStep := l.tick(at)
	if l.seen > undecided && l.regular*2 < l.seen {
		b.Skipped++ // keeps no pace: no prober
		return
	}
	switch {
	case !inStep || !l.ordinary(f):
		t.troubled[f.Server.Addr()] = true
		t.macs[f.AnswerMAC], t.macs[f.SYNDstMAC] = true, true
		delete(t.macs, event.MAC{})
		b.release(l)
		l.stretch = nil
		l.until = max(l.until, at.Add(l.around()))
		b.keep(l, c, f, ref)
	case l.kept < whole || at <= l.until:
		b.keep(l, c, f, ref)
	default:
		l.held = append(l.held, heldFlow{c, f, ref})
		n := 0
		for n < len(l.held) && at.Sub(l.held[n].f.SYN.At) > l.around() {
			b.fold(k, l, l.held[n])
			n++
		}
		l.held = slices.Delete(l.held, 0, n)
	}
}

func (b *Builder) keep(l *lane, c *Capture, f *event.Flow, ref event.Ref) {
	l.kept++
	b.flow(c, f, ref)
}

func (b *Builder) release(l *lane) {
	for _, h := range l.held {
		b.keep(l, h.c, h.f, h.ref)
	}
	clear(l.held)
	l.held = l.held[:0]
}

// fold counts a connection in the lane's stretch.
func (b *Builder) fold(k laneKey, l *lane, h heldFlow) {
	if l.stretch == nil {
		l.stretch = &Stretch{Client: k.client, Server: k.server, First: h.f.SYN.At, Ref: h.ref}
		b.set.Stretches = append(b.set.Stretches, l.stretch)
	}
	s := l.stretch
	s.Count++
	s.Last, s.End = h.f.SYN.At, h.f.SYNACK.At
	if h.f.Response.Seen() {
		s.End = h.f.Response.At
	}
}

// endThinning keeps what is still held: the end of a capture is kept like its
// beginning.
func (b *Builder) endThinning() {
	if b.thin == nil {
		return
	}
	for _, k := range b.thin.order {
		b.release(b.thin.lanes[k])
	}
	b.thin = nil
}

// tick notes when a connection began and reports whether that was in step with
// the ones before.
func (l *lane) tick(at event.Nanos) bool {
	d := at.Sub(l.prev)
	if l.prev != 0 && d <= 0 {
		return false // one that ended long after it began: its place was missed already
	}
	l.seen++
	first := l.prev == 0
	l.prev = at
	if first {
		return true
	}
	if len(l.steps) < whole-1 {
		l.steps = append(l.steps, d)
		if len(l.steps) == whole-1 {
			s := slices.Sorted(slices.Values(l.steps))
			l.step = s[len(s)/2]
			for _, d := range l.steps {
				l.note(d)
			}
		}
		return true
	}
	l.note(d)
	return l.near(d)
}

// note counts distances that are a whole number of steps: ticks may be missed.
func (l *lane) note(d time.Duration) {
	if l.step < fastest || l.step > slowest {
		return
	}
	if off := d % l.step; d > l.step*3/4 && (off < l.step/4 || off > l.step*3/4) {
		l.regular++
	}
}

func (l *lane) near(d time.Duration) bool {
	return l.step >= fastest && l.step <= slowest && d > l.step*3/4 && d < l.step*5/4
}

// around is how long before and after trouble everything is kept: some ticks at
// least.
func (l *lane) around() time.Duration { return max(around, 3*l.step) }

// ordinary reports whether a connection is one that succeeded like its
// neighbours, whatever handler made it.
func (l *lane) ordinary(f *event.Flow) bool {
	late := f.SYN.At.Add(onTime)
	switch {
	case f.App != l.app || f.Path != l.path || !f.SYN.Seen() || !f.SYNACK.Seen() || f.SYNACK.At > late || !f.ACK.Seen(),
		f.SYNs != 1 || f.SYNACKs != 1 || f.ClientRetrans+f.ServerRetrans > 0 || f.Copies > 0,
		f.ClientRST.Seen() || f.ServerRST.Seen() || f.ICMP.Seen(), f.TLSAlert != "" || f.GRPCStatus != "",
		!f.LastSYNDstMAC.IsZero() || f.AnswerMAC != f.SYNDstMAC || f.AnswerDstMAC != f.ClientMAC || f.Relative:
		return false
	case f.App == "http":
		return f.Response.Seen() && f.Response.At <= late && f.Status >= 200 && f.Status < 300
	}
	return true
}
