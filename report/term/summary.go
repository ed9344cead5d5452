package term

import (
	"strings"

	"github.com/charmbracelet/lipgloss"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

func (p *printer) write(c *view.Case) {
	p.headline(c)
	if len(c.Incidents) > 0 {
		in := c.Incidents[0]
		p.facts(c, in)
		p.reasons(c, in)
		p.sparkline(in)
		p.incidents(c)
	} else {
		p.limits(c)
	}
	p.footer(c)
}

// headline is the badge, the confidence and the verdict.
func (p *printer) headline(c *view.Case) {
	badge := p.style.NewStyle().Bold(true).Padding(0, 1).Foreground(lipgloss.ANSIColor(15))
	confidence := ""
	switch {
	case len(c.Incidents) == 0 && c.Looked():
		badge = badge.Background(lipgloss.ANSIColor(2))
	case len(c.Incidents) == 0:
		badge = badge.Background(lipgloss.ANSIColor(5))
	default:
		cause := c.Incidents[0].Cause
		confidence = cause.Word + " " + view.Confidence(cause.Confidence)
		switch cause.Word {
		case model.Confirmed, model.Probable:
			badge = badge.Background(lipgloss.ANSIColor(1))
		case model.Possible:
			badge = badge.Background(lipgloss.ANSIColor(3)).Foreground(lipgloss.ANSIColor(0))
		default:
			badge = badge.Background(lipgloss.ANSIColor(5))
		}
	}
	name := p.text(c.Badge())
	if p.style.ColorProfile() != asciiProfile {
		name = badge.Render(name)
	} else {
		name = "[" + name + "]"
	}
	p.line(name, " ", p.text(confidence))
	p.wrapped("", p.text(c.Verdict()), p.bold)
}

// facts is when it was and whom it hit.
func (p *printer) facts(c *view.Case, in *view.Incident) {
	if len(c.Incidents) > 1 {
		all := c.All()
		p.wrapped("", p.text("All: "+all.Whom()+"; UTC "+all.When()), p.faint)
		p.wrapped("", p.text("The largest: "+view.Affected(in)+"; UTC "+view.Window(in)), p.faint)
		return
	}
	if !in.Window.First.IsZero() {
		p.wrapped("", p.text("UTC "+view.Window(in)), p.faint)
	}
	p.wrapped("", p.text(view.Affected(in)), p.faint)
}

// reasons are the weightiest pieces of evidence, what speaks against, and what
// is missing.
func (p *printer) reasons(c *view.Case, in *view.Incident) {
	type reason struct {
		mark  string
		style lipgloss.Style
		text  string
		ref   string
	}
	var list []reason
	for _, e := range in.By(model.RoleFor) {
		list = append(list, reason{"+", p.good, e.Claim, c.Ref(e.Ref)})
	}
	list = list[:min(len(list), reasons-1)]
	for _, e := range in.By(model.RoleAgainst) {
		if len(list) < reasons {
			list = append(list, reason{"-", p.failed, e.Claim, c.Ref(e.Ref)})
		}
	}
	for _, m := range in.Missing {
		if len(list) < reasons {
			list = append(list, reason{"?", p.caution, "missing: " + m.What, ""})
		}
	}
	for _, e := range in.By(model.RoleContext) {
		if len(list) < 3 {
			list = append(list, reason{"=", p.faint, e.Claim, c.Ref(e.Ref)})
		}
	}
	if len(list) == 0 {
		return
	}
	p.line()
	p.line(p.bold.Render("Why"))
	for _, r := range list {
		text := p.text(string(escape.Cut(strings.TrimRight(r.text, "."), reasonLength)))
		if r.ref != "" {
			text += " (" + p.text(r.ref) + ")"
		}
		p.wrapped("  "+r.style.Render(r.mark)+" ", text, p.style.NewStyle())
	}
}

// limits stands in for reasons where nothing failed.
func (p *printer) limits(c *view.Case) {
	could := c.Res.Checked.CouldNot
	if len(could) == 0 {
		return
	}
	p.line()
	p.line(p.bold.Render("Could not be checked"))
	for i, s := range could {
		if i == reasons {
			p.line("  ", view.Count(len(could)-i, "more", "more"))
			break
		}
		p.wrapped("  "+p.caution.Render("?")+" ", p.text(s), p.style.NewStyle())
	}
}

// sparkline shows the attempts of an incident along its span: each column a
// slice of time, as high as the share of its attempts that failed.
func (p *printer) sparkline(in *view.Incident) {
	if len(in.Attempts) < 2 {
		return
	}
	width := 60
	if p.width > 0 {
		width = min(width, p.width-4)
	}
	from, to := in.Span()
	failed, all := make([]int64, width), make([]int64, width)
	for _, a := range in.Attempts {
		at := a.Start
		if at == 0 {
			at = a.End
		}
		i := int(float64(at.Sub(from)) / float64(max(to.Sub(from), 1)) * float64(width))
		i = min(max(i, 0), width-1)
		all[i] += max(a.Count, 1)
		if view.Failed(a) {
			failed[i] += max(a.Count, 1)
		}
	}
	ticks := []string{"x"}
	good := "."
	if p.o.Unicode {
		ticks = []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
		good = "·"
	}
	var b strings.Builder
	for i := range width {
		switch {
		case all[i] == 0:
			b.WriteByte(' ')
		case failed[i] == 0:
			b.WriteString(p.good.Render(good))
		default:
			b.WriteString(p.failed.Render(ticks[(failed[i]*int64(len(ticks))-1)/all[i]]))
		}
	}
	p.line()
	p.line(p.bold.Render("Attempts"))
	p.line("  ", b.String())
	p.wrapped("  ", ticks[len(ticks)-1]+" failed, "+good+" succeeded; "+view.Clock(from)+" to "+view.Clock(to)+" UTC", p.faint)
}

// incidents is the table of all incidents, where there are several.
func (p *printer) incidents(c *view.Case) {
	if len(c.Incidents) < 2 {
		return
	}
	head := []string{"#", "cause", "confidence", "subject", "failed", "first (UTC)"}
	rows := [][]string{head}
	for i, in := range c.Incidents {
		if i == incidentRows {
			break
		}
		rows = append(rows, []string{view.Number(int64(in.Number)), p.text(in.Cause.ID), in.Cause.Word + " " + view.Confidence(in.Cause.Confidence),
			p.text(view.SubjectNames(in, 1)), view.Number(int64(in.FailedAttempts)), view.Instant(in.Window.First.Nanos)})
	}
	widths := make([]int, len(head))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	columns := len(head)
	if p.width > 0 {
		columns = p.shrink(widths)
	}
	p.line()
	p.line(p.bold.Render("All incidents"))
	for n, r := range rows {
		cells := make([]string, columns)
		for i := range cells {
			cells[i] = fit(r[i], widths[i])
		}
		text := strings.TrimRight(strings.Join(cells, "  "), " ")
		if n == 0 {
			text = p.faint.Render(text)
		}
		p.line("  ", text)
	}
	if n := len(c.Incidents) - incidentRows; n > 0 {
		p.line("  ", view.Count(n, "more incident", "more incidents"))
	}
}

// shrink makes the columns fit: the subject gives way first, then the last
// columns go.
func (p *printer) shrink(widths []int) int {
	const subject, least = 3, 12
	columns := len(widths)
	for {
		sum := 2
		for _, w := range widths[:columns] {
			sum += w + 2
		}
		over := sum - 2 - p.width
		if over <= 0 || columns == 1 {
			return columns
		}
		if columns > subject && widths[subject]-over >= least {
			widths[subject] -= over
			return columns
		}
		columns--
	}
}

// footer says which files to open and what was not usable.
func (p *printer) footer(c *view.Case) {
	streams := 0
	for _, in := range c.Res.Inputs {
		streams += len(in.Streams)
	}
	p.line()
	t := c.Res.Totals
	read := "Read " + view.Count(len(c.Res.Inputs), "input", "inputs") + ": " + view.Count(streams, "stream", "streams") + ", " +
		view.Count(t.Lines, "line", "lines") + ", " + view.Count(t.Packets, "packet", "packets")
	p.wrapped("", read, p.faint)
	if text := c.Damage(); text != "" {
		p.wrapped("", text+" (see Problems in report.md)", p.caution)
	}
	if len(p.o.Written) == 0 {
		return
	}
	var names []string
	tables, bytes := 0, int64(0)
	for _, f := range p.o.Written {
		if strings.HasPrefix(f.Name, "tables/") {
			tables++
			bytes += f.Bytes
			continue
		}
		names = append(names, p.text(f.Name)+" ("+view.Bytes(f.Bytes)+")")
	}
	if tables > 0 {
		names = append(names, "tables/ ("+view.Count(tables, "file", "files")+", "+view.Bytes(bytes)+")")
	}
	where := ""
	if p.o.Dir != "" {
		where = " " + p.text(p.o.Dir) + ":"
	}
	p.wrapped("", "Wrote"+where+" "+strings.Join(names, ", "), p.style.NewStyle())
}
