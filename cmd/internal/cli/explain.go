package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

type explainCmd struct {
	ID string `arg:"" optional:"" complete:"words ${causes}" help:"Id of a cause; without one the causes are listed."`
}

// Run prints the page of a cause.
func (c *explainCmd) Run(rt *session) error {
	if c.ID == "" {
		return (&rulesCmd{}).Run(rt)
	}
	r := rules.Lookup(c.ID)
	if r == nil {
		err := usagef("%q is no cause", c.ID)
		if near := nearest(c.ID, causeIDs()); near != "" {
			return err.try("%s explain %s", programName, near)
		}
		return err.try("%s rules lists the causes", programName)
	}
	return writeCause(rt.stdout, r)
}

func causeIDs() []string {
	var out []string
	for _, r := range rules.Rules() {
		out = append(out, r.ID)
	}
	return out
}

// writeCause writes the page of a cause in Markdown: the same text for a
// terminal and for docs/causes.
func writeCause(w io.Writer, r *rules.Rule) error {
	s := &scriptWriter{w: w}
	s.line("# %s", r.ID)
	s.line("\n%s (family `%s`).", upperFirst(r.Title), r.Family)
	s.line("\n%s", r.Definition)
	s.list("What it looks like", r.Notes)
	s.list("What must be seen", r.Needs)
	s.list("What speaks for it", r.Supports)
	s.list("What speaks against it", r.Contradicts)
	if len(r.LookAlikes) > 0 {
		s.line("\n## Look-alikes\n\n| cause | what tells them apart |\n|---|---|")
		for _, l := range r.LookAlikes {
			s.line("| [%s](%s.md) | %s |", l.ID, l.ID, cell(l.Discriminator))
		}
	}
	if len(r.Limits) > 0 {
		s.line("\n## How sure the tool can be\n\n| with these inputs | confidence at most |\n|---|---|")
		for _, l := range r.Limits {
			s.line("| %s | %.2f |", cell(l.Inputs), l.Max)
		}
	}
	if len(r.Thresholds) > 0 {
		s.line("\n## Thresholds\n\n| `--threshold` key | default | meaning |\n|---|---|---|")
		for _, t := range r.Thresholds {
			s.line("| `%s` | %s %s | %s |", r.Key(t), strconv.FormatFloat(t.Default, 'g', -1, 64), t.Unit, cell(t.Doc))
		}
	}
	var steps []string
	for _, id := range r.Recommend {
		steps = append(steps, rules.Recommendation(id))
	}
	s.list("What to do", steps)
	var collect []string
	for _, id := range r.Collect {
		m, _ := rules.MissingObservation(id)
		collect = append(collect, upperFirst(m.What)+" (settles: "+m.WouldSettle+"):\n  "+commands(m.HowToCollect))
	}
	s.list("What to collect", collect)
	if len(r.Explains) > 0 {
		s.line("\n## What it stands behind\n\nSeen together with it, these are its mechanism or its consequence: %s.", causeLinks(r.Explains))
	}
	s.list("Public reports of it", r.Precedents)
	return s.err
}

// list writes a section of sentences, nothing when there are none.
func (s *scriptWriter) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	s.line("\n## %s\n", title)
	for _, item := range items {
		s.line("- %s", item)
	}
}

// causeLinks links to the pages of causes, which lie beside each other.
func causeLinks(ids []string) string {
	links := make([]string, len(ids))
	for i, id := range ids {
		links[i] = fmt.Sprintf("[%s](%s.md)", id, id)
	}
	return strings.Join(links, ", ")
}

// commands sets each command of a list parted by "; " as code.
func commands(text string) string {
	return "`" + strings.ReplaceAll(text, "; ", "`, `") + "`"
}

// cell makes a text safe inside a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func upperFirst(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
