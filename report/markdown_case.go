package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// checked says what was looked at: the answer where nothing failed, the limits
// of the answer where something did.
func (m *markdown) checked(d *mdDoc) {
	res := m.Res
	d.heading(2, "What was checked")
	t := res.Totals
	items := []escape.MD{
		escape.Text(fmt.Sprintf("%s, %s, %s", view.Count(t.Lines, "log line", "log lines"), view.Count(t.Packets, "packet", "packets"), view.Count(t.Pods, "pod", "pods"))),
		escape.Text(fmt.Sprintf("%s: %s succeeded, %s failed, %s of unknown result", view.Count(t.Attempts.Success+t.Attempts.Failure+t.Attempts.Unknown, "probe attempt", "probe attempts"),
			view.Number(int64(t.Attempts.Success)), view.Number(int64(t.Attempts.Failure)), view.Number(int64(t.Attempts.Unknown)))),
	}
	if len(res.Checked.Nodes) > 0 {
		items = append(items, escape.Text(view.Count(len(res.Checked.Nodes), "node", "nodes"))+": "+codes(res.Checked.Nodes, 20))
	}
	d.list(items)
	if len(m.Incidents) == 0 {
		m.probes(d)
	} else {
		d.details("Probes", m.probes)
	}
	if len(res.Checked.CouldNot) > 0 {
		d.para("What could not be checked:")
		d.list(texts(res.Checked.CouldNot))
	}
}

func (m *markdown) probes(d *mdDoc) {
	var rows [][]escape.MD
	n := 0
	for _, p := range m.Res.Pods {
		for _, pr := range p.Probes {
			if n++; n > m.limits.probes {
				continue
			}
			rows = append(rows, []escape.MD{escape.Code(p.Namespace + "/" + p.Pod), escape.Text(pr.Container), escape.Text(pr.Probe), escape.Text(view.Target(pr.Target)), escape.Text(view.ProbeSettings(pr)),
				escape.Text(view.Number(int64(pr.Attempts))), escape.Text(view.Number(int64(pr.Failed)))})
		}
	}
	d.table([]escape.MD{"Pod", "Container", "Probe", "Target", "Settings", "Attempts seen", "Failed"}, rows)
	d.rest(n-len(rows), "probe", "probes")
}

// addresses says where sources contradict each other about whose an address is.
func (m *markdown) addresses(d *mdDoc) {
	d.heading(2, "Addresses on which sources disagree")
	found, lagged := m.Disputes(false), m.Disputes(true)
	if len(found) == 0 {
		d.para("Only copies that stayed behind the runtime for as long as copies do: nothing is wrong with that.")
	}
	m.disputes(d, found)
	if len(lagged) > 0 {
		d.details("Copies that lagged as usual", func(d *mdDoc) { m.disputes(d, lagged) })
	}
}

func (m *markdown) disputes(d *mdDoc, list []view.AddressDispute) {
	if len(list) == 0 {
		return
	}
	var rows [][]escape.MD
	for _, x := range list[:min(len(list), m.limits.disputes)] {
		var claims []escape.MD
		for _, c := range x.Claims {
			claims = append(claims, escape.Text(c.Text)+m.cite(model.Ref{}, c.Refs))
		}
		rows = append(rows, []escape.MD{escape.Text(x.When), escape.Text(x.What), escape.Join(claims, "; against "), escape.Text(x.Why)})
	}
	d.table([]escape.MD{"When (UTC)", "What", "Claims", "Which holds, and why"}, rows)
	d.rest(len(list)-len(rows), "disagreement", "disagreements")
}

// clock says which clocks differ from that of the kubelet. Those that agree are
// counted, and listed where nobody has to read them.
func (m *markdown) clock(d *mdDoc) {
	if len(m.Res.Clock) == 0 {
		return
	}
	d.heading(2, "Clocks")
	d.para("Times are by the kubelet's clock of each node, in UTC. ", escape.Text(view.ClockSummary(m.Res.Clock)))
	var differ []model.Clock
	for _, c := range m.Res.Clock {
		if view.Notable(c) {
			differ = append(differ, c)
		}
	}
	m.clocks(d, differ)
	if m.limits.streams > 0 && len(differ) < len(m.Res.Clock) {
		d.details("All clocks", func(d *mdDoc) { m.clocks(d, m.Res.Clock) })
	}
}

