// Package event holds the vocabulary that every parser speaks and every
// analysis reads: normalized events, the references that lead back to the
// input, the stamps that say when something happened and how sure that is, and
// the problems met on the way.
//
// The package is a leaf: it imports the standard library only, so that parsers
// and analysis can share it without knowing each other.
//
// # Ownership
//
// An Event handed to a Sink belongs to the sink: a parser must not keep or
// change it afterwards, and its strings must not alias a read buffer.
//
// # Adding a field
//
// Events are kept in an encoding that names every field by hand: a field added
// here must be added to the codec of package spill too, whose tests fail until
// it is.
package event

import (
	"cmp"
	"iter"
	"strconv"
)

// StreamID numbers the streams of one case by input and logical path, from 1.
// Zero means "no stream". While inputs are still being read the numbers are
// provisional; a parser must use its stream's number in Ref.Stream only.
type StreamID uint32

// Ref leads from a fact back to the record it came from. It is comparable and
// holds no strings, so it is cheap to carry everywhere. Line and Packet count
// from 1 (Packet equals Wireshark's frame.number); zero means "does not
// apply". Offset is the byte offset of the record's first byte in the
// decompressed stream.
type Ref struct {
	Stream StreamID
	Line   int64
	Offset int64
	Packet int64
}

// IsZero reports whether the reference points nowhere.
func (r Ref) IsZero() bool { return r.Stream == 0 }

// Place renders the position inside the stream: ":48211" for a line, "#1123"
// for a packet, "@4096" for a record that has neither.
func (r Ref) Place() string {
	switch {
	case r.Packet > 0:
		return "#" + strconv.FormatInt(r.Packet, 10)
	case r.Line > 0:
		return ":" + strconv.FormatInt(r.Line, 10)
	default:
		return "@" + strconv.FormatInt(r.Offset, 10)
	}
}

// Compare orders references by stream, then position.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Stream, o.Stream), cmp.Compare(r.Packet, o.Packet),
		cmp.Compare(r.Line, o.Line), cmp.Compare(r.Offset, o.Offset))
}

// Event is one normalized fact. Time is when it happened, by the clock of Node
// (or of the capture, or of the API server: see the payload). Logged is the
// stamp the outer log prefix carries where the record has two; zero otherwise.
// PID is the process id of the writer where the prefix or klog header has one.
type Event struct {
	Time    Stamp
	Logged  Stamp
	Node    string
	PID     int32
	Ref     Ref
	Payload Payload
}

// Payload is one of the structs in this package whose name is a Kind.
type Payload interface{ Kind() Kind }

// Kind names the payload type; its String is the value of the events table.
type Kind uint8

// The kinds of payload.
const (
	KindProbeResult Kind = iota + 1
	KindProbeTarget
	KindProbeState
	KindPodSeen
	KindPodSync
	KindPodIP
	KindSandboxChange
	KindContainerState
	KindK8sEvent
	KindNodeSeen
	KindNodeState
	KindObjectSeen
	KindHostFact
	KindAppLog
	KindNetCheck
	KindNotice
	KindFlow
	KindARP
	KindEgress
)

var kindNames = [...]string{
	KindProbeResult: "probe_result", KindProbeTarget: "probe_target", KindProbeState: "probe_state",
	KindPodSeen: "pod_seen", KindPodSync: "pod_sync", KindPodIP: "pod_ip", KindSandboxChange: "sandbox_change",
	KindContainerState: "container_state", KindK8sEvent: "k8s_event", KindNodeSeen: "node_seen",
	KindNodeState: "node_state", KindObjectSeen: "object_seen", KindHostFact: "host_fact",
	KindAppLog: "app_log", KindNetCheck: "net_check", KindNotice: "notice", KindFlow: "flow", KindARP: "arp",
	KindEgress: "egress",
}

// String returns the snake_case name used in tables.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// Sink receives what a parser finds. It is called by one goroutine per stream.
type Sink interface {
	Emit(Event)
	Problem(Problem)
}

// Stream is what analysis reads: the table of streams, the problems, and the
// events. Events may be iterated several times; each iteration yields the same
// events: streams by id, and inside a stream in record order. An error ends the
// iteration. The pointed-to Event is valid only until the next step, its
// payload for as long as it is held.
type Stream interface {
	Infos() []*StreamInfo
	Problems() []Problem
	Events() iter.Seq2[*Event, error]
}
