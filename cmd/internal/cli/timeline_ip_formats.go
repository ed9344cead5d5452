package cli

import (
	"bufio"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/escape"
)

// maxShownSources bounds the records per row where people read; JSON has all.
const maxShownSources = 4

func (c *timelineCmd) printAnswer(rt *session, a addressAnswer) error {
	switch {
	case c.JSON || c.Format == "json":
		for _, h := range a.rows {
			if err := writeJSONLine(rt.stdout, h); err != nil {
				return err
			}
		}
		return nil
	case c.Format == "md":
		return answerMarkdown(rt.stdout, a)
	case c.Format == "html":
		return answerHTML(rt.stdout, a)
	}
	return answerTerm(rt.stdout, a)
}

// title says what was asked.
func (a *addressAnswer) title() string {
	t := "Who had " + a.ip.String()
	if a.at != 0 {
		t += " at " + moment(model.At(a.at)) + " UTC"
	}
	return t
}

var answerHead = []string{"Role", "Who", "Node", "From (UTC)", "To (UTC)", "Sources", "Note"}

// cells are the columns of a row under answerHead.
func (h *holding) cells() []string {
	who := h.Pod
	switch {
	case h.Role == roleNobody:
		who = "nobody is known"
	case who == "":
		who = "node " + h.Node
	case h.UID != "":
		who += " (" + h.UID + ")"
	}
	var sources []string
	for i, s := range eachKindFirst(h.Sources) {
		if i == maxShownSources {
			sources = append(sources, fmt.Sprintf("%d more", len(h.Sources)-i))
			break
		}
		sources = append(sources, strings.TrimSpace(s.Kind+" "+s.Where))
	}
	var notes []string
	if h.Role != roleNobody {
		for _, n := range []string{h.Note, rangeNote(h.InRange), h.Primary} {
			if n != "" {
				notes = append(notes, n)
			}
		}
		if h.State == "disputed" {
			notes = append(notes, "disputed")
		}
	}
	to := moment(h.To)
	if h.To.IsZero() && !h.From.IsZero() {
		to = "(open)"
	}
	return []string{h.Role, who, h.Node, moment(h.From), to, strings.Join(sources, ", "), strings.Join(notes, "; ")}
}

// eachKindFirst puts the first record of each kind of source before the others.
func eachKindFirst(in []holdingSource) []holdingSource {
	var first, rest []holdingSource
	for _, s := range in {
		if slices.ContainsFunc(first, func(o holdingSource) bool { return o.Kind == s.Kind }) {
			rest = append(rest, s)
			continue
		}
		first = append(first, s)
	}
	return append(first, rest...)
}

func rangeNote(in string) string {
	if in == "no" {
		return "outside the node's pod range"
	}
	return ""
}

// remarks are what stands below the table.
func (a *addressAnswer) remarks() []string {
	var out []string
	for i := range a.rows {
		for _, c := range a.rows[i].Checked {
			out = append(out, "Looked at: "+c)
		}
	}
	return append(out, a.notes...)
}

func answerTerm(out io.Writer, a addressAnswer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s\n\n%s\n", a.title(), strings.ToUpper(strings.Join(answerHead, "\t")))
	for i := range a.rows {
		cells := a.rows[i].cells()
		for j := range cells {
			cells[j] = string(escape.Visible(cells[j]))
		}
		fmt.Fprintln(w, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, r := range a.remarks() {
		lead := ""
		if i == 0 {
			lead = "\n"
		}
		if _, err := fmt.Fprintf(out, "%s%s\n", lead, escape.Visible(r)); err != nil {
			return err
		}
	}
	return nil
}

// answerMarkdown writes one table, whose cells can't break out of it, and the
// remarks as a list.
func answerMarkdown(out io.Writer, a addressAnswer) error {
	w := bufio.NewWriter(out)
	w.WriteString("# " + string(escape.Text(a.title())) + "\n\n| " + strings.Join(answerHead, " | ") + " |\n" + strings.Repeat("|---", len(answerHead)) + "|\n")
	for i := range a.rows {
		for j, cell := range a.rows[i].cells() {
			md := escape.Text(cell)
			if cell != "" && (j == 1 || j == 2 || j == 5) {
				md = escape.Code(cell)
			}
			w.WriteString("| " + string(md) + " ")
		}
		w.WriteString("|\n")
	}
	for i, r := range a.remarks() {
		if i == 0 {
			w.WriteString("\n")
		}
		w.WriteString("- " + string(escape.Text(r)) + "\n")
	}
	return w.Flush()
}

var answerPage = template.Must(template.New("answer").Funcs(template.FuncMap{
	"shown": func(s string) string { return string(escape.Visible(s)) },
}).Parse(timelineHead + `<body>
<h1>{{shown .Title}}</h1>
<table>
<thead><tr>{{range .Head}}<th scope="col">{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{shown .}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
{{with .Remarks}}<ul>
{{range .}}<li>{{shown .}}</li>
{{end}}</ul>
{{end}}</body>
</html>
`))

// answerHTML writes a page that loads nothing.
func answerHTML(out io.Writer, a addressAnswer) error {
	w := bufio.NewWriter(out)
	var rows [][]string
	for i := range a.rows {
		rows = append(rows, a.rows[i].cells())
	}
	if err := answerPage.Execute(w, struct {
		Title   string
		Head    []string
		Rows    [][]string
		Remarks []string
	}{a.title(), answerHead, rows, a.remarks()}); err != nil {
		return err
	}
	return w.Flush()
}
