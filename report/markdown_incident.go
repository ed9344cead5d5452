package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// factQuote is how much of a record a row of the timeline quotes, in characters.
const factQuote = 160

// incident adds the sections of one incident, in the order in which people
// read: what, how bad, when, the packets, why we say so, what to do.
func (m *markdown) incident(in *view.Incident, shift int) {
	number := in.Number
	if len(m.Incidents) == 1 {
		number = 0
	}
	add := func(rank int, name string, fill func(*mdDoc, *view.Incident)) {
		m.addFor(rank+shift, name, number, func(d *mdDoc) { fill(d, in) })
	}
	add(rankCause, "verdict", m.cause)
	add(rankImpact, "impact", m.impact)
	add(rankTimeline, "timeline", m.timeline)
	add(rankPackets, "packets", m.packets)
	add(rankEvidence, "evidence", m.evidence)
	add(rankScore, "score", m.score)
	add(rankAlternatives, "alternatives", m.alternatives)
	add(rankMissing, "what is missing", m.missing)
	add(rankRecommend, "recommendations", m.recommend)
	add(rankCommands, "reproduction", m.commands)
	add(rankAttempts, "attempts", m.attempts)
}

// cause says what the verdict is. Where it is the only one, the head of the
// report has said so.
func (m *markdown) cause(d *mdDoc, in *view.Incident) {
	if len(m.Incidents) > 1 {
		d.heading(2, escape.Text(fmt.Sprintf("Incident %d: %s", in.Number, in.Title())))
		d.para(escape.Bold(escape.Text(in.Sentence())))
		d.para("Cause: ", causeOf(in), ".")
	} else {
		d.heading(2, escape.Text(in.Title()))
	}
	var verdict []escape.MD
	if r := in.RunnerUp(); r != nil {
		verdict = append(verdict, "Runner-up: ", escape.Code(r.ID), " (", escape.Text(view.Confidence(r.Confidence)), ")")
		if r.WhyNot != "" {
			verdict = append(verdict, "; ", escape.Text(strings.TrimRight(r.WhyNot, ".")))
		}
		verdict = append(verdict, ".")
	}
	d.para(verdict...)
	var also []escape.MD
	for _, c := range in.Contributing {
		item := escape.Code(c.ID) + " (" + escape.Text(view.Confidence(c.Confidence)) + ")"
		if c.Note != "" {
			item += ": " + escape.Text(c.Note)
		}
		also = append(also, item)
	}
	if len(also) > 0 {
		d.para("Contributing:")
		d.list(also)
	}
	if r := in.Recurrence; r != nil {
		text := escape.Text(r.Note)
		if text == "" {
			text = escape.Text("The same signature was seen " + view.Count(r.Times, "time", "times") + ".")
		}
		if len(r.Pods) > 0 {
			text += " (" + codes(r.Pods, 5) + ")"
		}
		d.para("Recurrence: ", text)
	}
	d.para("More about this cause: ", escape.Code("probe-forensics explain "+in.Cause.ID), ".")
}

func (m *markdown) impact(d *mdDoc, in *view.Incident) {
	d.heading(3, "Impact")
	var items []escape.MD
	if len(m.Incidents) > 1 {
		items = append(items, "Affected: "+escape.Text(view.Affected(in)), "When (UTC): "+escape.Text(view.Window(in)))
	}
	d.list(append(items, "Users affected, and who acts: (not in these inputs; to be filled in)"))
	var rows [][]escape.MD
	for i, s := range in.Subjects {
		if i == m.limits.subjects {
			break
		}
		rows = append(rows, []escape.MD{
			escape.Code(view.PodName(s)), escape.Text(s.Container), escape.Text(s.Probe), escape.Text(view.Target(s.Target)),
			escape.Text(view.Number(int64(s.FailedAttempts))), escape.Text(in.SubjectCounts(s).Good()),
			escape.Text(view.Instant(s.First.Nanos)), escape.Text(view.Later(s.First.Nanos, s.Last.Nanos)),
		})
	}
	d.table([]escape.MD{"Pod", "Container", "Probe", "Target", "Failed", "Succeeded meanwhile", "First failed (UTC)", "Last failed"}, rows)
	d.rest(len(in.Subjects)-len(rows), "subject", "subjects")
	var effects []escape.MD
	for i, c := range in.Consequences {
		if i == m.limits.effects {
			break
		}
		item := escape.Text(c.Text)
		if !c.At.IsZero() {
			item = escape.Text(view.Instant(c.At.Nanos)) + " " + item
		}
		effects = append(effects, item+m.cite(c.Ref, nil))
	}
	if len(effects) > 0 {
		d.para("Consequences (UTC):")
		d.list(effects)
		d.rest(len(in.Consequences)-len(effects), "consequence", "consequences")
	}
}

// rest says how many rows a list left out.
func (d *mdDoc) rest(n int, one, many string) {
	if n > 0 {
		d.para(escape.Text(view.Count(n, "more "+one, "more "+many)), " in ", escape.Code("report.json"), ".")
	}
}

