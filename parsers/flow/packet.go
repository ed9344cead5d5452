// Package flow turns decoded packets, whatever they were decoded from, into the
// facts probes are explained with: one Flow event per TCP connection attempt,
// ARP and neighbour discovery observations, and sightings of hosts that send of
// their own accord.
//
// A Tracker is fed packets in file order by package pcap, which reads captures,
// and by the readers of printed packets, which know less about each packet and
// say so in Packet.Lacks.
//
// # Memory
//
// Nothing here grows with the length of a capture: connections leave when they
// end or fall idle, and every table has a bound. A bound that is met is reported
// as a problem, never silently.
package flow

import (
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Kind says what a packet is, as far as a Tracker cares.
type Kind uint8

// Kinds of packet. Other is a packet that was understood and needs no tracking
// (routing protocols, multicast listener reports are Multicast ...).
const (
	Other Kind = iota
	Undecoded
	TCP
	UDP
	ICMPEcho
	ICMPEchoReply
	ICMPError // quotes the packet that caused it
	ARP
	Neighbour // neighbour solicitation or advertisement
	RouterSolicit
	Multicast // MLD or IGMP report
	Fragment  // an IP fragment other than the first: no ports
)

// TCP flag bits, as in the header.
const (
	FIN uint8 = 1 << iota
	SYN
	RST
	PSH
	ACK
)

// Lacks says which parts of a packet its source did not carry. A missing part
// is left zero in Packet; the bit tells zero from unknown where that matters.
type Lacks uint8

// Parts a packet may lack. Captures lack at most LacksMAC and, for connections
// inside a tunnel fragment, nothing else; printed packets lack more.
const (
	LacksMAC     Lacks = 1 << iota // no link-layer addresses
	LacksTTL                       // tcpdump without -v
	LacksIPID                      // tcpdump without -v; IPv6 never has one
	LacksSeq                       // no sequence numbers at all (tcpdump -q)
	LacksFlags                     // no TCP flags (tcpdump -q)
	RelativeSeq                    // numbers after the SYN count from the initial one
	LacksOptions                   // TCP options not known
)

// Direction is the way a packet passed the capturing interface.
type Direction uint8

// Directions. Only captures of the "any" device and some pcapng files know.
const (
	DirUnknown Direction = iota
	DirIn
	DirOut
	DirOther // promiscuous: between two other hosts
)

// Packet is one decoded packet. A Tracker does not keep it: the caller reuses
// one Packet, and Payload may alias the caller's read buffer.
type Packet struct {
	// Ref is the place in the stream. Its Packet (for printed packets: its Line)
	// numbers the packet.
	Ref event.Ref
	// At is the capture's time stamp in nanoseconds; zero when it has none.
	At    event.Nanos
	Kind  Kind
	Lacks Lacks
	Dir   Direction
	// Interface is a number given out by Tracker.Interface, 0 when the capture has
	// one interface only or does not say.
	Interface uint16

	// EthSrc and EthDst are the link-layer addresses of the innermost Ethernet
	// header, zero when unknown. VLAN is the innermost VLAN id, 0 none.
	EthSrc, EthDst event.MAC
	VLAN           uint16
	// Tunnel is "vxlan", "geneve", "ipip", "6in4", "4in6", "6in6", "gre", "erspan" or
	// "bcm-li" when the packet was found inside one, with the outermost addresses.
	Tunnel             string
	OuterSrc, OuterDst netip.Addr

	// Src and Dst are the IP addresses (ARP: sender and target protocol address).
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	TTL              uint8 // or hop limit
	IPID             uint16

	// TCP. Length is the payload length by the IP header, which may be more than
	// what was captured in Payload. TSval is zero without the timestamp option, MSS
	// zero without that option.
	Flags        uint8
	Window       uint16
	MSS          uint16
	Seq, Ack     uint32
	TSval, TSecr uint32
	HasTS        bool
	Length       int
	Payload      []byte

	// ICMP errors quote the start of a packet. QuoteSeq is the sequence number of a
	// quoted TCP segment.
	ICMPType, ICMPCode     uint8
	QuoteSrc, QuoteDst     netip.Addr
	QuoteSport, QuoteDport uint16
	QuoteProto             uint8
	QuoteSeq               uint32

	// ARP and neighbour discovery. ARPOpcode is 1 for a request or solicitation, 2
	// for a reply or advertisement; SenderMAC and TargetMAC are those inside the
	// message; for an advertisement Src is the address being claimed. Solicited and
	// Router are its flags.
	ARPOpcode            uint16
	SenderMAC, TargetMAC event.MAC
	Solicited, Router    bool
}

// number is the packet's number in its stream: frame or line.
func (p *Packet) number() int64 {
	if p.Ref.Packet != 0 {
		return p.Ref.Packet
	}
	return p.Ref.Line
}

func (p *Packet) mark() event.Mark { return event.Mark{At: p.At, Packet: p.number()} }

// v6 reports whether the packet is IPv6.
func (p *Packet) v6() bool { return p.Src.Is6() && !p.Src.Is4In6() }
