package flow

import (
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Bounds of what is read of a connection's payload: only its beginning says what
// a probe sent and got.
const (
	maxHead      = 4 << 10 // bytes of an HTTP head
	maxSegments  = 16      // segments looked at in each direction
	maxURL       = 512
	maxHeaderLen = 256
)

// app is what the payload of a connection showed. It is made for the first
// payload only.
type app struct {
	name             string
	method, path, ua string
	server, location string
	status           int
	alert            string
	alertFrom        string
	grpc             string
	in               [2]stream
}

// reading is what a direction's bytes are read as.
type reading uint8

const (
	readFirst reading = iota
	readHTTP
	readTLS
	readH2
	readNothing
)

// stream reads one direction.
type stream struct {
	as       reading
	segments uint8
	next     uint32 // sequence number that continues what was read
	skip     int    // bytes of a record or frame whose rest is in later segments
	head     []byte // an HTTP head that is not complete yet
}

// payload looks at a segment that carries new payload.
func (c *conn) payload(t *Tracker, p *Packet, side int, seq uint32) {
	a := c.app
	if a == nil {
		a = new(app)
		c.app = a
	}
	s := &a.in[side]
	if s.as == readNothing {
		return
	}
	if s.as == readFirst {
		a.sniff(c, s, side, p.Payload)
	} else if seq != s.next && !c.noSeq {
		s.stop(t, a, side) // a gap: what follows cannot be framed
		return
	}
	switch s.as {
	case readHTTP:
		a.readHead(t, s, side, p.Payload)
	case readTLS:
		a.readRecords(s, side, p.Payload)
	case readH2:
		a.readFrames(t, s, side, p.Payload)
	}
	s.segments++
	s.next = seq + uint32(p.Length)
	if s.segments >= maxSegments || len(p.Payload) < p.Length {
		s.stop(t, a, side)
	}
}

// sniff decides by the first bytes of a direction what it speaks.
func (a *app) sniff(c *conn, s *stream, side int, b []byte) {
	name := ""
	switch {
	case side == clientSide && isPreface(b):
		s.as, name = readH2, "h2"
	case side == clientSide && isRequest(b), side == serverSide && isStatus(b):
		s.as, name = readHTTP, "http"
	case isTLS(b):
		s.as, name = readTLS, "tls"
	case side == serverSide && isSettings(b):
		s.as, name = readH2, "h2"
	default:
		s.as = readNothing
		if side == serverSide && !c.request.Seen() && c.synack.Seen() {
			name = "text"
		}
	}
	if a.name == "" {
		a.name = name // who speaks first names the protocol
	}
}

// stop ends the reading of a direction.
func (s *stream) stop(t *Tracker, a *app, side int) {
	if s.as == readHTTP && len(s.head) > 0 {
		a.parseHead(t, side, s.head)
	}
	s.as, s.head = readNothing, nil
}

// fill copies what was seen to the event.
func (a *app) fill(t *Tracker, f *event.Flow) {
	for side := range a.in {
		a.in[side].stop(t, a, side)
	}
	f.App, f.Method, f.Path, f.UserAgent = a.name, a.method, a.path, a.ua
	f.Status, f.ServerHeader, f.Location = a.status, a.server, a.location
	f.TLSAlert, f.TLSAlertFrom, f.GRPCStatus = a.alert, a.alertFrom, a.grpc
}
