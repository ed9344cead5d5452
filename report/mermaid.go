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

// gantt draws the facts of an incident and returns the pods it drew. Times stand
// as UTC wall clock without a zone: Mermaid shows the times of day it is given,
// wherever the reader is. Mermaid writes the names of sections over the drawing
// where they are long, so pods are numbered.
func gantt(in *view.Incident, facts []view.Fact) (chart string, pods []string) {
	from, to := in.Span()
	if len(facts) == 0 || to <= from {
		return "", nil
	}
	for _, f := range facts {
		if f.Kind != view.KindRecord && f.Pod != "" && !slices.Contains(pods, f.Pod) {
			pods = append(pods, f.Pod)
		}
	}
	slices.Sort(pods)
	var b strings.Builder
	b.WriteString("gantt\n    dateFormat YYYY-MM-DDTHH:mm:ss.SSS\n    axisFormat %H:%M:%S\n")
	n := 0
	for i, pod := range append(slices.Clip(pods), "") {
		started := false
		for _, f := range facts {
			if f.Pod != pod || f.Kind == view.KindRecord || n == ganttRows {
				continue
			}
			if !started {
				started = true
				name := podLabel(i)
				switch {
				case pod == "":
					name = "others"
				case len(pods) == 1:
					name = "the pod"
				}
				b.WriteString("    section " + name + "\n")
			}
			n++
			b.WriteString(ganttRow(f, n, from, to))
		}
	}
	if n == 0 {
		return "", nil
	}
	return b.String(), pods
}

// podLabel names the i-th pod of a chart.
func podLabel(i int) string { return fmt.Sprintf("pod %d", i+1) }

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

// factLabel is a fact without what the record says: that is in the table.
func factLabel(f view.Fact) string { return strings.TrimSuffix(f.Text, ", first") }

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
