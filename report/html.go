package report

import (
	"context"
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

var _ = register(renderer{"html", files("report.html"), renderHTML})

//go:embed html_page.html
var pageSource string

// page needs no script and loads nothing: its policy forbids both. html/template
// escapes by context; shown makes characters visible that HTML would obey.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"shown": func(v any) string { return string(escape.Visible(fmt.Sprint(v))) },
	"lines": func(s string) string { return string(escape.Lines(s)) },
}).Parse(pageSource))

// Bounds of the page. What is left out is named and in report.json.
const (
	htmlIncidents = 50
	htmlRows      = 100
	htmlLanePods  = 8
)

func renderHTML(ctx context.Context, res *model.Result, out Output, _ Options) error {
	c, err := view.New(ctx, res)
	if err != nil {
		return err
	}
	return writeFile(out, "report.html", func(w io.Writer) error { return page.Execute(w, htmlPage(c)) })
}

// The types below are what the page shows: words and numbers, and coordinates
// of drawings. All text passes "shown" in the template.
type htmlCase struct {
	Title     string
	Verdict   string
	Badge     string
	Class     string // of the badge
	Word      string
	Facts     []htmlFact
	Incidents []htmlIncident
	Only      bool // one incident: the head says what its section would repeat
	More      int  // incidents without a section
	Checked   []string
	CouldNot  []string
	Probes    htmlTable
	Addresses htmlTable // on which sources disagree
	Lagged    htmlTable // copies that lagged as usual
	ClockNote string
	Clocks    htmlTable
	Inputs    htmlTable
	Streams   htmlTable
	Problems  htmlTable
	Tool      model.Tool
}

type htmlFact struct{ Name, Value string }

// htmlTable is a table. Classes are those of its columns. Left is how many rows
// were left out.
type htmlTable struct {
	Caption string
	Head    []string
	Classes []string
	Rows    [][]string
	Left    int
}

// Class is the class of a column.
func (t htmlTable) Class(i int) string {
	if i < len(t.Classes) {
		return t.Classes[i]
	}
	return ""
}

func (t *htmlTable) add(cells ...string) {
	if len(t.Rows) == htmlRows {
		t.Left++
		return
	}
	t.Rows = append(t.Rows, cells)
}

// columns names the columns of a table; a leading "`" marks what is set in fixed
// width, a leading "@" times, which stay on one line.
func columns(caption string, names ...string) htmlTable {
	t := htmlTable{Caption: caption}
	for _, n := range names {
		class := map[byte]string{'`': "code", '@': "time"}[n[0]]
		t.Head, t.Classes = append(t.Head, strings.TrimLeft(n, "`@")), append(t.Classes, class)
	}
	return t
}

type htmlIncident struct {
	*view.Incident
	Only         bool
	Title        string
	Sentence     string
	Subject      string
	Class        string
	Confidence   string
	RunnerUp     string
	Window       string
	Affected     string
	Contributing []string
	Recurrence   string
	Effects      []htmlCited
	Subjects     htmlTable
	Lanes        *htmlLanes
	Timeline     htmlTable
	Ladders      []htmlLadder
	Evidence     []htmlEvidence
	Score        htmlTable
	Alternatives htmlTable
	Missing      htmlTable
	Steps        []string
	Commands     []string
	Attempts     htmlTable
}

type htmlCited struct {
	Text string
	Refs []string
}

type htmlEvidence struct {
	Role, Title string
	Items       []htmlClaim
}

type htmlClaim struct {
	Weight, Time, Claim, Excerpt string
	Refs                         []string
}