// cite prints references in brackets.
func (m *markdown) cite(ref model.Ref, more []model.Ref) escape.MD {
	var refs []escape.MD
	for i, r := range append([]model.Ref{ref}, more...) {
		if i > 4 {
			refs = append(refs, escape.Text(view.Number(int64(len(more)+1-i))+" more"))
			break
		}
		if name := m.Ref(r); name != "" {
			refs = append(refs, escape.Code(name))
		}
	}
	if len(refs) == 0 {
		return ""
	}
	return " (" + escape.Join(refs, ", ") + ")"
}

func (m *markdown) timeline(d *mdDoc, in *view.Incident) {
	facts := m.Timeline(in)
	if len(facts) == 0 {
		return
	}
	d.heading(3, "Timeline (facts, UTC)")
	chart, pods := gantt(in, facts)
	d.mermaid(chart)
	if len(pods) > 1 && chart != "" && m.flavor != FlavorPlain {
		names := make([]escape.MD, len(pods))
		for i, p := range pods {
			names[i] = escape.Text(podLabel(i)+": ") + escape.Code(p)
		}
		d.para(escape.Join(names, ", "))
	}
	var rows [][]escape.MD
	for i, f := range facts {
		if i == m.limits.facts {
			break
		}
		until := escape.MD("")
		switch {
		case f.Open:
			until = "(open)"
		case f.Until > f.At:
			until = escape.Text(view.Later(f.At, f.Until))
		}
		text := escape.Text(f.Text)
		if f.Quote != "" {
			text += ": " + escape.Code(string(escape.Cut(f.Quote, factQuote)))
		}
		rows = append(rows, []escape.MD{escape.Text(view.Instant(f.At)), until, escape.Code(f.Pod), text, escape.Code(m.Ref(f.Ref))})
	}
	d.table([]escape.MD{"From", "Until", "Pod", "What", "Record"}, rows)
	if n := len(facts) - len(rows); n > 0 {
		d.para(escape.Text(view.Count(n, "more fact", "more facts")), " not shown.")
	}
}

func (m *markdown) packets(d *mdDoc, in *view.Incident) {
	if in.Failed == nil && in.Good == nil {
		return
	}
	d.heading(3, "What the packets say")
	m.exchange(d, "A failed attempt", in.Failed)
	m.exchange(d, "A good attempt of the same probe", in.Good)
}

func (m *markdown) exchange(d *mdDoc, title escape.MD, e *view.Exchange) {
	if e == nil {
		return
	}
	about := []escape.MD{escape.Bold(title), ": ", escape.Text(view.Instant(e.Attempt.Start)), ", ", escape.Text(e.Client), " to ", escape.Text(e.Server)}
	if e.Point != "" {
		about = append(about, ", captured at ", escape.Text(e.Point))
	}
	about = append(about, m.cite(e.Ref, e.Also), ".")
	if view.Failed(e.Attempt) {
		about = append(about, " The kubelet said: ", escape.Code(string(escape.Cut(view.Why(e.Attempt), 200))), ".")
	}
	d.para(about...)
	d.mermaid(sequence(e))
	var rows [][]escape.MD
	for i, s := range e.Steps {
		if i == sequenceRows {
			break
		}
		frame := escape.MD("")
		if s.From == view.Kubelet {
			rows = append(rows, []escape.MD{"", escape.Text(view.Duration(s.After)), "kubelet", escape.Text(s.Text), ""})
			continue
		}
		if s.Packet > 0 {
			frame = escape.Text(strconv.FormatInt(s.Packet, 10))
		}
		note := s.Detail
		if s.Unanswered {
			note = strings.TrimPrefix(note+", no answer", ", ")
		}
		rows = append(rows, []escape.MD{frame, escape.Text(view.Duration(s.After)), sideName(s.From), escape.Text(s.Text), escape.Text(note)})
	}
	d.table([]escape.MD{"Frame", "After", "From", "Packet", "Detail"}, rows)
}

func sideName(s view.Side) escape.MD {
	return [...]escape.MD{view.Client: "node", view.Server: "pod", view.Network: "network", view.Kubelet: "kubelet"}[s]
}

func (m *markdown) evidence(d *mdDoc, in *view.Incident) {
	if len(in.Evidence) == 0 {
		return
	}
	d.heading(3, "Evidence")
	for _, part := range []struct {
		role  string
		title escape.MD
	}{{model.RoleFor, "For"}, {model.RoleAgainst, "Against"}, {model.RoleContext, "Context"}} {
		list := in.By(part.role)
		if len(list) == 0 {
			continue
		}
		d.para(escape.Bold(part.title))
		var rows [][]escape.MD
		for i, e := range list {
			if i == m.limits.evidence {
				break
			}
			rows = append(rows, []escape.MD{weight(e.Weight), m.claim(e.Claim), evidenceTime(e), m.citeCell(e)})
		}
		d.table([]escape.MD{"Weight", "Claim", "Time (UTC)", "Records"}, rows)
		d.rest(len(list)-len(rows), "piece of evidence", "pieces of evidence")
	}
	if m.limits.excerpts {
		d.details("Quoted records", func(d *mdDoc) {
			var quoted []model.Ref
			for i := range in.Evidence {
				if e := &in.Evidence[i]; e.Excerpt != "" && !slices.Contains(quoted, e.Ref) {
					quoted = append(quoted, e.Ref)
					d.para(escape.Code(m.Ref(e.Ref)), ":")
					d.fence("text", e.Excerpt)
				}
			}
		})
	}
}

