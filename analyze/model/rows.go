package model

import "github.com/probe-forensics/probe-forensics/parsers/event"

// Attempt is one probe attempt: logged, seen in packets, or inferred from the
// grid. It is a row of probe_attempts.
type Attempt struct {
	ID        string // stable, derived from content
	Namespace string
	Pod       string
	UID       string
	Node      string
	Container string
	Probe     string
	Outcome   string // "failure", "errored", "success", "warning", "missing", "unknown"
	// Source says what the attempt rests on: "log", "event", "packets", "log+packets",
	// "grid" (inferred).
	Source     string
	ErrorClass string // E-REFUSED ..., "" for a success
	Output     string
	Target     Target
	// Start is when the attempt began and End when its result was known, node clock;
	// StartInferred marks a start computed from the timeout.
	Start, End    event.Nanos
	StartInferred bool
	TimeBasis     string
	// Phases, in milliseconds, -1 unknown.
	ARPMs, ConnectMs, FirstByteMs float64
	// Count is more than 1 where an event counts several attempts whose times are
	// lost, the first at Since or later and the last at End; and where it counts the
	// missing ticks of a grid, the first at Start and the last at End.
	Count          int64
	Since          event.Nanos // zero for Count 1
	Refs           []event.Ref
	FlowRefs       []event.Ref // SYN frame in each capture that saw the connection
	FlowID         string
	JoinReason     string // why joined or why not
	JoinConfidence float64
	Threshold      string // "crossed-failure", "crossed-success", ""
	// Effects are what crossing the threshold led to, by time.
	Effects  []Consequence
	Incident string // id of the incident it belongs to
}

// EventRow is a row of the events table.
type EventRow struct {
	At        event.Nanos
	TimeBasis string
	Node      string
	Kind      string
	Namespace string
	Pod       string
	UID       string
	Container string
	Severity  string
	Body      string
	Ref       event.Ref
}

// FlowRow is a row of the flows table: one connection in one capture. The times
// of Flow are node time; OffsetMS was added to the capture's clock. ID is that
// of the connection, equal in all captures that saw it and in Attempt.FlowID, ""
// for connections that no probe made. Unjoined says why a connection to a probe's
// target is no attempt ("not-a-prober", "dial-given-up" ...).
type FlowRow struct {
	ID        string
	Unjoined  string
	Flow      *event.Flow
	Ref       event.Ref // stream and first frame
	Node      string
	Capture   string // capture point
	Namespace string // of the server's pod, "" unknown
	Pod       string
	UID       string
	OffsetMS  float64 // already added to the times of Flow
}

// ARPRow is a row of arp_observations.
type ARPRow struct {
	At   event.Nanos
	ARP  *event.ARP
	Ref  event.Ref
	Node string
}
