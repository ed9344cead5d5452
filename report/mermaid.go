package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// Limits of a diagram: forges refuse texts above 50,000 characters, and nobody
// reads more than this many rows.
const (
	ganttRows    = 60
	ganttLabel   = 60
	sequenceRows = 40
)

// gantt draws the facts of an incident. Times stand as UTC wall clock without a
// zone: Mermaid shows the times of day it is given, wherever the reader is.
func gantt(in *view.Incident, facts []view.Fact) string {
	from, to := in.Span()
	if len(facts) == 0 || to <= from {
		return ""
	}
	var pods []string
	for _, f := range facts {
		if f.Kind != view.KindSign && !slices.Contains(pods, f.Pod) {
			pods = append(pods, f.Pod)
		}
	}
	slices.Sort(pods)
	var b strings.Builder
	b.WriteString("gantt\n    dateFormat YYYY-MM-DDTHH:mm:ss.SSS\n    axisFormat %H:%M:%S\n")
	n := 0
	for _, pod := range pods {
		started := false
		for _, f := range facts {
			if f.Pod != pod || f.Kind == view.KindSign || n == ganttRows {
				continue
			}
			if !started {
				name := pod
				if name == "" {
					name = "effects"
				}
				fmt.Fprintf(&b, "    section %s\n", escape.Label(name, ganttLabel))
				started = true
			}
			n++
			b.WriteString(ganttRow(f, n, from, to))
		}
	}
	if n == 0 {
		return ""
	}
	return b.String()
}

// ganttRow draws one fact, cut to the span. A moment is drawn as a milestone.
func ganttRow(f view.Fact, n int, from, to event.Nanos) string {
	start, end := max(f.At, from), min(max(f.Until, f.At), to)
	label := escape.Label(factLabel(f), ganttLabel)
	tag := ""
	switch f.Kind {
	case view.KindFailed:
		tag = "crit, "
	case view.KindIP, view.KindSandbox:
		tag = "done, "
	case view.KindRun:
		tag = "active, "
	}
	if f.Until == 0 || end <= start {
		return fmt.Sprintf("    %s :milestone, %sm%d, %s, 0ms\n", label, strings.Replace(tag, "active, ", "", 1), n, ganttTime(start))
	}
	return fmt.Sprintf("    %s :%sm%d, %s, %s\n", label, tag, n, ganttTime(start), ganttTime(end))
}

func factLabel(f view.Fact) string {
	// The output of a probe is in the table; here it would only be cut.
	head, _, _ := strings.Cut(f.Text, ", first: ")
	if f.Kind == view.KindFailed {
		head, _, _ = strings.Cut(head, ": ")
	}
	return head
}

func ganttTime(n event.Nanos) string { return n.Time().Format("2006-01-02T15:04:05.000") }

// sequence draws the packets of an attempt.
func sequence(e *view.Exchange) string {
	if e == nil || len(e.Steps) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	fmt.Fprintf(&b, "    participant C as %s\n    participant S as %s\n", escape.Label(e.Client, 60), escape.Label(e.Server, 60))
	if slices.ContainsFunc(e.Steps, func(s view.Step) bool { return s.From == view.Network }) {
		b.WriteString("    participant N as network\n")
	}
	for i, s := range e.Steps {
		if i == sequenceRows {
			fmt.Fprintf(&b, "    Note over C,S: %d more packets\n", len(e.Steps)-i)
			break
		}
		if s.From == view.Kubelet {
			fmt.Fprintf(&b, "    Note left of C: %s, after %s\n", escape.Label(s.Text, 100), view.Duration(s.After))
			continue
		}
		label := s.Text
		if s.Packet > 0 {
			label += fmt.Sprintf(", frame %d", s.Packet)
		}
		if s.After > 0 {
			label += ", after " + view.Duration(s.After)
		}
		fmt.Fprintf(&b, "    %s: %s\n", arrow(s), escape.Label(label, 100))
	}
	if e.Silent() {
		b.WriteString("    Note over C,S: no answer in this capture\n")
	}
	return b.String()
}

func arrow(s view.Step) string {
	switch {
	case s.From == view.Network:
		return "N--xC"
	case s.From == view.Server && s.Refusal:
		return "S--xC"
	case s.From == view.Server:
		return "S-->>C"
	case s.Unanswered:
		return "C-xS"
	default:
		return "C->>S"
	}
}
