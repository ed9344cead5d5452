package logs

import (
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// ordering follows the stamps of a stream's records: the earliest, the latest,
// and whether the stream runs backwards. Stamps without a year are unrolled: a
// step of more than half a year is New Year, not a jump.
type ordering struct {
	first, last       event.Stamp
	firstAt, lastAt   event.Nanos // unrolled
	prevAt            event.Nanos // as recorded
	turn              time.Duration
	forward, backward int64
	// up and down are the long steps in either direction; which of them are
	// silences is known at the end.
	up, down []event.Gap
}

// Bounds of StreamInfo.Silences.
const (
	longSilence = 10 * time.Minute
	maxSilences = 64
)

const halfYear = 183 * 24 * time.Hour

// see takes the stamp of the next record.
func (o *ordering) see(st event.Stamp) {
	if st.Missing&(event.MissingEpoch|event.MissingDate) != 0 {
		return
	}
	if o.first.IsZero() {
		o.first, o.last, o.firstAt, o.lastAt, o.prevAt = st, st, st.At, st.At, st.At
		return
	}
	if st.Missing != o.first.Missing {
		return // another clock: messages with a stamp of their own in a bare log
	}
	step, prev := st.At.Sub(o.prevAt), o.prevAt
	o.prevAt = st.At
	if st.Missing&event.MissingYear != 0 {
		const leapYear = 366 * 24 * time.Hour
		if step < -halfYear {
			o.turn += leapYear
			step += leapYear
		} else if step > halfYear {
			o.turn -= leapYear
			step -= leapYear
		}
	}
	switch {
	case step > 0:
		o.forward++
		if step >= longSilence && len(o.up) < maxSilences {
			o.up = append(o.up, event.Gap{From: prev, To: st.At})
		}
	case step < 0:
		o.backward++
		if step <= -longSilence && len(o.down) < maxSilences {
			o.down = append(o.down, event.Gap{From: st.At, To: prev})
		}
	default:
		return
	}
	at := st.At.Add(o.turn)
	if at < o.firstAt {
		o.first, o.firstAt = st, at
	}
	if at > o.lastAt {
		o.last, o.lastAt = st, at
	}
}

// reversed reports whether the records run from the newest to the oldest.
func (o *ordering) reversed() bool { return o.backward > 2*o.forward && o.backward > 0 }

// finishOrder writes the time range of the stream, and says when it runs
// backwards.
func (s *session) finishOrder(info *event.StreamInfo) {
	if s.first.IsZero() {
		return
	}
	if info.First.IsZero() || s.first.At < info.First.At {
		info.First = s.first
	}
	if info.Last.IsZero() || s.last.At > info.Last.At {
		info.Last = s.last
	}
	info.Silences = append(info.Silences, s.up...)
	if s.reversed() && s.backward > 1 {
		info.Silences = append(info.Silences[:len(info.Silences)-len(s.up)], s.down...)
		s.in.Sink.Emit(event.Event{Time: s.first, Node: info.Node, Ref: event.Ref{Stream: s.stream, Line: max(s.in.FirstLine, 1), Offset: s.in.FirstOffset},
			Payload: &event.Notice{Code: "reversed", Message: "the records run from the newest to the oldest", Value: s.backward}})
	}
}
