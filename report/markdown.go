package report

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// Flavor is the dialect of Markdown.
type Flavor string

// The flavors. Plain avoids HTML and diagrams, for trackers and mail.
const (
	FlavorGitHub Flavor = "github"
	FlavorGitLab Flavor = "gitlab"
	FlavorPlain  Flavor = "plain"
)

// SummaryLimit is the size of summary.md in bytes, a little less than the
// 65,536 characters that forges accept in a comment.
const SummaryLimit = 60_000

var _ = register(renderer{"md", files("report.md", "summary.md"), renderMarkdown})

func renderMarkdown(ctx context.Context, res *model.Result, out Output, o Options) error {
	c, err := view.New(ctx, res)
	if err != nil {
		return err
	}
	flavor := o.Flavor
	if flavor == "" {
		flavor = FlavorGitHub
	}
	full := &markdown{Case: c, flavor: flavor, limits: fullLimits}
	err = writeFile(out, "report.md", func(w io.Writer) error {
		for i, s := range full.sections() {
			if i > 0 {
				if _, err := io.WriteString(w, "\n"); err != nil {
					return err
				}
			}
			if _, err := io.WriteString(w, s.body); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	short := &markdown{Case: c, flavor: flavor, limits: summaryLimits}
	return writeFile(out, "summary.md", func(w io.Writer) error {
		_, err := io.WriteString(w, fit(short.sections(), flavor))
		return err
	})
}

// limits bound the lists of a document, which says so where it leaves rows out.
type limits struct {
	incidents int // with sections of their own
	facts     int
	evidence  int
	attempts  int
	subjects  int
	effects   int
	streams   int // 0: only their number
	claim     int // characters of a sentence of evidence
	problems  int
	commands  int
	probes    int
	disputes  int
	excerpts  bool
}

var (
	fullLimits    = limits{claim: 2000, incidents: 100, facts: 200, evidence: 100, attempts: 150, subjects: 100, effects: 100, streams: 300, problems: 200, commands: 60, probes: 200, disputes: 100, excerpts: true}
	summaryLimits = limits{claim: 200, incidents: 10, facts: 30, evidence: 8, subjects: 10, effects: 8, problems: 10, commands: 8, probes: 20, disputes: 10}
)

// section is a part of the document that can be left out as a whole. The lower
// its rank, the more it matters.
type section struct {
	rank     int
	name     string
	incident int // 0 for the case
	body     string
}

// Ranks of sections. The sections of the second incident rank after those of
// the first, and so on.
const (
	rankVerdict = iota
	rankOverview
	rankCause
	rankImpact
	rankEvidence
	rankRecommend
	rankTimeline
	rankPackets
	rankMissing
	rankAlternatives
	rankScore
	rankCommands
	rankAddresses
	rankChecked
	rankClock
	rankInputs
	rankProblems
	rankAttempts
	rankNext = 4 // added per incident
)

// fit joins as many sections as SummaryLimit allows, in their order, leaving
// out the lowest-ranked ones first.
func fit(all []section, flavor Flavor) string {
	size := 0
	for _, s := range all {
		size += len(s.body) + 1
	}
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b section) int { return cmp.Compare(a.rank, b.rank) })
	keep := len(order)
	note := ""
	for size+len(note) > SummaryLimit && keep > 1 {
		keep--
		size -= len(order[keep].body) + 1
		note = leftOut(order[keep:], flavor)
	}
	var b strings.Builder
	for _, s := range all {
		if slices.Contains(order[keep:], s) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s.body)
	}
	b.WriteString(note)
	return b.String()
}

// leftOut says which sections are not there, by name.
func leftOut(dropped []section, flavor Flavor) string {
	var names []string
	of := map[string][]int{}
	for _, s := range dropped {
		if !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
		if s.incident > 0 {
			of[s.name] = append(of[s.name], s.incident)
		}
	}
	for i, name := range names {
		if list := of[name]; len(list) > 0 {
			slices.Sort(list)
			names[i] = name + " of " + ranges(list)
		}
	}
	d := &mdDoc{flavor: flavor}
	d.para("Left out to stay within ", escape.Text(view.Number(SummaryLimit)), " characters: ", escape.Text(view.List(names, 20)), ". They are in ", escape.Code("report.md"), ".")
	return "\n" + d.String()
}

// ranges prints sorted numbers: "incident 3", "incidents 3 to 7 and 9".
func ranges(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if j > i {
			parts = append(parts, view.Number(int64(list[i]))+" to "+view.Number(int64(list[j])))
		} else {
			parts = append(parts, view.Number(int64(list[i])))
		}
		i = j + 1
	}
	word := "incidents "
	if len(list) == 1 {
		word = "incident "
	}
	return word + view.List(parts, 6)
}

// markdown renders one document.
type markdown struct {
	*view.Case
	flavor Flavor
	limits limits
	list   []section
}

func (m *markdown) add(rank int, name string, fill func(*mdDoc)) { m.addFor(rank, name, 0, fill) }

func (m *markdown) addFor(rank int, name string, incident int, fill func(*mdDoc)) {
	d := &mdDoc{flavor: m.flavor}
	fill(d)
	if d.b.Len() > 0 {
		m.list = append(m.list, section{rank, name, incident, d.String()})
	}
}

