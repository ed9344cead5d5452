package fleet

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"

	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

//go:embed page.html
var pageSource string

// page loads nothing and runs nothing. html/template escapes by context; shown
// makes characters visible that HTML would obey.
var page = template.Must(template.New("fleet").Funcs(template.FuncMap{
	"shown": func(v any) string { return string(escape.Visible(fmt.Sprint(v))) },
}).Parse(pageSource))

type pageData struct {
	Title    string
	Facts    [][2]string
	Days     *dayChart
	Sections []pageSection
}

type pageSection struct {
	Title, Note string
	Head        []string
	Rows        [][]string
	More        int
}

// dayChart is a bar a day, the days without incidents left out.
type dayChart struct {
	Width       int
	Bars        []dayBar
	First, Last string
}

type dayBar struct {
	X, Y, W, H int
	Text       string
}

// WriteHTML writes fleet.html: one file without scripts that loads nothing.
func (r *Report) WriteHTML(w io.Writer) error {
	d := pageData{Title: r.Headline(), Facts: r.facts(), Days: chart(r.Days)}
	for _, s := range r.sections() {
		d.Sections = append(d.Sections, pageSection{Title: s.title, Note: s.note, Head: s.head, Rows: s.rows, More: s.more})
	}
	return page.Execute(w, d)
}

// Measures of the chart, in the units of its drawing.
const (
	chartHeight = 110
	maxBars     = 365
)

func chart(days []Group) *dayChart {
	if len(days) < 2 {
		return nil // one bar tells nothing
	}
	days = days[max(0, len(days)-maxBars):]
	step, most := max(2, min(40, 1000/len(days))), 1
	for _, d := range days {
		most = max(most, d.Incidents)
	}
	c := &dayChart{Width: max(600, step*len(days)), First: days[0].Name, Last: days[len(days)-1].Name}
	for i, d := range days {
		h := max(1, d.Incidents*chartHeight/most)
		c.Bars = append(c.Bars, dayBar{X: i * step, Y: chartHeight - h, W: max(1, step-1), H: h,
			Text: fmt.Sprintf("%s: %s; %s", d.Name, view.Count(d.Incidents, "incident", "incidents"), causeList(d.Causes))})
	}
	return c
}
