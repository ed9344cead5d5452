// Package capture sets the packets of all captures side by side: where each
// file was taken, which connections stand in several of them, and what the
// absence of a packet may prove.
package capture

import (
	"net/netip"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Point is where a capture was taken.
type Point string

// Capture points.
const (
	NodeBridge Point = "node-bridge" // the shared bridge: cbr0, cni0, docker0
	NodeAny    Point = "node-any"    // all interfaces of the node: copies per interface
	PodVeth    Point = "pod-veth"    // the pod's host-side interface
	PodNetns   Point = "pod-netns"   // inside the pod
	Uplink     Point = "uplink"      // the node's outside interface
	Unknown    Point = "unknown"
)

// Capture is one capture file.
type Capture struct {
	Info  *event.StreamInfo
	Point Point
	Why   string // the reason for Point, "override" when the user said so
	Node  string
	// Pod is whose interface it is, for PodVeth and PodNetns, nil unknown.
	Pod *identity.Pod
	// First and Last bound the coverage, in node time.
	First, Last event.Nanos
	Gaps        []event.Gap
	// Offset has been added to every time of the file: the day of a text without
	// dates, what the user gave, what was estimated.
	Offset time.Duration
}

// Sighting is one connection as one capture saw it. Times in Flow are in node
// time (the offset has been applied).
type Sighting struct {
	Capture *Capture
	Flow    *event.Flow
	Ref     event.Ref // first frame
}

// Conn is one TCP connection: one client socket's attempt, in all captures that
// saw it. Identity: 4-tuple and initial sequence number.
type Conn struct {
	ID        string // stable, from the identity and the first time
	Client    netip.AddrPort
	Server    netip.AddrPort
	Sightings []Sighting // node side first, then pod side; by stream
	// Node and Inside point to the best sighting on the node side and in (or at) the
	// pod; nil when no such capture saw it.
	Node, Inside *Sighting
	Pod          *identity.Pod // who held the server IP then, nil unknown or disputed

	earlier *Conn // the one before with the same hash, for the builder
}

// Seen returns the best sighting: node side, else pod side.
func (c *Conn) Seen() *Sighting {
	if c.Node != nil {
		return c.Node
	}
	return c.Inside
}

// ARPSeen is an ARP or ND frame in node time.
type ARPSeen struct {
	At      event.Nanos
	Capture *Capture
	*event.ARP
	Ref event.Ref
}

// EgressSeen is a frame a host sent of its own accord, in node time.
type EgressSeen struct {
	At      event.Nanos
	Capture *Capture
	*event.Egress
	Ref event.Ref
}

// Set is all captures of a case.
type Set struct {
	Captures []*Capture
	Conns    []*Conn // by first SYN
	ARP      []ARPSeen
	Egress   []EgressSeen
	// Stretches stand for connections that were counted and not kept, see
	// Builder.Thin; empty unless that was asked for.
	Stretches []*Stretch

	byServer map[netip.AddrPort][]*Conn
	// Indexes of ARP and Egress, by address, in time order.
	arpOf, egressOf map[netip.Addr][]int32
	egressFrom      map[event.MAC][]int32
	index           *identity.Index
}

// To returns the connections to a server address, by time.
func (s *Set) To(server netip.AddrPort) []*Conn { return s.byServer[server] }
