package view

import (
	"fmt"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// Window says when an incident was.
func Window(in *Incident) string {
	w := in.Window
	if w.First.IsZero() {
		return "unknown"
	}
	s := Instant(w.First.Nanos)
	if w.Last.Nanos > w.First.Nanos {
		s += " to " + Instant(w.Last.Nanos)
	}
	if w.Recovered.IsZero() {
		s += ", no recovery seen"
	} else {
		s += ", recovered at " + Clock(w.Recovered.Nanos)
	}
	if in.Length() > 0 {
		s += "; " + Duration(in.Length()) + " in all"
	}
	if b := Basis(in.TimeBasis); b != "" {
		s += "; " + b
	}
	return s
}

// ProbeSettings says how often a probe runs and what it tolerates, "" when no
// input holds its spec.
func ProbeSettings(p model.Probe) string {
	if p.PeriodSec <= 0 {
		return ""
	}
	s := fmt.Sprintf("every %s, time-out %s", Seconds(p.PeriodSec), Seconds(p.TimeoutSec))
	if p.FailureThreshold > 0 {
		s += ", " + Count(p.FailureThreshold, "failure", "failures")
	}
	return s
}

// Signed prints an offset with its sign.
func Signed(ms float64) string {
	if ms < 0 {
		return "-" + Millis(-ms)
	}
	return "+" + Millis(ms)
}

// ClockOffset prints the offset of a clock and how sure it is: two words for a
// table.
func ClockOffset(c model.Clock) (offset, uncertainty string) {
	if c.Undetermined {
		return "undetermined", ""
	}
	return Signed(c.OffsetMS), Millis(c.UncertaintyMS)
}

// ClockNote is the note of a clock, with the other offsets its data allows.
func ClockNote(c model.Clock) string {
	if len(c.Rivals) == 0 {
		return c.Note
	}
	rivals := make([]string, len(c.Rivals))
	for i, r := range c.Rivals {
		rivals[i] = Signed(r)
	}
	return strings.TrimSpace(c.Note + " (also possible: " + strings.Join(rivals, ", ") + ")")
}

// SourceName shortens the path of a stream.
func (c *Case) SourceName(path string) string {
	for _, s := range c.streams {
		if s.model.Path == path {
			return s.name
		}
	}
	return path
}

// AttemptRef is the record of an attempt: its log line, else its first packet.
func AttemptRef(c *Case, a *model.Attempt) string {
	switch {
	case len(a.Refs) > 0:
		return c.Ref(model.RefOf(a.Refs[0]))
	case len(a.FlowRefs) > 0:
		return c.Ref(model.RefOf(a.FlowRefs[0]))
	default:
		return ""
	}
}
