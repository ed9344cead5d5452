package analyze

import (
	"context"
	"iter"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// chooser is a stream of events that can leave out what a step has no use for.
type chooser interface {
	EventsOf(want func(*event.StreamInfo) bool, borrow bool) iter.Seq2[*event.Event, error]
}

// Which streams a step reads. Captures of packets have whole time stamps, printed
// packets may not.
func everything(*event.StreamInfo) bool   { return true }
func captures(s *event.StreamInfo) bool   { return s.Capture != nil }
func noCaptures(s *event.StreamInfo) bool { return s.Capture == nil }
func noPackets(s *event.StreamInfo) bool  { return s.Capture == nil || s.Capture.Text }

// reading says which events a step reads, and whether it keeps connections.
type reading struct {
	of    func(*event.StreamInfo) bool
	keeps bool
}

func (r *run) events(what reading) iter.Seq2[*event.Event, error] {
	if c, ok := r.stream.(chooser); ok {
		return c.EventsOf(what.of, !what.keeps)
	}
	return r.stream.Events()
}

// thinAbove is how many connections captures may hold before, where packets are
// all there is, ordinary ones are counted instead of kept.
const thinAbove = 5_000

// takeCensus begins to count connections where there are many.
func (r *run) takeCensus() {
	n := int64(0)
	for _, s := range r.stream.Infos() {
		if s.Capture != nil {
			n += s.Counts["tcp_flows"]
		}
	}
	if n > thinAbove {
		r.census = capture.NewCensus()
	}
}

func (r *run) count(e *event.Event) {
	if f, ok := e.Payload.(*event.Flow); ok && r.census != nil {
		r.census.Observe(f)
	}
}

// addPackets hands the captures to the builder. Where nothing but packets tells
// of probes, and of many, what is ordinary is left out, so that memory does not
// grow with the length of a capture.
func (r *run) addPackets(ctx context.Context, b *capture.Builder) error {
	thin := r.census != nil && len(r.index.Pods) == 0 && len(r.probes.Workers) == 0 && r.apart()
	if thin {
		b.Thin(r.census)
	}
	if err := r.each(ctx, reading{of: captures, keeps: true}, b.Add); err != nil {
		return err
	}
	r.census = nil
	if thin {
		return r.each(ctx, reading{of: captures}, b.AddNeighbours)
	}
	return nil
}

// apart reports whether no two captures run at the same time: a connection that
// is left out of one must not look as if it were missing there.
func (r *run) apart() bool {
	var spans []event.Gap
	for _, s := range r.stream.Infos() {
		if s.Capture == nil {
			continue
		}
		for _, o := range spans {
			if s.Capture.First <= o.To && o.From <= s.Capture.Last {
				return false
			}
		}
		spans = append(spans, event.Gap{From: s.Capture.First, To: s.Capture.Last})
	}
	return true
}