func (m *markdown) sections() []section {
	m.list = nil
	m.add(rankVerdict, "verdict", m.head)
	if len(m.Incidents) > 1 {
		m.add(rankOverview, "all incidents", m.overview)
	}
	for i, in := range m.Incidents {
		if i == m.limits.incidents {
			m.add(rankOverview, "note", func(d *mdDoc) {
				d.para(escape.Text(view.Count(len(m.Incidents)-i, "further incident has", "further incidents have")), " no section here; all are in ", escape.Code("report.json"), ".")
			})
			break
		}
		m.incident(in, i*rankNext)
	}
	if len(m.Res.IPDisagreements) > 0 {
		m.add(rankAddresses, "addresses", m.addresses)
	}
	m.add(rankChecked, "what was checked", m.checked)
	m.add(rankClock, "clock", m.clock)
	m.add(rankInputs, "inputs", m.inputs)
	m.add(rankProblems, "problems", m.problems)
	return m.list
}

// headInputs is how many inputs the head names.
const headInputs = 5

// head is the verdict and what it is about.
func (m *markdown) head(d *mdDoc) {
	d.heading(1, "Probe forensics: ", escape.Text(m.Headline()))
	d.para(escape.Bold(escape.Text(m.Verdict())))
	res := m.Res
	var rows [][]escape.MD
	row := func(name escape.MD, parts ...escape.MD) {
		if v := escape.Join(parts, ""); v != "" {
			rows = append(rows, []escape.MD{name, v})
		}
	}
	switch len(m.Incidents) {
	case 0:
	case 1:
		in := m.Incidents[0]
		row("Cause", causeOf(in))
		row("When (UTC)", escape.Text(view.Window(in)))
		row("Affected", escape.Text(view.Affected(in)))
	default:
		all := m.All()
		row("Causes", causes(m.ByCause()))
		row("When (UTC)", escape.Text(all.When()))
		row("Affected", escape.Text(all.Whom()))
	}
	if c := res.Checked; !c.From.IsZero() {
		row("Data (UTC)", escape.Text(view.Instant(c.From.Nanos)+" to "+view.Instant(c.To.Nanos)))
	}
	row("Nodes", codes(res.Checked.Nodes, 12))
	for i, in := range res.Inputs {
		if i == headInputs {
			row("Input", escape.Text(view.Count(len(res.Inputs)-i, "more, see Inputs", "more, see Inputs")))
			break
		}
		row("Input", escape.Code(in.Path), ", sha256 ", escape.Code(in.SHA256))
	}
	if res.Cluster != "" && res.Cluster != "unknown" {
		row("Cluster", escape.Code(res.Cluster))
	}
	row("Tool", escape.Text(res.Tool.Name+" "+res.Tool.Version+", rules "), escape.Code(res.Tool.RulesHash[:min(12, len(res.Tool.RulesHash))]))
	d.table([]escape.MD{"", ""}, rows)
}

// causeOf names the cause and how sure it is.
func causeOf(in *view.Incident) escape.MD {
	cause := escape.Code(in.Cause.ID)
	if in.Cause.SubReason != "" {
		cause += " (" + escape.Text(in.Cause.SubReason) + ")"
	}
	if in.Cause.ID == model.Inconclusive {
		return cause + ": the best candidate reaches " + escape.Text(view.Confidence(in.Cause.Confidence)) + ", which is not enough to name it"
	}
	return cause + ", " + escape.Bold(escape.Text(in.Cause.Word)) + " (" + escape.Text(view.Confidence(in.Cause.Confidence)) + ")"
}

// causes counts incidents by cause.
func causes(list []view.CauseCount) escape.MD {
	var out []escape.MD
	for i, c := range list {
		if i == 8 {
			out = append(out, escape.Text(view.Count(len(list)-i, "more", "more")))
			break
		}
		item := escape.Code(c.ID)
		if c.Incidents > 1 {
			item = escape.Text(view.Number(int64(c.Incidents))) + " " + item
		}
		out = append(out, item)
	}
	return escape.Join(out, ", ")
}

func codes(words []string, limit int) escape.MD {
	var out []escape.MD
	for i, w := range words {
		if i == limit {
			out = append(out, escape.Text(view.Number(int64(len(words)-i))+" more"))
			break
		}
		out = append(out, escape.Code(w))
	}
	return escape.Join(out, ", ")
}

func (m *markdown) overview(d *mdDoc) {
	d.heading(2, "All incidents")
	var rows [][]escape.MD
	for i, in := range m.Incidents {
		if i == 50 {
			break
		}
		rows = append(rows, []escape.MD{
			escape.Text(view.Number(int64(in.Number))), escape.Code(in.Cause.ID), escape.Text(in.Cause.Word + " " + view.Confidence(in.Cause.Confidence)),
			escape.Text(view.SubjectNames(in, 2)), escape.Text(view.Number(int64(in.FailedAttempts))), escape.Text(in.Counts().Good()),
			escape.Text(view.Instant(in.Window.First.Nanos)), escape.Text(view.Lasted(in)),
		})
	}
	d.table([]escape.MD{"#", "Cause", "Confidence", "Subject", "Failed", "Succeeded meanwhile", "First (UTC)", "Lasted"}, rows)
	if n := len(m.Incidents) - len(rows); n > 0 {
		d.para(escape.Text(view.Count(n, "more incident", "more incidents")), " in ", escape.Code("report.json"), ".")
	}
}
