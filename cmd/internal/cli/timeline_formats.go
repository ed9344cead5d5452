package cli

import (
	"bufio"
	"html/template"
	"io"
	"slices"

	"github.com/probe-forensics/probe-forensics/report/escape"
)

// timelineTitle names the pods of a timeline.
func timelineTitle(facts []fact) (title string, several bool) {
	several = slices.ContainsFunc(facts, func(f fact) bool { return f.Pod != facts[0].Pod })
	if several {
		return "Timeline of several pods", true
	}
	return "Timeline of " + facts[0].Pod, false
}

const timelineStamp = "2006-01-02 15:04:05.000"

// timelineMarkdown writes one table, whose cells can't break out of it.
func timelineMarkdown(out io.Writer, facts []fact) error {
	w := bufio.NewWriter(out)
	title, several := timelineTitle(facts)
	w.WriteString("# " + string(escape.Text(title)) + "\n\n| Time (UTC) |")
	rule := "|---|"
	if several {
		w.WriteString(" Pod |")
		rule += "---|"
	}
	w.WriteString(" Kind | What | Where |\n" + rule + "---|---|---|\n")
	for _, f := range facts {
		w.WriteString("| " + f.Time.Nanos.Time().Format(timelineStamp) + " |")
		if several {
			w.WriteString(" " + string(escape.Code(f.Pod)) + " |")
		}
		text := escape.Text(f.Text)
		if f.Threshold == "crossed-failure" {
			text = escape.Bold(text)
		}
		where := escape.MD("")
		if f.Where != "" {
			where = escape.Code(f.Where)
		}
		w.WriteString(" " + f.Kind + " | " + string(text) + " | " + string(where) + " |\n")
	}
	return w.Flush()
}

// timelineHead is the head of a page that loads nothing.
const timelineHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>{{shown .Title}}</title>
<style>
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem; border-bottom: 1px solid #8884; }
td { overflow-wrap: anywhere; }
td.time, td.where { font-family: ui-monospace, monospace; white-space: nowrap; overflow-wrap: normal; }
tr.inferred td { font-style: italic; opacity: .8; }
tr.crossed td { font-weight: 600; }
</style>
</head>
`

var timelinePage = template.Must(template.New("timeline").Funcs(template.FuncMap{
	"shown": func(s string) string { return string(escape.Visible(s)) },
	"stamp": func(f fact) string { return f.Time.Nanos.Time().Format(timelineStamp) },
}).Parse(timelineHead + `<body>
<h1>{{shown .Title}}</h1>
<table>
<thead><tr><th scope="col">Time (UTC)</th>{{if .Several}}<th scope="col">Pod</th>{{end}}<th scope="col">Kind</th><th scope="col">What</th><th scope="col">Where</th></tr></thead>
<tbody>
{{range .Facts}}<tr{{if .Inferred}} class="inferred"{{else if eq .Threshold "crossed-failure"}} class="crossed"{{end}}><td class="time">{{stamp .}}</td>{{if $.Several}}<td>{{shown .Pod}}</td>{{end}}<td>{{.Kind}}</td><td>{{shown .Text}}</td><td class="where">{{shown .Where}}</td></tr>
{{end}}</tbody>
</table>
</body>
</html>
`))

// timelineHTML writes a page that loads nothing.
func timelineHTML(out io.Writer, facts []fact) error {
	title, several := timelineTitle(facts)
	w := bufio.NewWriter(out)
	if err := timelinePage.Execute(w, struct {
		Title   string
		Several bool
		Facts   []fact
	}{title, several, facts}); err != nil {
		return err
	}
	return w.Flush()
}
