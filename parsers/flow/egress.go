package flow

import "github.com/probe-forensics/probe-forensics/parsers/event"

const (
	egressEvery = event.Nanos(1e9)
	maxEgress   = 4096
)

type egressKey struct {
	mac  event.MAC
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

// sighting reports a frame that a host sent of its own accord.
func (t *Tracker) sighting(p *Packet) {
	if p.EthSrc.IsZero() {
		return
	}
	k := egressKey{p.EthSrc, uint8(p.Kind)}
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
