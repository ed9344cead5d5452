package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// Verdict is the whole case in one sentence that a manager can repeat.
func (c *Case) Verdict() string {
	switch n := len(c.Incidents); {
	case n == 0:
		return c.healthy()
	case n == 1:
		return c.Incidents[0].Sentence()
	default:
		all := c.All()
		where := "in " + Count(all.Pods, "pod", "pods")
		if all.Pods == 0 {
			where = "on " + Count(max(all.Nodes, 1), "node", "nodes")
		}
		return fmt.Sprintf("%s %s. The largest: %s", Count(n, "incident", "incidents"), where, c.Incidents[0].Sentence())
	}
}

// Title names the cause of an incident as a heading.
func (in *Incident) Title() string { return capital(cmp.Or(in.Cause.Title, in.Cause.ID)) }

// capital makes the first letter of a sentence a capital one.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// Sentence is the verdict of an incident.
func (in *Incident) Sentence() string {
	if in.Summary != "" {
		return in.Summary
	}
	who := List(in.Pods(), 2)
	if who == "" {
		who = in.Node
	}
	if in.Cause.ID == model.Inconclusive {
		return fmt.Sprintf("Probes of %s failed; the inputs do not show why.", who)
	}
	return fmt.Sprintf("Probes of %s failed: %s.", who, in.Cause.Title)
}

// healthy answers for a case without incidents: what was looked at and with
// what result, or that nothing could be looked at.
func (c *Case) healthy() string {
	t, ch := c.Res.Totals.Attempts, c.Res.Checked
	n := t.Success + t.Failure + t.Unknown
	if !c.Looked() {
		return "These inputs do not tell whether probes failed: they hold no kubelet log, no events and no packets of probes."
	}
	var where string
	if len(ch.Nodes) > 0 {
		where = " on " + Count(len(ch.Nodes), "node", "nodes")
	}
	var span string
	if !ch.From.IsZero() && !ch.To.IsZero() {
		span = fmt.Sprintf(" between %s and %s UTC", Instant(ch.From.Nanos), Instant(ch.To.Nanos))
	}
	switch {
	case t.Failure > 0:
		return fmt.Sprintf("No incident: %s failed in passing%s%s and none of them had a consequence worth a verdict.", Count(t.Failure, "probe attempt", "probe attempts"), where, span)
	case n > 0:
		return fmt.Sprintf("No failing probe was found%s%s: %s of %s were seen and none failed.", where, span, Count(n, "attempt", "attempts"), Count(ch.Probes, "probe", "probes"))
	default:
		return fmt.Sprintf("No failing probe was found%s%s; successful attempts leave no trace in these inputs.", where, span)
	}
}

// Looked reports whether anything could be checked at all.
func (c *Case) Looked() bool {
	t, ch := c.Res.Totals.Attempts, c.Res.Checked
	return t.Success+t.Failure+t.Unknown > 0 || ch.Probes > 0 || len(ch.Nodes) > 0
}

// Badge is the verdict in few words: the cause id, or "no incident".
func (c *Case) Badge() string {
	switch {
	case len(c.Incidents) > 0:
		return c.Incidents[0].Cause.ID
	case c.Looked():
		return "no incident"
	default:
		return "nothing to check"
	}
}

// Headline is the case in as few words as a title has: the cause, or how many
// incidents there are.
func (c *Case) Headline() string {
	if n := len(c.Incidents); n > 1 {
		return Count(n, "incident", "incidents")
	}
	return c.Badge()
}

// Basis explains in words what a time basis means, "" for recorded times.
func Basis(b string) string {
	if b == "" || b == "recorded" {
		return ""
	}
	words := map[string]string{
		"year-inferred": "the year was inferred", "zone-assumed": "the time zone was assumed", "date-inferred": "the date was inferred",
		"offset-applied": "a clock offset was applied", "overridden": "parts were given on the command line",
	}
	var out []string
	for part := range strings.SplitSeq(b, ",") {
		if w, ok := words[strings.TrimSpace(part)]; ok {
			out = append(out, w)
		} else {
			out = append(out, part)
		}
	}
	return List(out, len(out))
}

// Damage says what of the inputs was not read, "" when all was: files of no known
// format, and records that could not be used in those that have one.
func (c *Case) Damage() string {
	files, records := 0, int64(0)
	for _, in := range c.Res.Inputs {
		for _, s := range in.Streams {
			if s.Format == "" {
				files++
				continue
			}
			for _, p := range s.Problems {
				if p.Kind().Loses {
					records += max(p.Count, 1)
				}
			}
		}
	}
	var parts []string
	if files > 0 {
		parts = append(parts, Count(files, "file", "files")+" of no known format")
	}
	if records > 0 {
		parts = append(parts, Count(records, "record that could not be used", "records that could not be used"))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Not read: " + strings.Join(parts, ", ")
}

// RunnerUp is the strongest alternative, nil when none was considered.
func (in *Incident) RunnerUp() *model.Alternative {
	var best *model.Alternative
	for i := range in.Alternatives {
		if a := &in.Alternatives[i]; best == nil || a.Confidence > best.Confidence {
			best = a
		}
	}
	return best
}

// SubjectNames lists what an incident is about: the node, or its pods.
func SubjectNames(in *Incident, limit int) string {
	var names []string
	for _, s := range in.Subjects {
		if n := PodName(s); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if in.Scope != model.ScopePod && in.Node != "" {
		return "node " + in.Node
	}
	if len(names) == 0 {
		return in.Node
	}
	return List(names, limit)
}
