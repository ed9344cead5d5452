package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// Geometry of the lanes, in units of the drawing.
const (
	laneWidth  = 960.0
	laneLeft   = 96.0
	laneRight  = laneWidth - 12
	rowHeight  = 22.0
	barHeight  = 15.0
	laneGap    = 14.0
	maxMarks   = 300 // per row; more are drawn as one mark per slice of time
	charWidth  = 6.9
	axisHeight = 26.0
	laneName   = 110 // characters of a pod's name
)

// htmlLanes draws the pods of an incident along time.
type htmlLanes struct {
	Number        int
	Width, Height float64
	Title         string
	Window        htmlRect
	Lanes         []htmlLane
	Ticks         []htmlTick
	AxisY         float64
	Hidden        int // pods that were not drawn
}

type htmlLane struct {
	Name string
	Y    float64
	Rows []htmlRow
}

type htmlRow struct {
	Label string
	Y     float64 // baseline of the label
	Line  float64 // middle of the row
	Bars  []htmlRect
	Marks []htmlMark
}

type htmlRect struct {
	X, Y, W, H float64
	Class      string
	Label      string // inside, "" when it does not fit
	TextX      float64
	TextY      float64
	Title      string
}

// htmlMark is an attempt: its shape tells the result, not only its colour.
type htmlMark struct {
	X, Y  float64
	Class string
	Shape string // path data
	Title string
}

type htmlTick struct {
	X     float64
	Label string
}

// laneScale maps time to the drawing.
type laneScale struct{ from, to event.Nanos }

func (s laneScale) x(n event.Nanos) float64 {
	n = min(max(n, s.from), s.to)
	return round(laneLeft + (laneRight-laneLeft)*float64(n-s.from)/float64(max(s.to-s.from, 1)))
}

func round(v float64) float64 { return math.Round(v*10) / 10 }

func lanesOf(c *view.Case, in *view.Incident) *htmlLanes {
	pods := c.Model(in)
	if len(pods) == 0 || in.Window.First.IsZero() {
		return nil
	}
	from, to := in.Span()
	scale := laneScale{from, to}
	l := &htmlLanes{Number: in.Number, Width: laneWidth, Title: fmt.Sprintf("Pods of incident %d from %s to %s UTC", in.Number, view.Instant(from), view.Instant(to))}
	// The pods with the most failures are drawn.
	failed := map[string]int{}
	for _, s := range in.Subjects {
		failed[s.Namespace+"/"+s.Pod] += s.FailedAttempts
	}
	slices.SortStableFunc(pods, func(a, b *model.Pod) int {
		return cmp.Compare(failed[b.Namespace+"/"+b.Pod], failed[a.Namespace+"/"+a.Pod])
	})
	l.Hidden = max(0, len(pods)-htmlLanePods)
	y := 6.0
	for _, p := range pods[:min(len(pods), htmlLanePods)] {
		lane := laneOf(p, in, scale, y)
		l.Lanes = append(l.Lanes, lane)
		y += rowHeight*float64(1+len(lane.Rows)) + laneGap
	}
	l.AxisY = round(y)
	l.Height = round(y + axisHeight)
	first := in.Window.First.Nanos // when the first failure was known; it began earlier
	for _, a := range in.Attempts {
		if view.Failed(a) && a.Incident == in.ID {
			first = min(first, begin(a))
			break
		}
	}
	x0, x1 := scale.x(first), scale.x(max(in.Window.Last.Nanos, in.Window.Recovered.Nanos))
	l.Window = htmlRect{X: x0, Y: 0, W: round(max(x1-x0, 1)), H: round(y)}
	l.Ticks = ticks(scale)
	return l
}

