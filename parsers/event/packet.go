package event

import (
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// MAC is an Ethernet address; the zero value means unknown.
type MAC [6]byte

// IsZero reports whether the address is unknown.
func (m MAC) IsZero() bool { return m == MAC{} }

// IsBroadcast reports whether the address is ff:ff:ff:ff:ff:ff.
func (m MAC) IsBroadcast() bool { return m == MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff} }

// String returns the usual colon form, "" for unknown.
func (m MAC) String() string {
	if m.IsZero() {
		return ""
	}
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// ConnState is Zeek's connection state, verbatim.
type ConnState string

// Zeek's 13 connection states.
const (
	S0     ConnState = "S0"     // SYN seen, no reply
	S1     ConnState = "S1"     // established, not terminated
	SF     ConnState = "SF"     // normal establishment and termination
	REJ    ConnState = "REJ"    // SYN answered by RST
	S2     ConnState = "S2"     // established, originator closed, no reply from responder
	S3     ConnState = "S3"     // established, responder closed, no reply from originator
	RSTO   ConnState = "RSTO"   // established, originator aborted
	RSTR   ConnState = "RSTR"   // responder sent RST
	RSTOS0 ConnState = "RSTOS0" // originator sent SYN then RST, no SYN-ACK seen
	RSTRH  ConnState = "RSTRH"  // responder sent SYN-ACK then RST, no SYN seen
	SH     ConnState = "SH"     // originator SYN then FIN, no SYN-ACK seen
	SHR    ConnState = "SHR"    // responder SYN-ACK then FIN, no SYN seen
	OTH    ConnState = "OTH"    // no SYN seen, midstream
)

// Mark is a moment in a connection: frame number and capture time. Zero Packet
// means it did not happen. For packet text Packet is the line number.
type Mark struct {
	At     Nanos
	Packet int64
}

// Seen reports whether the moment happened.
func (m Mark) Seen() bool { return m.Packet > 0 }

// Flow is one TCP connection attempt in one capture, from its first SYN (or
// first frame, when the capture began later) to its end or idle time-out. Client
// is who sent the SYN. Copies of one packet on several interfaces are marked
// once, at the first copy, and counted in Copies. Times are of the capture's
// clock.
type Flow struct {
	Client, Server netip.AddrPort
	State          ConnState
	History        string // Zeek's history string
	ISN            uint32 // client's initial sequence number; with the 4-tuple it is the connection's identity
	ServerISN      uint32
	Relative       bool // ISN unknown: neither SYN nor SYN-ACK seen, or packet text without it

	SYN          Mark    // first SYN
	SYNTimes     []Nanos // every SYN that is not a copy, first included, at most 16
	SYNs         int32   // how many, without copies
	SYNACK       Mark
	SYNACKs      int32
	LastSYNACK   Mark
	ACK          Mark // client's first ACK after the SYN-ACK
	Request      Mark // first payload from the client
	RequestACK   Mark // first server ACK covering it
	Response     Mark // first payload from the server
	LastResponse Mark
	ClientFIN    Mark
	ServerFIN    Mark
	ClientRST    Mark
	ServerRST    Mark      // RST from the server's address
	ICMP         ICMPError // the first one
	ICMPErrors   int32     // how many, without copies
	First, Last  Mark      // first and last frame of the connection

	ClientBytes, ServerBytes     int64 // TCP payload
	ClientRetrans, ServerRetrans int32 // retransmitted data segments
	MaxServerSegment             int32
	Copies                       int32 // frames that were copies of others

	// Link layer: who the SYN was sent to and who answered. Zero when the link type
	// has no such address (SLL has the sender's only).
	ClientMAC MAC // source of the SYN
	SYNDstMAC MAC // destination of the SYN
	// LastSYNDstMAC is that of the last SYN that went elsewhere: the neighbour entry
	// was corrected while the client was trying. Zero when all went to one.
	LastSYNDstMAC MAC
	AnswerMAC     MAC // source of the SYN-ACK or RST
	AnswerDstMAC  MAC
	// Interfaces of SYN and answer where the capture has several ("" otherwise).
	SYNInterfaces, AnswerInterfaces []string

	SYNTTL, SYNACKTTL, RSTTTL uint8
	RSTIPID                   uint16
	SYNACKWindow, RSTWindow   uint16
	RSTSeq                    uint32
	RSTHasACK                 bool
	MSS                       uint16
	ServerTSval               uint32 // TCP timestamp of the first answer, 0 none

	// HTTP/1 where the payload allows; empty with short snaplens.
	Method, Path, UserAgent string
	Status                  int
	ServerHeader            string
	Location                string
	// App is the protocol seen: "http", "tls", "h2", "grpc", "text" (server spoke
	// first) or "".
	App      string
	TLSAlert string // "fatal handshake_failure" ...
	// TLSAlertFrom is "client" or "server".
	TLSAlertFrom string
	// GRPCStatus is the health status where readable ("SERVING", "NOT_SERVING" ...),
	// or the name of a status code other than OK ("UNIMPLEMENTED" ...).
	GRPCStatus string

	VLAN   uint16
	Tunnel string // as flow.Packet.Tunnel: "vxlan", "geneve", "ipip", "gre" ...

	Evicted bool // ended by idle time-out or end of capture, not by FIN or RST
}

// ICMPError is an ICMP error that quotes the connection's SYN.
type ICMPError struct {
	Mark
	From       netip.Addr
	Type, Code uint8
	V6         bool
}

// ARPOp is what an ARP or neighbour discovery frame says.
type ARPOp uint8

// ARP and ND operations.
const (
	ARPRequest ARPOp = iota + 1
	ARPReply
	ARPAnnounce // gratuitous: sender IP = target IP, or unsolicited NA
	ARPProbe    // sender IP 0.0.0.0 (duplicate address detection)
)

// String returns "request", "reply", "announce" or "probe".
func (o ARPOp) String() string { return [...]string{"?", "request", "reply", "announce", "probe"}[o%5] }

// ARP is one ARP frame, or one IPv6 neighbour solicitation or advertisement
// (V6). For a reply SenderIP is the IP being claimed. Unicast is set when a
// request was sent to one MAC (neighbour probe). Answered is filled for
// requests: a reply for the IP followed within one second in this capture.
type ARP struct {
	Op                   ARPOp
	V6                   bool
	SenderIP, TargetIP   netip.Addr
	SenderMAC, TargetMAC MAC
	EthSrc, EthDst       MAC
	Unicast              bool
	Answered             bool
	AnswerMAC            MAC
	Interface            string
	Copies               int
	Router               bool // NA router flag, or known proxy MAC
}

// Egress is a frame that a host sent of its own accord (ARP request, ICMP echo
// request, ND/RS/MLD, UDP, its own SYN): what moves a bridge's forwarding entry.
// At most one event per second, MAC and What.
type Egress struct {
	MAC       MAC
	IP        netip.Addr
	Dst       netip.Addr
	What      string // "arp", "icmp-echo", "icmp-echo-reply", "nd", "rs", "mld", "udp", "syn"
	Interface string
}

// Kind implements Payload.
func (*Flow) Kind() Kind { return KindFlow }

// Kind implements Payload.
func (*ARP) Kind() Kind { return KindARP }

// Kind implements Payload.
func (*Egress) Kind() Kind { return KindEgress }

// Routed reports whether a TTL or hop limit is one that no host begins with: a
// router passed the packet on, and its link-layer source is the router's. Zero
// stands for one that is not known.
func Routed(ttl uint8) bool {
	switch ttl {
	case 0, 1, 32, 64, 128, 255:
		return false
	}
	return true
}

// Shift returns a copy of the flow with d added to every time, the flow itself
// for zero.
func (f *Flow) Shift(d time.Duration) *Flow {
	if d == 0 {
		return f
	}
	g := *f
	for _, m := range []*Mark{&g.SYN, &g.SYNACK, &g.LastSYNACK, &g.ACK, &g.Request, &g.RequestACK, &g.Response,
		&g.LastResponse, &g.ClientFIN, &g.ServerFIN, &g.ClientRST, &g.ServerRST, &g.ICMP.Mark, &g.First, &g.Last} {
		if m.Seen() {
			m.At = m.At.Add(d)
		}
	}
	g.SYNTimes = slices.Clone(f.SYNTimes)
	for i := range g.SYNTimes {
		g.SYNTimes[i] = g.SYNTimes[i].Add(d)
	}
	return &g
}
