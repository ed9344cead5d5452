package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Window says when an incident was.
func Window(in *Incident) string {
	w := in.Window
	if w.First.IsZero() {
		return "unknown"
	}
	s := Instant(w.First.Nanos)
	if w.Last.Nanos > w.First.Nanos {
		s += " to " + Later(w.First.Nanos, w.Last.Nanos)
	}
	if w.Recovered.IsZero() {
		s += ", no recovery seen"
	} else {
		s += ", recovered at " + Later(w.First.Nanos, w.Recovered.Nanos)
	}
	if in.Length() >= time.Second {
		s += "; " + Duration(in.Length()) + " in all"
	}
	if b := Basis(in.TimeBasis); b != "" {
		s += "; " + b
	}
	return s
}

// Later prints an instant after another: the date only where it is a new one.
func Later(first, n event.Nanos) string {
	if first.Time().Format(time.DateOnly) == n.Time().Format(time.DateOnly) {
		return Clock(n)
	}
	return Instant(n)
}

// Lasted says how long an incident was.
func Lasted(in *Incident) string {
	switch d := in.Length(); {
	case d <= 0:
		return "one moment"
	case d < time.Second:
		return "under 1 s"
	default:
		return Duration(d)
	}
}

// ProbeSettings says how often a probe runs and what it tolerates, "" when no
// input holds its spec.
func ProbeSettings(p model.Probe) string {
	if p.PeriodSec <= 0 {
		return ""
	}
	s := fmt.Sprintf("every %s, time-out %s", Seconds(p.PeriodSec), Seconds(p.TimeoutSec))
	if p.FailureThreshold > 0 {
		s += ", fails after " + Number(int64(p.FailureThreshold))
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

// Notable reports whether a clock is worth a word: it was moved, it was set
// meanwhile, several offsets are possible, or none could be determined.
func Notable(c model.Clock) bool {
	return c.Applied || c.Undetermined || c.Method == "none" || len(c.Rivals) > 0 || len(c.Steps) > 0
}

// ClockSummary counts the clocks that agree with the kubelet's and those that do
// not.
func ClockSummary(list []model.Clock) string {
	agree := 0
	for _, c := range list {
		if !Notable(c) {
			agree++
		}
	}
	switch others := len(list) - agree; {
	case others == 0:
		return Count(agree, "other clock was", "other clocks were") + " compared with it: no difference beyond the uncertainty, nothing was moved."
	case agree == 0:
		return Count(others, "other clock was", "other clocks were") + " compared with it:"
	default:
		return Count(len(list), "other clock was", "other clocks were") + " compared with it: " + Count(agree, "shows", "show") + " no difference beyond the uncertainty, " +
			Count(others, "needs", "need") + " attention:"
	}
}

// ClockOffset prints the offset of a clock and how sure it is: two words for a
// table.
func ClockOffset(c model.Clock) (offset, uncertainty string) {
	if c.Undetermined || c.Method == "none" {
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
