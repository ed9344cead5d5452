package pcap

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// checkEvery is how many packets pass between two looks at the context.
const checkEvery = 1 << 14

// Parse reads a capture to its end: it fills info (Format, Records, Kept,
// Rejected, First, Last, Counts, Capture) and emits flows, ARP observations and
// egress sightings. Damage is reported to the sink; an error is returned when
// the stream is no capture, cannot be read, or ctx ends.
func Parse(ctx context.Context, r io.Reader, info *event.StreamInfo, sink event.Sink) error {
	if info.Capture == nil {
		info.Capture = &event.CaptureInfo{Dropped: -1}
	}
	s := &session{info: info, sink: sink, cap: info.Capture, w: newWindow(r)}
	f, name, err := open(s.w, s.cap, s.report)
	if err != nil {
		return err
	}
	info.Format = name
	s.tracker = flow.New(info, sink, event.Stamp{})
	s.dec.interfaces = s.tracker
	err = s.run(ctx, f)
	s.finish()
	return err
}

// session is one run of Parse.
type session struct {
	info    *event.StreamInfo
	cap     *event.CaptureInfo
	sink    event.Sink
	w       *window
	tracker *flow.Tracker
	dec     decoder

	first, last event.Nanos
	links       []uint32
	problems    []event.Problem // by code and message, in order of appearance
}

func (s *session) run(ctx context.Context, f framing) error {
	var rec Record
	var stamp event.Stamp
	for n := 0; ; n++ {
		if n%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := f.next(&rec); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("after packet %d: %w", s.info.Records, err)
		}
		s.info.Records++
		if rec.Precision != stamp.Precision {
			stamp.Precision = rec.Precision
			s.tracker.SetPrecision(stamp)
		}
		if rec.At != 0 {
			if s.first == 0 || rec.At < s.first {
				s.first = rec.At
			}
			s.last = max(s.last, rec.At)
		}
		if int64(len(rec.Data)) < int64(rec.Length) {
			s.cap.Truncated++
		}
		if !slices.Contains(s.links, rec.Link) {
			s.newLink(&rec)
		}
		p := s.dec.decode(&rec)
		p.Ref.Stream = s.info.ID
		if p.Kind == flow.Undecoded {
			s.undecoded(&rec)
		}
		s.tracker.Add(p)
	}
}

// newLink notes a link type at its first packet.
func (s *session) newLink(rec *Record) {
	s.links = append(s.links, rec.Link)
	s.cap.LinkTypes = append(s.cap.LinkTypes, LinkTypeName(rec.Link))
}

// undecoded reports a packet that was not understood.
func (s *session) undecoded(rec *Record) {
	s.info.Rejected++
	switch {
	case !supported(rec.Link):
		s.report("unsupported-link-type", fmt.Sprintf("link type %s (%d) is not decoded", LinkTypeName(rec.Link), rec.Link), rec.Frame, rec.Offset)
	case s.dec.cut:
		s.report("packet-cut", fmt.Sprintf("not captured to the end of its headers (%s)", s.dec.reason), rec.Frame, rec.Offset)
	default:
		s.report("bad-packet", fmt.Sprintf("malformed or incomplete %s", s.dec.reason), rec.Frame, rec.Offset)
	}
}

// finish closes the tracker and completes the stream's row.
func (s *session) finish() {
	s.tracker.Close()
	s.info.Bytes = s.w.offset()
	s.info.Count("frames", s.info.Records)
	if s.first != 0 {
		s.info.First = event.Known(s.first, s.dec.precision)
		s.info.Last = event.Known(s.last, s.dec.precision)
	}
	for _, p := range s.problems {
		s.sink.Problem(p)
	}
}

// report collects damage: the first place of each kind and how often it was met.
func (s *session) report(code, message string, frame, offset int64) {
	for i := range s.problems {
		if p := &s.problems[i]; p.Code == code && p.Message == message {
			p.Count++
			return
		}
	}
	if len(s.problems) >= maxProblems {
		s.problems[maxProblems-1].Count++
		return
	}
	s.problems = append(s.problems, event.Problem{
		Ref:  event.Ref{Stream: s.info.ID, Packet: frame, Offset: offset},
		Path: s.info.Path, Code: code, Message: message, Count: 1,
	})
}

// maxProblems bounds the kinds of damage kept for one file; the last one counts
// for all others.
const maxProblems = 100
