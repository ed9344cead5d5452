package flow

import (
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

const (
	egressEvery = event.Nanos(1e9)
	maxEgress   = 4096
)

// egressKey is a sender: its MAC, or its address where no MAC is known.
type egressKey struct {
	mac  event.MAC
	ip   netip.Addr
	what uint8
}

// egressBook remembers when each sender was last reported for each kind of
// frame. When it is full it starts anew: a few sightings are then reported
// twice within their second.
type egressBook struct{ m map[egressKey]event.Nanos }

func (b *egressBook) init() { b.m = make(map[egressKey]event.Nanos) }

var egressNames = [...]string{
	TCP: "syn", UDP: "udp", ICMPEcho: "icmp-echo", ICMPEchoReply: "icmp-echo-reply",
	ARP: "arp", Neighbour: "nd", RouterSolicit: "rs", Multicast: "mld", Fragment: "",
}

// sighting reports a frame that a host sent of its own accord. One that a router
// passed on is none: its MAC is the router's, its address another host's.
func (t *Tracker) sighting(p *Packet) {
	if event.Routed(p.TTL) && p.Lacks&LacksTTL == 0 && !p.Dst.IsMulticast() {
		return
	}
	k := egressKey{mac: p.EthSrc, what: uint8(p.Kind)}
	if p.EthSrc.IsZero() {
		// Printed packets seldom have MACs; captures without them (loopback, tunnels'
		// raw IP) have no bridge to move.
		if p.Lacks&LacksMAC == 0 || !p.Src.IsValid() {
			return
		}
		k.ip = p.Src
	}
	if last, ok := t.egress.m[k]; ok && p.At-last < egressEvery && p.At >= last {
		return
	}
	if len(t.egress.m) >= maxEgress {
		clear(t.egress.m)
	}
	t.egress.m[k] = p.At
	e := &event.Egress{MAC: p.EthSrc, IP: p.Src, Dst: p.Dst, What: egressNames[p.Kind]}
	if p.Interface != 0 {
		e.Interface = t.interfaces[p.Interface-1]
	}
	t.emit(p.At, p.Ref, e)
}
