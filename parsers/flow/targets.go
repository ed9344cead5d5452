package flow

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// maxTargets bounds the table of server addresses: a port scan has as many.
const maxTargets = 1 << 16

// targets counts handshake frames per server address and port, copies included.
type targets struct {
	m map[netip.AddrPort]*event.TargetCount
}

func (t *targets) init() { t.m = make(map[netip.AddrPort]*event.TargetCount) }

// get returns the counters of a server, nil when the table is full.
func (t *Tracker) target(a netip.AddrPort, p *Packet) *event.TargetCount {
	if c := t.targets.m[a]; c != nil {
		return c
	}
	if len(t.targets.m) >= maxTargets {
		t.limit("target-limit", "more than 65536 server ports: later ones are missing from by_target", p.Ref)
		return nil
	}
	c := &event.TargetCount{Addr: a}
	t.targets.m[a] = c
	return c
}

// known reports whether somebody was seen opening connections to the address.
func (t *targets) known(a netip.AddrPort) bool {
	c := t.m[a]
	return c != nil && c.SYN+c.SYNACK > 0
}

func (t *targets) sorted() []event.TargetCount {
	out := make([]event.TargetCount, 0, len(t.m))
	for _, c := range t.m {
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b event.TargetCount) int { return a.Addr.Compare(b.Addr) })
	return out
}

// maxTalkers bounds the table of MAC and IP pairs.
const maxTalkers = 4096

type talkerKey struct {
	mac event.MAC
	ip  netip.Addr
}

// talkers notes which addresses each MAC sends from.
type talkers struct {
	m    map[talkerKey]*event.Talker
	last *event.Talker // most packets come in runs
}

func (t *talkers) init() { t.m = make(map[talkerKey]*event.Talker) }

// talker counts a frame for its sender and returns the sender's entry, nil when
// the frame has no sender address or the table is full.
func (t *Tracker) talker(p *Packet) *event.Talker {
	if p.EthSrc.IsZero() || !p.Src.IsValid() || p.Src.IsUnspecified() {
		return nil
	}
	e := t.talkers.last
	if e == nil || e.MAC != p.EthSrc || e.IP != p.Src {
		k := talkerKey{p.EthSrc, p.Src}
		if e = t.talkers.m[k]; e == nil {
			if len(t.talkers.m) >= maxTalkers {
				return nil
			}
			e = &event.Talker{MAC: p.EthSrc, IP: p.Src, First: p.At}
			t.talkers.m[k] = e
		}
		t.talkers.last = e
	}
	e.Frames++
	e.Last = max(e.Last, p.At)
	return e
}

func (t *talkers) sorted() []event.Talker {
	out := make([]event.Talker, 0, len(t.m))
	for _, e := range t.m {
		out = append(out, *e)
	}
	slices.SortFunc(out, func(a, b event.Talker) int {
		return cmp.Or(slices.Compare(a.MAC[:], b.MAC[:]), a.IP.Compare(b.IP))
	})
	return out
}
