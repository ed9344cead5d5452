package fleet

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// shownRows bounds the tables for people; fleet.json has all rows.
const shownRows = 20

// section is a table of the report for people.
type section struct {
	title, note string
	head        []string
	rows        [][]string
	more        int // rows left out
}

// WriteJSON writes fleet.json.
func (r *Report) WriteJSON(w io.Writer) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return err
	}
	_, err := w.Write(escape.JSON([]byte(b.String())))
	return err
}

// Headline is the report in one sentence.
func (r *Report) Headline() string {
	s := fmt.Sprintf("%s in %s", view.Count(r.Incidents, "incident", "incidents"), view.Count(r.Cases, "case", "cases"))
	if len(r.Causes) > 0 {
		s += fmt.Sprintf("; most often %s (%d)", r.Causes[0].Name, r.Causes[0].Incidents)
	}
	if len(r.New) > 0 {
		s += fmt.Sprintf("; %s since %s", view.Count(len(r.New), "new signature", "new signatures"), view.Instant(r.Since.Nanos))
	}
	if len(r.Failed) > 0 {
		s += fmt.Sprintf("; %s without a report", view.Count(len(r.Failed), "bundle", "bundles"))
	}
	return s
}

// facts are the numbers over everything.
func (r *Report) facts() [][2]string {
	out := [][2]string{
		{"cases", fmt.Sprintf("%s, %s without an incident", view.Number(int64(r.Cases)), view.Number(int64(r.Healthy)))},
		{"incidents", fmt.Sprintf("%s, %s failed attempts", view.Number(int64(r.Incidents)), view.Number(int64(r.FailedAttempts)))},
	}
	if !r.From.IsZero() {
		out = append(out, [2]string{"from, to (UTC)", view.Instant(r.From.Nanos) + " to " + view.Instant(r.To.Nanos)})
	}
	if r.Repeated > 0 {
		out = append(out, [2]string{"left out", view.Count(r.Repeated, "report", "reports") + " of a bundle that has a later one"})
	}
	for _, v := range r.Versions {
		out = append(out, [2]string{"made with", fmt.Sprintf("version %s, rules %s: %s", v.Version, v.RulesHash, view.Count(v.Cases, "case", "cases"))})
	}
	if len(r.Versions) > 1 {
		out = append(out, [2]string{"note", "the cases were judged by different versions or rules: differences may be theirs"})
	}
	return out
}

// sections are the tables, the most useful first.
func (r *Report) sections() []section {
	var out []section
	add := func(s section) {
		if len(s.rows) == 0 {
			return
		}
		if n := len(s.rows); n > shownRows {
			s.rows, s.more = s.rows[:shownRows], n-shownRows
		}
		out = append(out, s)
	}
	if !r.Since.IsZero() {
		s := signatureTable("New since "+view.Instant(r.Since.Nanos), "Causes on workloads that no earlier incident had.", r.New)
		if len(r.New) == 0 {
			s.rows = [][]string{{"none", "", "", "", "", ""}}
		}
		add(s)
	}
	causes := section{title: "Causes", head: []string{"cause", "", "incidents", "failed attempts", "cases", "first", "last"}}
	for _, g := range r.Causes {
		causes.rows = append(causes.rows, append([]string{g.Name, g.Title}, numbers(g)...))
	}
	add(causes)
	add(signatureTable("Recurring", "The same cause on the same workload, more than once.", r.Recurring))
	for _, t := range []struct {
		title, name string
		groups      []Group
	}{{"By cluster", "cluster", r.Clusters}, {"By node", "node", r.Nodes}, {"By namespace", "namespace", r.Namespaces}, {"By owner", "owner", r.Owners}} {
		s := section{title: t.title, head: []string{t.name, "causes", "incidents", "failed attempts", "cases", "first", "last"}}
		for _, g := range t.groups {
			s.rows = append(s.rows, append([]string{g.Name, causeList(g.Causes)}, numbers(g)...))
		}
		add(s)
	}
	failed := section{title: "Bundles without a report", head: []string{"bundle", "reason"}}
	for _, f := range r.Failed {
		reason := strings.Join(strings.Fields(f.Reason), " ")
		failed.rows = append(failed.rows, []string{f.Bundle, string(escape.Cut(reason, 200))})
	}
	add(failed)
	return out
}