func htmlPage(c *view.Case) htmlCase {
	p := htmlCase{Title: c.Headline(), Verdict: c.Verdict(), Badge: c.Badge(), Class: "none", Tool: c.Res.Tool, CouldNot: c.Res.Checked.CouldNot}
	switch {
	case len(c.Incidents) == 1:
		in := c.Incidents[0]
		p.Facts = append(p.Facts, htmlFact{"When (UTC)", view.Window(in)}, htmlFact{"Affected", view.Affected(in)})
	case len(c.Incidents) > 1:
		all := c.All()
		p.Facts = append(p.Facts, htmlFact{"Causes", causesText(c.ByCause())}, htmlFact{"When (UTC)", all.When()}, htmlFact{"Affected", all.Whom()})
	case c.Looked():
		p.Class = "good"
	}
	if len(c.Incidents) > 0 {
		cause := c.Incidents[0].Cause
		p.Class, p.Word = badgeClass(cause), cause.Word+" "+view.Confidence(cause.Confidence)
	}
	p.Only = len(c.Incidents) == 1
	if ch := c.Res.Checked; !ch.From.IsZero() {
		p.Facts = append(p.Facts, htmlFact{"Data (UTC)", view.Instant(ch.From.Nanos) + " to " + view.Instant(ch.To.Nanos)})
	}
	if nodes := c.Res.Checked.Nodes; len(nodes) > 0 {
		p.Facts = append(p.Facts, htmlFact{"Nodes", view.List(nodes, 12)})
	}
	if c.Res.Cluster != "" && c.Res.Cluster != "unknown" {
		p.Facts = append(p.Facts, htmlFact{"Cluster", c.Res.Cluster})
	}
	for i, in := range c.Incidents {
		if i == htmlIncidents {
			p.More = len(c.Incidents) - i
			break
		}
		h := htmlOf(c, in)
		h.Only = p.Only
		p.Incidents = append(p.Incidents, h)
	}
	htmlCaseTables(c, &p)
	return p
}

func causesText(list []view.CauseCount) string {
	var out []string
	for _, c := range list {
		if c.Incidents > 1 {
			out = append(out, view.Number(int64(c.Incidents))+" "+c.ID)
		} else {
			out = append(out, c.ID)
		}
	}
	return view.List(out, 8)
}

func badgeClass(cause model.Cause) string {
	switch cause.Word {
	case model.Confirmed, model.Probable:
		return "bad"
	case model.Possible:
		return "maybe"
	default:
		return "none"
	}
}

func htmlOf(c *view.Case, in *view.Incident) htmlIncident {
	h := htmlIncident{
		Incident: in, Title: in.Title(), Sentence: in.Sentence(), Subject: view.SubjectNames(in, 1), Class: badgeClass(in.Cause), Confidence: view.Confidence(in.Cause.Confidence),
		Window: view.Window(in), Affected: view.Affected(in), Commands: c.Commands(in), Lanes: lanesOf(c, in),
	}
	if r := in.RunnerUp(); r != nil {
		h.RunnerUp = r.ID + " (" + view.Confidence(r.Confidence) + ")"
		if r.WhyNot != "" {
			h.RunnerUp += "; " + r.WhyNot
		}
	}
	for _, x := range in.Contributing {
		text := x.ID + " (" + view.Confidence(x.Confidence) + ")"
		if x.Note != "" {
			text += ": " + x.Note
		}
		h.Contributing = append(h.Contributing, text)
	}
	if r := in.Recurrence; r != nil {
		h.Recurrence = r.Note
		if len(r.Pods) > 0 {
			h.Recurrence += " (" + view.List(r.Pods, 5) + ")"
		}
	}
	for _, e := range in.Consequences {
		text := e.Text
		if !e.At.IsZero() {
			text = view.Instant(e.At.Nanos) + " " + text
		}
		h.Effects = append(h.Effects, htmlCited{text, refNames(c, e.Ref, nil)})
	}
	h.Subjects = columns("Probes that failed", "`Pod", "Container", "Probe", "Target", "Failed", "Succeeded meanwhile", "@First failed (UTC)", "@Last failed")
	for _, s := range in.Subjects {
		h.Subjects.add(view.PodName(s), s.Container, s.Probe, view.Target(s.Target), view.Number(int64(s.FailedAttempts)), in.SubjectCounts(s).Good(),
			view.Instant(s.First.Nanos), view.Later(s.First.Nanos, s.Last.Nanos))
	}
	h.Timeline = columns("Facts by time", "@From (UTC)", "@Until", "`Pod", "What", "`Record")
	for _, f := range c.Timeline(in) {
		until := ""
		switch {
		case f.Open:
			until = "(open)"
		case f.Until > f.At:
			until = view.Later(f.At, f.Until)
		}
		text := f.Text
		if f.Quote != "" {
			text += ": " + string(escape.Cut(f.Quote, factQuote))
		}
		h.Timeline.add(view.Instant(f.At), until, f.Pod, text, c.Ref(f.Ref))
	}
	for _, x := range []struct {
		title string
		e     *view.Exchange
	}{{"A failed attempt", in.Failed}, {"A good attempt of the same probe", in.Good}} {
		if x.e != nil {
			h.Ladders = append(h.Ladders, ladderOf(c, x.title, x.e))
		}
	}
	htmlReasons(c, in, &h)
	return h
}

