package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/clock"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// clockRows lists what is known of each clock, by node, kind and source.
func (r *run) clockRows() []model.Clock {
	out := r.captureClocks()
	paths := make(map[event.StreamID]string)
	for _, s := range r.stream.Infos() {
		paths[s.ID] = s.Path
	}
	listed := make(map[event.StreamID]bool)
	for i := range r.compared {
		c := &r.compared[i]
		m := model.Clock{Node: c.Node, Kind: string(c.Kind), Source: cmp.Or(paths[c.Stream], string(c.Kind)), Method: methods[c.Kind], Anchors: c.Agree}
		listed[c.Stream] = true
		for _, s := range c.Steps {
			m.Steps = append(m.Steps, model.ClockStep{At: model.At(s.At), ByMS: milliseconds(s.By), Against: s.Against, Ref: model.RefOf(s.Ref)})
		}
		r.estimate(&m, c)
		if steps := stepNote(c.Steps); steps != "" {
			m.Note = strings.TrimPrefix(m.Note+"; "+steps, "; ")
		}
		out = append(out, m)
	}
	for _, s := range r.stream.Infos() {
		if d, ok := r.offsets.given[s.ID]; ok && !listed[s.ID] {
			kind := clock.KindJournal
			if r.offsets.audits[s.ID] {
				kind = clock.KindAudit
			}
			out = append(out, model.Clock{Node: s.Node, Kind: string(kind), Source: s.Path, OffsetMS: milliseconds(d), Method: "given", Applied: true})
		}
	}
	slices.SortStableFunc(out, func(a, b model.Clock) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Source, b.Source))
	})
	return out
}

// captureClocks lists the captures.
func (r *run) captureClocks() []model.Clock {
	out := []model.Clock{}
	for _, a := range r.aligned {
		for _, c := range a.Captures {
			// Times of day were put on a day, which is no difference between clocks.
			day := r.captureDay(c.Info)
			offset := c.Offset - day
			m := model.Clock{Node: c.Node, Kind: "capture", Source: c.Info.Path, OffsetMS: milliseconds(offset), UncertaintyMS: milliseconds(a.Uncertainty),
				Method: a.Method, Anchors: a.Pairs, Applied: a.Applied || a.Method == "given"}
			switch {
			case a.Method == "none":
				m.Undetermined = offset == 0
				m.Note = "undetermined: fewer than three attempts of the log can be compared with connections; the clocks are taken for one"
			case !a.Applied && a.Method == "attempts":
				m.OffsetMS = milliseconds(a.Value)
				m.Note = "log lines follow their packets as on one clock; nothing was moved"
			}
			if a.Applied {
				for _, v := range a.Rivals {
					m.Rivals = append(m.Rivals, milliseconds(offset-a.Value+v))
				}
			}
			if day != 0 {
				m.Note = strings.TrimPrefix(m.Note+"; times of day, put on "+event.Nanos(day).Time().Format(time.DateOnly), "; ")
			}
			out = append(out, m)
		}
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// methods say what the offset of each kind of clock rests on.
var methods = map[clock.Kind]string{
	clock.KindJournal: "headers",        // prefix and kubelet's header of one line
	clock.KindEvents:  "event-lines",    // an Event object and the line about the same attempt
	clock.KindAPI:     "creation-times", // objects and what cannot come before or after them
	clock.KindAudit:   "audit-lines",    // an entry and the line that follows it
}

// estimate writes down what the anchors say, and whether it was applied.
func (r *run) estimate(m *model.Clock, c *clock.Comparison) {
	d, u, _ := c.Span.Middle()
	m.OffsetMS, m.UncertaintyMS = milliseconds(d), milliseconds(u)
	given, byUser := r.offsets.given[c.Stream]
	if !byUser && (c.Kind == clock.KindAPI || c.Kind == clock.KindAudit) {
		given, byUser = r.offsets.givenAPI(c.Node)
	}
	switch {
	case byUser:
		m.OffsetMS, m.UncertaintyMS, m.Method, m.Applied = milliseconds(given), 0, "given", true
	case !c.Determined():
		m.OffsetMS, m.UncertaintyMS, m.Undetermined = 0, 0, true
		m.Note = undetermined(c)
	case c.Differs():
		m.Applied = true
		if c.Kind == clock.KindJournal {
			m.Note = "the lines that carry no time of their own were moved"
		}
	default:
		m.Note = "no difference beyond the uncertainty; nothing was moved"
	}
	if c.Borrowed && !byUser {
		m.Method += ", " + methods[clock.KindAPI]
	}
}

// undetermined says why an offset is, and what is known of it all the same.
func undetermined(c *clock.Comparison) string {
	why := fmt.Sprintf("%d of %d anchors agree", c.Agree, c.Of)
	switch {
	case c.Agree < 3:
		why = "fewer than three records can be compared"
	case c.Span.From != -clock.Open && c.Span.To == clock.Open:
		why = fmt.Sprintf("%d records say at least %+.3f s, none says at most", c.Agree, c.Span.From.Seconds())
	case c.Span.From == -clock.Open && c.Span.To != clock.Open:
		why = fmt.Sprintf("%d records say at most %+.3f s, none says at least", c.Agree, c.Span.To.Seconds())
	}
	return "undetermined: " + why + "; the clocks are taken for one"
}

// stepNote names the first few steps.
func stepNote(steps []clock.Step) string {
	const most = 3
	var parts []string
	for _, s := range steps[:min(len(steps), most)] {
		parts = append(parts, fmt.Sprintf("by %+.3f s at %s against the %s", s.By.Seconds(), s.At.Time().Format("2006-01-02 15:04:05.000"), s.Against))
	}
	if len(parts) == 0 {
		return ""
	}
	if len(steps) > most {
		parts = append(parts, fmt.Sprintf("and %d times more", len(steps)-most))
	}
	return "stepped " + strings.Join(parts, ", ")
}