func (m *markdown) clocks(d *mdDoc, list []model.Clock) {
	var rows [][]escape.MD
	for _, c := range list {
		applied := escape.MD("no")
		if c.Applied {
			applied = "yes"
		}
		offset, uncertainty := view.ClockOffset(c)
		rows = append(rows, []escape.MD{escape.Code(c.Node), escape.Code(m.SourceName(c.Source)), escape.Text(offset), escape.Text(uncertainty),
			escape.Text(c.Method), escape.Text(view.Number(int64(c.Anchors))), applied, escape.Text(view.ClockNote(c))})
	}
	d.table([]escape.MD{"Node", "Clock of", "Offset", "Uncertainty", "Method", "Anchors", "Applied", "Note"}, rows)
}

// inputs lists what was read. A summary has them in its head, unless they are
// many.
func (m *markdown) inputs(d *mdDoc) {
	if m.limits.streams == 0 && len(m.Res.Inputs) <= headInputs {
		return
	}
	d.heading(2, "Inputs")
	var rows [][]escape.MD
	for _, in := range m.Res.Inputs {
		rows = append(rows, []escape.MD{escape.Code(in.Path), escape.Text(view.Bytes(in.Bytes)), escape.Code(in.SHA256), escape.Text(view.Number(int64(len(in.Streams))))})
	}
	d.table([]escape.MD{"Input", "Size", "sha256", "Streams"}, rows)
	if m.limits.streams > 0 {
		d.details("Streams", m.streams)
	}
}

func (m *markdown) streams(d *mdDoc) {
	var all []*model.Stream
	unused := 0
	for i := range m.Res.Inputs {
		for j := range m.Res.Inputs[i].Streams {
			s := &m.Res.Inputs[i].Streams[j]
			if s.Kept == 0 && len(s.Problems) == 0 {
				unused++
				continue
			}
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *model.Stream) int { return cmp.Compare(a.ID, b.ID) })
	var rows [][]escape.MD
	for i, s := range all {
		if i == m.limits.streams {
			break
		}
		format := escape.Text(s.Format)
		if s.CapturePoint != "" {
			format += " at " + escape.Text(s.CapturePoint)
		}
		if s.Format == "" {
			format = "not read"
		}
		rows = append(rows, []escape.MD{escape.Code(s.Path), format, escape.Code(s.Node), escape.Text(view.Number(s.Records)), escape.Text(view.Number(s.Kept)),
			when(s.First), when(s.Last)})
	}
	d.table([]escape.MD{"Path", "Format", "Node", "Records", "Kept", "First (UTC)", "Last (UTC)"}, rows)
	d.rest(len(all)-len(rows), "stream", "streams")
	if unused > 0 {
		d.para(escape.Text(view.Count(unused, "stream", "streams")), " held nothing about probes.")
	}
}

func when(t model.Time) escape.MD {
	if t.IsZero() {
		return ""
	}
	return escape.Text(view.Instant(t.Nanos))
}

func (m *markdown) problems(d *mdDoc) {
	var rows [][]escape.MD
	var total, n int64
	var remedies []escape.MD
	seen := map[string]bool{}
	for _, in := range m.Res.Inputs {
		for _, s := range in.Streams {
			for _, p := range s.Problems {
				kind := p.Kind()
				if kind.Loses {
					total += max(p.Count, 1)
				}
				n++
				if kind.Try != "" && !seen[p.Code] {
					remedies = append(remedies, escape.Text(p.Code+": "+kind.Try))
				}
				seen[p.Code] = true
				if len(rows) == m.limits.problems {
					continue
				}
				rows = append(rows, []escape.MD{escape.Code(s.Path + p.Place()), escape.Text(p.Code), escape.Text(view.Number(max(p.Count, 1))), escape.Code(string(escape.Cut(p.Message, 200)))})
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	d.heading(2, "Problems in the inputs")
	d.para(escape.Text(view.Count(total, "record could", "records could")), " not be used as they are; the first place of each kind:")
	d.table([]escape.MD{"Place", "Code", "Count", "What"}, rows)
	d.rest(int(n)-len(rows), "kind", "kinds")
	d.para("What to do:")
	d.list(remedies)
}