func laneOf(p *model.Pod, in *view.Incident, scale laneScale, y float64) htmlLane {
	lane := htmlLane{Name: middle(p.Namespace+"/"+p.Pod, laneName), Y: round(y + 14)}
	y += rowHeight
	add := func(label string, bars []htmlRect, marks []htmlMark) {
		if len(bars)+len(marks) == 0 {
			return
		}
		for i := range bars {
			bars[i].Y, bars[i].H, bars[i].TextY = round(y+3), barHeight, round(y+14)
		}
		for i := range marks {
			marks[i].Y = round(y + rowHeight/2)
		}
		lane.Rows = append(lane.Rows, htmlRow{Label: label, Y: round(y + 14), Line: round(y + rowHeight/2), Bars: bars, Marks: marks})
		y += rowHeight
	}
	var v4, v6, sandboxes []htmlRect
	for _, iv := range p.IPIntervals {
		bar, ok := scale.bar(iv.From, iv.To, "ip-"+iv.State, iv.IP, fmt.Sprintf("address %s %s", iv.IP, iv.State))
		if !ok {
			continue
		}
		if slices.Contains([]byte(iv.IP), ':') {
			v6 = append(v6, bar)
		} else {
			v4 = append(v4, bar)
		}
	}
	for i, bars := range apart(v4) {
		add([...]string{"address", ""}[min(i, 1)], bars, nil)
	}
	for i, bars := range apart(v6) {
		add([...]string{"IPv6", ""}[min(i, 1)], bars, nil)
	}
	for _, s := range p.Sandboxes {
		name := fmt.Sprintf("%.12s", s.ID)
		if bar, ok := scale.bar(s.From, s.To, "sandbox", name, "sandbox "+name); ok {
			sandboxes = append(sandboxes, bar)
		}
	}
	add("sandbox", sandboxes, nil)
	for _, name := range containers(p) {
		var runs []htmlRect
		for _, r := range p.Runs {
			if r.Container != name {
				continue
			}
			title := "container " + name
			if r.ExitCode != nil {
				title += fmt.Sprintf(", exit code %d", *r.ExitCode)
			}
			if r.KilledBy != "" {
				title += ", killed by " + r.KilledBy
			}
			if bar, ok := scale.bar(r.From, r.To, "run", name, title); ok {
				runs = append(runs, bar)
			}
		}
		add("container", runs, nil)
	}
	add("ready", readyBars(p, scale), nil)
	for _, kind := range []string{"startup", "liveness", "readiness", ""} {
		var list []*model.Attempt
		for _, a := range in.Attempts {
			if a.Namespace == p.Namespace && a.Pod == p.Pod && (a.UID == "" || p.UID == "" || a.UID == p.UID) && (a.Probe == kind || kind == "" && !slices.Contains([]string{"startup", "liveness", "readiness"}, a.Probe)) {
				list = append(list, a)
			}
		}
		label := kind
		if label == "" {
			label = "probe"
		}
		add(label, nil, marksOf(list, scale))
	}
	return lane
}

// apart spreads bars over rows in which none covers another: a pod for which the
// sources name two addresses at a time has a row for each.
func apart(bars []htmlRect) [][]htmlRect {
	slices.SortStableFunc(bars, func(a, b htmlRect) int { return cmp.Compare(a.X, b.X) })
	var rows [][]htmlRect
next:
	for _, b := range bars {
		for i, row := range rows {
			if last := row[len(row)-1]; last.X+last.W <= b.X {
				rows[i] = append(row, b)
				continue next
			}
		}
		rows = append(rows, []htmlRect{b})
	}
	return rows
}

func containers(p *model.Pod) []string {
	var out []string
	for _, r := range p.Runs {
		if !slices.Contains(out, r.Container) {
			out = append(out, r.Container)
		}
	}
	return out
}

// readyBars turns changes of readiness into spans. Before the first change the
// state is not known.
func readyBars(p *model.Pod, scale laneScale) []htmlRect {
	var out []htmlRect
	var changes []model.ReadyAt
	for _, r := range p.Ready {
		if r.Probe == "readiness" {
			changes = append(changes, r)
		}
	}
	for i, r := range changes {
		to := model.Time{}
		if i+1 < len(changes) {
			to = changes[i+1].At
		}
		class := "notready"
		if r.Status == "ready" {
			class = "ready"
		}
		if bar, ok := scale.bar(r.At, to, class, r.Status, r.Status+" since "+view.Instant(r.At.Nanos)); ok {
			out = append(out, bar)
		}
	}
	return out
}