// claim is a sentence of evidence; a summary cuts what quotes a whole script.
func (m *markdown) claim(s string) escape.MD {
	if utf8.RuneCountInString(s) > m.limits.claim {
		s = string(escape.Cut(s, m.limits.claim))
	}
	return escape.Text(s)
}

func weight(w float64) escape.MD {
	if w == 0 {
		return ""
	}
	return escape.Text(fmt.Sprintf("%.2f", w))
}

func evidenceTime(e *model.Evidence) escape.MD {
	if e.Time.IsZero() {
		return ""
	}
	return escape.Text(view.Instant(e.Time.Nanos))
}

func (m *markdown) citeCell(e *model.Evidence) escape.MD {
	return escape.MD(strings.TrimSuffix(strings.TrimPrefix(string(m.cite(e.Ref, e.More)), " ("), ")"))
}

// score shows the arithmetic, folded away: who doubts the number looks at it.
func (m *markdown) score(d *mdDoc, in *view.Incident) {
	if len(in.WouldChange) > 0 {
		d.heading(3, "What would change this verdict")
		d.list(texts(in.WouldChange))
	}
	d.details("How the confidence comes about", func(d *mdDoc) {
		var rows [][]escape.MD
		for _, s := range in.Score {
			rows = append(rows, []escape.MD{m.claim(s.Text), escape.Text(s.Group), weight(s.Weight), escape.Text(view.Confidence(s.Result))})
		}
		d.table([]escape.MD{"Step", "Source", "Weight", "Score"}, rows)
	})
}

func texts(sentences []string) []escape.MD {
	out := make([]escape.MD, len(sentences))
	for i, s := range sentences {
		out[i] = escape.Text(s)
	}
	return out
}

func (m *markdown) alternatives(d *mdDoc, in *view.Incident) {
	if len(in.Alternatives) == 0 {
		return
	}
	d.heading(3, "Alternatives considered")
	var rows [][]escape.MD
	for _, a := range in.Alternatives {
		rows = append(rows, []escape.MD{escape.Code(a.ID), escape.Text(view.Confidence(a.Confidence)), escape.Text(a.WhyNot)})
	}
	d.table([]escape.MD{"Cause", "Score", "Why it did not win"}, rows)
}

func (m *markdown) missing(d *mdDoc, in *view.Incident) {
	if len(in.Missing) == 0 {
		return
	}
	d.heading(3, "What is missing")
	var rows [][]escape.MD
	for _, x := range in.Missing {
		rows = append(rows, []escape.MD{escape.Text(x.What), escape.Text(x.WouldSettle), escape.Code(x.HowToCollect)})
	}
	d.table([]escape.MD{"Observation", "Would settle", "How to collect"}, rows)
}

func (m *markdown) recommend(d *mdDoc, in *view.Incident) {
	if len(in.Recommend) == 0 {
		return
	}
	d.heading(3, "Suggested next steps")
	var items []escape.MD
	for _, r := range in.Recommend {
		items = append(items, escape.Text(r.Text))
	}
	d.list(items)
}

func (m *markdown) commands(d *mdDoc, in *view.Incident) {
	all := m.Commands(in)
	if len(all) == 0 {
		return
	}
	d.heading(3, "Check it yourself")
	d.para("Run where the inputs lie; the last one runs on the node itself:")
	shown := all[:min(len(all), m.limits.commands)]
	d.fence("sh", strings.Join(shown, "\n"))
	if n := len(all) - len(shown); n > 0 {
		d.rest(n, "command", "commands")
	}
}

func (m *markdown) attempts(d *mdDoc, in *view.Incident) {
	if m.limits.attempts == 0 || len(in.Attempts) == 0 {
		return
	}
	d.details("All attempts of this incident and around it", func(d *mdDoc) {
		var rows [][]escape.MD
		for i, a := range in.Attempts {
			if i == m.limits.attempts {
				break
			}
			ref := escape.Code(view.AttemptRef(m.Case, a))
			rows = append(rows, []escape.MD{
				escape.Text(view.Instant(a.Start)), escape.Code(a.Pod), escape.Text(a.Probe), escape.Text(a.Outcome), escape.Text(a.ErrorClass),
				phase(a.ConnectMs), phase(a.FirstByteMs), escape.Text(a.JoinReason), ref})
		}
		d.table([]escape.MD{"Start (UTC)", "Pod", "Probe", "Result", "Error class", "Connect", "First byte", "Log and packets", "Record"}, rows)
		if n := len(in.Attempts) - len(rows); n > 0 {
			d.para(escape.Text(view.Count(n, "more attempt", "more attempts")), " in the table ", escape.Code("probe_attempts"), ".")
		}
	})
}

func phase(ms float64) escape.MD {
	if ms < 0 {
		return ""
	}
	return escape.Text(view.Millis(ms))
}
