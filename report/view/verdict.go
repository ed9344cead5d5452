package view

import (
	"fmt"
	"slices"
	"strings"

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
		return fmt.Sprintf("%s, the largest first: %s", Count(n, "incident", "incidents"), c.Incidents[0].Sentence())
	}
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

// Problems counts the problem records of the inputs.
func (c *Case) Problems() int64 {
	var n int64
	for _, in := range c.Res.Inputs {
		for _, s := range in.Streams {
			for _, p := range s.Problems {
				n += max(p.Count, 1)
			}
		}
	}
	return n
}

// Unread lists the streams of which nothing could be used, by path.
func (c *Case) Unread() []*model.Stream {
	var out []*model.Stream
	for i := range c.Res.Inputs {
		for j := range c.Res.Inputs[i].Streams {
			if s := &c.Res.Inputs[i].Streams[j]; s.Format == "" {
				out = append(out, s)
			}
		}
	}
	return out
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

// Affected says whom an incident hit and how many attempts failed.
func Affected(in *Incident) string {
	var parts []string
	if n := len(in.Pods()); n > 0 {
		parts = append(parts, Count(n, "pod", "pods"))
	}
	if in.Scope != model.ScopePod && in.Node != "" {
		parts = append(parts, "node "+in.Node)
	}
	if n := len(in.Subjects); n > 0 {
		parts = append(parts, Count(n, "probe", "probes"))
	}
	s := strings.Join(parts, ", ")
	if in.FailedAttempts > 0 {
		s += "; " + Number(int64(in.FailedAttempts)) + " of " + Count(in.TotalAttempts, "attempt", "attempts") + " seen failed"
	} else if in.Trigger == model.TriggerNotProbed {
		s += "; no failed attempt: probes did not run"
	} else {
		s += "; no failed attempt was logged"
	}
	return strings.TrimPrefix(s, "; ")
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