// htmlReasons fills what the verdict rests on.
func htmlReasons(c *view.Case, in *view.Incident, h *htmlIncident) {
	for _, part := range []htmlEvidence{{Role: model.RoleFor, Title: "For"}, {Role: model.RoleAgainst, Title: "Against"}, {Role: model.RoleContext, Title: "Context"}} {
		for i, e := range in.By(part.Role) {
			if i == htmlRows {
				break
			}
			claim := htmlClaim{Claim: e.Claim, Excerpt: e.Excerpt, Refs: refNames(c, e.Ref, e.More)}
			if e.Weight != 0 {
				claim.Weight = fmt.Sprintf("%.2f", e.Weight)
			}
			if !e.Time.IsZero() {
				claim.Time = view.Instant(e.Time.Nanos)
			}
			part.Items = append(part.Items, claim)
		}
		if len(part.Items) > 0 {
			h.Evidence = append(h.Evidence, part)
		}
	}
	h.Score = columns("Arithmetic of the confidence", "Step", "Source", "Weight", "Score")
	for _, s := range in.Score {
		weight := ""
		if s.Weight != 0 {
			weight = fmt.Sprintf("%.2f", s.Weight)
		}
		h.Score.add(s.Text, s.Group, weight, view.Confidence(s.Result))
	}
	h.Alternatives = columns("Causes that did not win", "`Cause", "Score", "Why not")
	for _, a := range in.Alternatives {
		h.Alternatives.add(a.ID, view.Confidence(a.Confidence), a.WhyNot)
	}
	h.Missing = columns("Observations that would have settled more", "Observation", "Would settle", "`How to collect")
	for _, m := range in.Missing {
		h.Missing.add(m.What, m.WouldSettle, m.HowToCollect)
	}
	for _, r := range in.Recommend {
		h.Steps = append(h.Steps, r.Text)
	}
	h.Attempts = columns("Attempts of this incident and around it", "@Start (UTC)", "`Pod", "Probe", "Result", "Error class", "Connect", "First byte", "Log and packets", "`Record")
	for _, a := range in.Attempts {
		h.Attempts.add(view.Instant(a.Start), a.Pod, a.Probe, a.Outcome, a.ErrorClass, phaseText(a.ConnectMs), phaseText(a.FirstByteMs), a.JoinReason, view.AttemptRef(c, a))
	}
}

func phaseText(ms float64) string {
	if ms < 0 {
		return ""
	}
	return view.Millis(ms)
}

func refNames(c *view.Case, ref model.Ref, more []model.Ref) []string {
	var out []string
	for i, r := range append([]model.Ref{ref}, more...) {
		if i > 4 {
			return append(out, view.Number(int64(len(more)+1-i))+" more")
		}
		if name := c.Ref(r); name != "" {
			out = append(out, name)
		}
	}
	return out
}
