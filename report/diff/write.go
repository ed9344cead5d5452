package diff

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// WriteText writes the delta for people at a terminal.
func (d *Delta) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "note: %s\n", escape.Visible(n))
	}
	list := func(mark string, in Incident) {
		fmt.Fprintf(&b, "%s %s %s %s: %s\n", mark, escape.Visible(in.Cause), in.Word, view.Confidence(in.Confidence), escape.Visible(in.Sentence))
	}
	for _, in := range d.New {
		list("new    ", in)
	}
	for _, in := range d.Gone {
		list("gone   ", in)
	}
	for _, c := range d.Changed {
		list("changed", c.After)
		for _, what := range c.What {
			switch what {
			case "cause":
				fmt.Fprintf(&b, "          cause: %s, now %s\n", escape.Visible(c.Before.Cause), escape.Visible(c.After.Cause))
			case "confidence":
				fmt.Fprintf(&b, "          confidence: %s %s, now %s %s\n", c.Before.Word, view.Confidence(c.Before.Confidence), c.After.Word, view.Confidence(c.After.Confidence))
			default:
				fmt.Fprintf(&b, "          failed attempts: %d, now %d\n", c.Before.FailedAttempts, c.After.FailedAttempts)
			}
		}
	}
	fmt.Fprintf(&b, "%s\n", d.counts())
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *Delta) counts() string {
	return fmt.Sprintf("%s new, %s gone, %s changed, %s the same", view.Number(int64(len(d.New))), view.Number(int64(len(d.Gone))), view.Number(int64(len(d.Changed))), view.Number(int64(d.Same)))
}

// WriteJSON writes the delta for programs. Characters that a terminal would obey
// stand as \u escapes.
func (d *Delta) WriteJSON(w io.Writer) error {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(escape.JSON(b), '\n'))
	return err
}

// WriteMarkdown writes the delta for a ticket: what changed first, in tables.
func (d *Delta) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# What changed between two reports\n\n" + string(escape.Bold(escape.Text(d.counts()+"."))) + "\n")
	for i, n := range d.Notes {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- Note: " + string(escape.Text(n)) + "\n")
	}
	for _, part := range []struct {
		title string
		list  []Incident
	}{{"New", d.New}, {"Gone", d.Gone}} {
		var rows [][]escape.MD
		for _, in := range part.list {
			rows = append(rows, []escape.MD{escape.Code(in.Cause), confidence(in), subjects(in), escape.Text(view.Number(int64(in.FailedAttempts))), escape.Text(instant(in.First)), escape.Text(in.Sentence)})
		}
		table(&b, part.title, []escape.MD{"Cause", "Confidence", "Subjects", "Failed attempts", "First (UTC)", "Verdict"}, rows)
	}
	var rows [][]escape.MD
	for _, c := range d.Changed {
		rows = append(rows, []escape.MD{subjects(c.After), was(c, "cause", escape.Code(c.Before.Cause), escape.Code(c.After.Cause)),
			was(c, "confidence", confidence(c.Before), confidence(c.After)),
			was(c, "failed_attempts", escape.Text(view.Number(int64(c.Before.FailedAttempts))), escape.Text(view.Number(int64(c.After.FailedAttempts)))),
			escape.Text(c.After.Sentence)})
	}
	table(&b, "Changed", []escape.MD{"Subjects", "Cause", "Confidence", "Failed attempts", "Verdict now"}, rows)
	_, err := io.WriteString(w, b.String())
	return err
}

// was shows a field of both sides, once where it is the same.
func was(c Change, what string, before, after escape.MD) escape.MD {
	if !slices.Contains(c.What, what) {
		return after
	}
	return before + ", now " + after
}

func confidence(in Incident) escape.MD {
	return escape.Text(in.Word + " " + view.Confidence(in.Confidence))
}

// instant shortens RFC 3339 to what tables of reports show.
func instant(t string) string {
	if n := len("2006-01-02T15:04:05.000"); len(t) >= n {
		t = t[:n]
	}
	return strings.Replace(t, "T", " ", 1)
}

// shownSubjects is how many pods of an incident a row names.
const shownSubjects = 3

func subjects(in Incident) escape.MD {
	var out []escape.MD
	for i, s := range in.Subjects {
		if i == shownSubjects {
			out = append(out, escape.Text(view.Number(int64(len(in.Subjects)-i))+" more"))
			break
		}
		out = append(out, escape.Code(s))
	}
	return escape.Join(out, ", ")
}

func table(b *strings.Builder, title string, head []escape.MD, rows [][]escape.MD) {
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n## " + title + "\n\n| " + string(escape.Join(head, " | ")) + " |\n|" + strings.Repeat("---|", len(head)) + "\n")
	for _, r := range rows {
		for _, cell := range r {
			b.WriteString("| " + string(cell) + " ")
		}
		b.WriteString("|\n")
	}
}