// bar is the part of an interval inside the span; one without an end reaches to
// its end.
func (s laneScale) bar(from, to model.Time, class, label, title string) (htmlRect, bool) {
	end := to.Nanos
	if to.IsZero() {
		end = s.to
	}
	if from.Nanos > s.to || end < s.from || from.IsZero() {
		return htmlRect{}, false
	}
	x0, x1 := s.x(from.Nanos), s.x(end)
	r := htmlRect{X: x0, W: round(max(x1-x0, 1.5)), Class: class, Title: title + ", from " + view.Instant(from.Nanos)}
	if !to.IsZero() {
		r.Title += " to " + view.Instant(to.Nanos)
	}
	if float64(len(label))*charWidth+8 <= r.W {
		r.Label, r.TextX = label, round(x0+4)
	}
	return r, true
}

// Shapes of marks, around the origin: a cross for failed, a diamond for errored,
// a dot for good, a ring for missing.
const (
	shapeFailed  = "M-4,-7 L4,7 M4,-7 L-4,7"
	shapeErrored = "M0,-6 L5,0 L0,6 L-5,0 Z"
	shapeGood    = "M-2.5,0 a2.5,2.5 0 1,0 5,0 a2.5,2.5 0 1,0 -5,0"
	shapeMissing = "M-4,0 a4,4 0 1,0 8,0 a4,4 0 1,0 -8,0"
)

func marksOf(list []*model.Attempt, scale laneScale) []htmlMark {
	var out []htmlMark
	if len(list) <= maxMarks {
		for _, a := range list {
			out = append(out, markOf(a, scale))
		}
		return out
	}
	// One mark per slice of time: the worst of its attempts.
	step := (scale.to - scale.from) / maxMarks
	for i := 0; i < len(list); {
		slot := (begin(list[i]) - scale.from) / max(step, 1)
		worst, n, failed := list[i], 0, 0
		for ; i < len(list) && (begin(list[i])-scale.from)/max(step, 1) == slot; i++ {
			n++
			if view.Failed(list[i]) {
				failed++
				if !view.Failed(worst) {
					worst = list[i]
				}
			}
		}
		m := markOf(worst, scale)
		if n > 1 {
			m.Title = fmt.Sprintf("%s, %d of them failed, around %s", view.Count(n, "attempt", "attempts"), failed, view.Clock(begin(worst)))
		}
		out = append(out, m)
	}
	return out
}

func begin(a *model.Attempt) event.Nanos {
	if a.Start != 0 {
		return a.Start
	}
	return a.End
}

func markOf(a *model.Attempt, scale laneScale) htmlMark {
	m := htmlMark{X: scale.x(begin(a)), Title: view.Clock(begin(a)) + " " + a.Probe + " " + a.Outcome}
	switch a.Outcome {
	case "failure":
		m.Class, m.Shape = "failed", shapeFailed
	case "errored":
		m.Class, m.Shape = "errored", shapeErrored
	case "missing", "unknown":
		m.Class, m.Shape = "missing", shapeMissing
	default:
		m.Class, m.Shape = "good", shapeGood
	}
	if view.Failed(a) {
		m.Title += ": " + view.Why(a)
	}
	return m
}

// ticks marks round times, five to ten of them.
func ticks(s laneScale) []htmlTick {
	steps := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
		time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour, 365 * 24 * time.Hour}
	step := steps[len(steps)-1]
	for _, d := range steps {
		if s.to.Sub(s.from)/d <= 9 {
			step = d
			break
		}
	}
	layout := "15:04:05"
	switch {
	case step < time.Second:
		layout = "15:04:05.0"
	case step >= 24*time.Hour:
		layout = "2006-01-02"
	case step >= 6*time.Hour:
		layout = "01-02 15:04"
	}
	var out []htmlTick
	first := (s.from/event.Nanos(step) + 1) * event.Nanos(step)
	for n := first; n < s.to && len(out) < 20; n += event.Nanos(step) {
		if x := s.x(n); x < laneRight-24 {
			out = append(out, htmlTick{x, n.Time().Format(layout)})
		}
	}
	return out
}