func numbers(g Group) []string {
	return []string{view.Number(int64(g.Incidents)), view.Number(int64(g.FailedAttempts)), view.Number(int64(g.Cases)),
		view.Instant(g.First.Nanos), view.Instant(g.Last.Nanos)}
}

// causeList names the most frequent causes of a group.
func causeList(causes []CauseCount) string {
	var words []string
	for _, c := range causes {
		words = append(words, fmt.Sprintf("%s %d", c.Cause, c.Incidents))
	}
	return view.List(words, 3)
}

func signatureTable(title, note string, list []Signature) section {
	s := section{title: title, note: note, head: []string{"cause", "workload", "nodes", "incidents", "first, last", "latest"}}
	for _, x := range list {
		s.rows = append(s.rows, []string{x.Cause + " " + view.Confidence(x.Confidence), view.List(x.Owners, 3), view.List(x.Nodes, 3),
			fmt.Sprintf("%s in %s", view.Number(int64(x.Incidents)), view.Count(len(x.Cases)+x.MoreCases, "case", "cases")),
			view.Instant(x.First.Nanos) + ", " + view.Instant(x.Last.Nanos), x.Summary})
	}
	return s
}

// WriteMarkdown writes fleet.md.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Probe forensics: %s\n\n", escape.Text(r.Headline()))
	table(&b, []string{"", ""}, pairs(r.facts()))
	if len(r.Days) > 0 {
		b.WriteString("\n## By day\n\n")
		var rows [][]string
		for _, d := range r.Days {
			rows = append(rows, []string{d.Name, view.Number(int64(d.Incidents)), view.Number(int64(d.FailedAttempts)), causeList(d.Causes)})
		}
		if n := len(rows); n > 2*shownRows {
			fmt.Fprintf(&b, "The last %d of %d days.\n\n", 2*shownRows, n)
			rows = rows[n-2*shownRows:]
		}
		table(&b, []string{"day (UTC)", "incidents", "failed attempts", "causes"}, rows)
	}
	for _, s := range r.sections() {
		fmt.Fprintf(&b, "\n## %s\n\n", escape.Text(s.title))
		if s.note != "" {
			fmt.Fprintf(&b, "%s\n\n", escape.Text(s.note))
		}
		table(&b, s.head, s.rows)
		if s.more > 0 {
			fmt.Fprintf(&b, "\n%s more in fleet.json.\n", view.Number(int64(s.more)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func pairs(facts [][2]string) [][]string {
	out := make([][]string, len(facts))
	for i, f := range facts {
		out[i] = f[:]
	}
	return out
}

func table(b *strings.Builder, head []string, rows [][]string) {
	row := func(cells []string) {
		b.WriteByte('|')
		for _, c := range cells {
			fmt.Fprintf(b, " %s |", escape.Text(c))
		}
		b.WriteByte('\n')
	}
	row(head)
	b.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, r := range rows {
		row(r)
	}
}

// WriteText writes the headline and the first tables for a terminal.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", escape.Visible(r.Headline()))
	list := func(title string, groups []Group) {
		if len(groups) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s\n", title)
		for i, g := range groups {
			if i == 10 {
				fmt.Fprintf(&b, "  and %d more\n", len(groups)-i)
				break
			}
			fmt.Fprintf(&b, "  %6s  %s\n", view.Number(int64(g.Incidents)), escape.Visible(g.Name))
		}
	}
	list("Causes", r.Causes)
	list("Nodes", r.Nodes)
	list("Workloads", r.Owners)
	if len(r.New) > 0 {
		fmt.Fprintf(&b, "\nNew since %s\n", view.Instant(r.Since.Nanos))
		for i, s := range r.New {
			if i == 10 {
				fmt.Fprintf(&b, "  and %d more\n", len(r.New)-i)
				break
			}
			fmt.Fprintf(&b, "  %6s  %s on %s\n", view.Number(int64(s.Incidents)), escape.Visible(s.Cause), escape.Visible(view.List(append(s.Owners, s.Nodes...), 2)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
