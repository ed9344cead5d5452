package report

import (
	"fmt"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// htmlCaseTables fills the parts of the page that concern the whole case.
func htmlCaseTables(c *view.Case, p *htmlCase) {
	res := c.Res
	t := res.Totals
	p.Checked = []string{
		fmt.Sprintf("%s, %s, %s", view.Count(t.Lines, "log line", "log lines"), view.Count(t.Packets, "packet", "packets"), view.Count(t.Pods, "pod", "pods")),
		fmt.Sprintf("%s: %s succeeded, %s failed, %s of unknown result", view.Count(t.Attempts.Success+t.Attempts.Failure+t.Attempts.Unknown, "probe attempt", "probe attempts"),
			view.Number(int64(t.Attempts.Success)), view.Number(int64(t.Attempts.Failure)), view.Number(int64(t.Attempts.Unknown))),
	}
	p.Probes = columns("Probes", "`Pod", "Container", "Probe", "Target", "Settings", "Attempts seen", "Failed")
	for _, pod := range res.Pods {
		for _, pr := range pod.Probes {
			p.Probes.add(pod.Namespace+"/"+pod.Pod, pr.Container, pr.Probe, view.Target(pr.Target), view.ProbeSettings(pr), view.Number(int64(pr.Attempts)), view.Number(int64(pr.Failed)))
		}
	}
	p.Addresses = disputeTable(c, "Addresses on which sources disagree", c.Disputes(false))
	p.Lagged = disputeTable(c, "Copies of addresses that lagged as usual", c.Disputes(true))
	if len(res.Clock) > 0 {
		p.ClockNote = view.ClockSummary(res.Clock)
	}
	p.Clocks = columns("Clocks compared with the kubelet's", "`Node", "`Clock of", "Offset", "Uncertainty", "Method", "Anchors", "Applied", "Note")
	for _, k := range res.Clock {
		applied := "no"
		if k.Applied {
			applied = "yes"
		}
		offset, uncertainty := view.ClockOffset(k)
		p.Clocks.add(k.Node, c.SourceName(k.Source), offset, uncertainty, k.Method, view.Number(int64(k.Anchors)), applied, view.ClockNote(k))
	}
	p.Inputs = columns("Inputs", "`Input", "Size", "`sha256", "Streams")
	p.Streams = columns("Streams that held something", "`Path", "Format", "`Node", "Records", "Kept", "@First (UTC)", "@Last (UTC)")
	p.Problems = columns("Problems in the inputs", "`Place", "Code", "Count", "What", "What to do")
	for _, in := range res.Inputs {
		p.Inputs.add(in.Path, view.Bytes(in.Bytes), in.SHA256, view.Number(int64(len(in.Streams))))
		for i := range in.Streams {
			s := &in.Streams[i]
			if s.Kept > 0 || len(s.Problems) > 0 {
				p.Streams.add(s.Path, formatOf(s), s.Node, view.Number(s.Records), view.Number(s.Kept), timeText(s.First), timeText(s.Last))
			}
			for _, x := range s.Problems {
				p.Problems.add(s.Path+x.Place(), x.Code, view.Number(max(x.Count, 1)), x.Message, x.Kind().Try)
			}
		}
	}
}

func disputeTable(c *view.Case, caption string, list []view.AddressDispute) htmlTable {
	t := columns(caption, "When (UTC)", "What", "Claims", "Which holds, and why")
	for _, x := range list {
		var claims []string
		for _, k := range x.Claims {
			var refs []string
			for _, r := range k.Refs {
				refs = append(refs, c.Ref(r))
			}
			if len(refs) > 0 {
				k.Text += " (" + strings.Join(refs, ", ") + ")"
			}
			claims = append(claims, k.Text)
		}
		t.add(x.When, x.What, strings.Join(claims, "; against "), x.Why)
	}
	return t
}

func formatOf(s *model.Stream) string {
	switch {
	case s.Format == "":
		return "not read"
	case s.CapturePoint != "":
		return s.Format + " at " + s.CapturePoint
	default:
		return s.Format
	}
}

func timeText(t model.Time) string {
	if t.IsZero() {
		return ""
	}
	return view.Instant(t.Nanos)
}
