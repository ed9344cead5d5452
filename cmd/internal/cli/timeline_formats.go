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
:root { --bg: #ffffff; --fg: #1c2126; --soft: #56616c; --line: #cfd6dd; --focus: #0b57b0; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181c; --fg: #e4e8ec; --soft: #a3aeb8; --line: #38424c; --focus: #8bbcff; } }
body { font: 14px/1.45 system-ui, sans-serif; margin: 1rem; background: var(--bg); color: var(--fg); overflow-wrap: break-word; }
h1 { font-size: 1.4rem; }
.scroll { overflow-x: auto; } .scroll:focus-visible { outline: 3px solid var(--focus); }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; color: var(--soft); }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; } td.pod { min-width: 11rem; } td.kind { white-space: nowrap; } td.what { min-width: 20rem; }
td.time, td.where { font-family: ui-monospace, monospace; white-space: nowrap; overflow-wrap: normal; }
tr.inferred td { font-style: italic; color: var(--soft); }
tr.crossed td { font-weight: 600; }
@media print { body { font-size: 8pt; } .scroll { overflow: visible; } td.where { white-space: normal; } td.what, td.pod { min-width: 0; } }
</style>
</head>
`

var timelinePage = template.Must(template.New("timeline").Funcs(template.FuncMap{
	"shown": func(s string) string { return string(escape.Visible(s)) },
	"stamp": func(f fact) string { return f.Time.Nanos.Time().Format(timelineStamp) },
}).Parse(timelineHead + `<body>
<main>
<h1>{{shown .Title}}</h1>
<div class="scroll" tabindex="0" role="region" aria-label="Facts by time">
<table>
<caption>Facts by time; in italics what was inferred, in bold the attempts that crossed a threshold</caption>
<thead><tr><th scope="col">Time (UTC)</th>{{if .Several}}<th scope="col">Pod</th>{{end}}<th scope="col">Kind</th><th scope="col">What</th><th scope="col">Where</th></tr></thead>
<tbody>
{{range .Facts}}<tr{{if .Inferred}} class="inferred"{{else if eq .Threshold "crossed-failure"}} class="crossed"{{end}}><td class="time">{{stamp .}}</td>{{if $.Several}}<td class="pod">{{shown .Pod}}</td>{{end}}<td class="kind">{{.Kind}}</td><td class="what">{{shown .Text}}</td><td class="where">{{shown .Where}}</td></tr>
{{end}}</tbody>
</table>
</div>
</main>
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
