package analyze

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// result writes down what was found.
func (r *run) result(inputs []InputInfo) *model.Result {
	res := &model.Result{SchemaVersion: model.SchemaVersion,
		Tool:    model.Tool{Name: "probe-forensics", Version: r.opts.ToolVersion, RulesHash: rules.RulesHash()},
		Cluster: cmp.Or(r.opts.Cluster, r.cluster, "unknown"), BundleID: bundleID(inputs),
		Clock: r.clockRows(), Pods: []model.Pod{}, Incidents: []model.Incident{}}
	res.Inputs = r.inputs(inputs)
	attempts := r.attempts()
	all := make([]model.Incident, len(r.cases))
	for i, c := range r.cases {
		all[i] = r.incident(c, r.verdicts[i], attempts)
	}
	r.recurrences(all)
	for i := range all {
		if r.matches(&all[i]) {
			res.Incidents = append(res.Incidents, all[i])
		}
	}
	slices.SortStableFunc(res.Incidents, func(a, b model.Incident) int {
		return cmp.Or(-cmp.Compare(a.FailedAttempts, b.FailedAttempts), cmp.Compare(a.Window.First.Nanos, b.Window.First.Nanos), strings.Compare(a.ID, b.ID))
	})
	res.Nodes = r.nodes()
	res.IPDisagreements = r.disagreements()
	for _, p := range r.index.Pods {
		if m := r.pod(p); r.matchesPod(p) {
			res.Pods = append(res.Pods, m)
		}
	}
	r.totals(res, attempts)
	res.Tables = r.tables(attempts)
	return res
}

// bundleID is the digest of the one input, or of the sorted digests of several.
func bundleID(inputs []InputInfo) string {
	if len(inputs) == 1 {
		return inputs[0].SHA256
	}
	sums := make([]string, len(inputs))
	for i, in := range inputs {
		sums[i] = in.SHA256
	}
	slices.Sort(sums)
	h := sha256.Sum256([]byte(strings.Join(sums, "\n")))
	return hex.EncodeToString(h[:])
}

func (r *run) inputs(inputs []InputInfo) []model.Input {
	out := make([]model.Input, len(inputs))
	for i, in := range inputs {
		out[i] = model.Input{Path: in.Path, SHA256: in.SHA256, Bytes: in.Bytes, Streams: []model.Stream{}}
	}
	problems := make(map[event.StreamID][]model.Problem)
	byPath := make(map[string][]model.Problem)
	for _, p := range r.stream.Problems() {
		m := model.Problem{Code: p.Code, Message: p.Message, Line: p.Ref.Line, Packet: p.Ref.Packet, Count: max(p.Count, 1)}
		if m.Line == 0 && m.Packet == 0 {
			m.Offset = p.Ref.Offset
		}
		if p.Ref.Stream != 0 {
			problems[p.Ref.Stream] = append(problems[p.Ref.Stream], m)
		} else {
			byPath[p.Path] = append(byPath[p.Path], m)
		}
	}
	add := func(input int, s model.Stream) {
		if len(out) == 0 {
			return
		}
		input = max(0, min(input, len(out)-1))
		out[input].Streams = append(out[input].Streams, s)
	}
	for _, s := range r.stream.Infos() {
		m := model.Stream{ID: s.ID, Path: s.Path, Format: s.Format, Node: s.Node, Bytes: s.Bytes, Records: s.Records, Kept: s.Kept, Rejected: s.Rejected,
			Counts: s.Counts, Problems: problems[s.ID]}
		first, last := r.resolver.Resolve(s.First, s.Node, s.ID), r.resolver.Resolve(s.Last, s.Node, s.ID)
		m.First, m.Last = model.At(first.At), model.At(last.At)
		if first.Basis != 0 {
			m.TimeBasis = first.Basis.String()
		}
		if s.Verbosity >= 0 && s.Counts["lines"] > 0 {
			v := s.Verbosity
			m.Verbosity = &v
		}
		r.lines += s.Counts["lines"]
		if c := s.Capture; c != nil {
			r.packetsN += s.Counts["frames"]
			m.Lacks = c.Lacks
			for _, t := range c.Targets {
				m.ByTarget = append(m.ByTarget, model.TargetCount{IP: t.Addr.Addr().String(), Port: int(t.Addr.Port()),
					SYN: t.SYN, SYNACK: t.SYNACK, RSTFrom: t.RSTFrom, RSTTo: t.RSTTo})
			}
			for _, k := range r.captures.Captures {
				if k.Info == s {
					m.CapturePoint, m.CaptureWhy = string(k.Point), k.Why
				}
			}
		}
		if m.Counts == nil {
			m.Counts = map[string]int64{}
		}
		if m.Problems == nil {
			m.Problems = []model.Problem{}
		}
		add(s.Input, m)
	}
	// What could not be opened has no stream of its own: it is listed all the same.
	for _, p := range slices.Sorted(maps.Keys(byPath)) {
		n := 0
		for i, in := range inputs {
			if strings.HasPrefix(p, in.Path) || strings.HasPrefix(p, path.Base(in.Path)) {
				n = i
			}
		}
		add(n, model.Stream{Path: p, Counts: map[string]int64{}, Problems: byPath[p]})
	}
	return out
}

// incident joins what an incident is with its verdict.
func (r *run) incident(c *rules.Case, v model.Incident, attempts *attemptTable) model.Incident {
	i := c.Incident
	v.Scope, v.Node, v.Trigger = i.Scope, i.Node, i.Trigger
	v.Window = model.Window{First: model.At(i.Began()), Last: model.At(i.Last), Recovered: model.At(i.Recovered)}
	for _, m := range i.Members {
		s := subject(m)
		v.Subjects = append(v.Subjects, s)
		v.FailedAttempts += s.FailedAttempts
		v.TotalAttempts += s.TotalAttempts
	}
	for n, p := range i.Pods {
		if slices.ContainsFunc(i.Members, func(m incident.Member) bool { return m.Worker.Pod == p }) || slices.Contains(i.Pods[:n], p) {
			continue
		}
		first, last := i.First, i.Last
		for _, part := range i.Parts {
			if slices.Contains(part.Pods, p) {
				first, last = part.First, part.Last
			}
		}
		v.Subjects = append(v.Subjects, model.Subject{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, First: model.At(first), Last: model.At(last)})
	}
	var basis event.Basis
	for _, m := range i.Members {
		for _, a := range m.Failed {
			basis |= a.Basis
		}
	}
	v.TimeBasis = basis.String()
	v.Consequences = consequences(i, attempts)
	v.Fingerprint = fingerprint(v.Cause.ID, i)
	v.ID = incidentID(v, i)
	for _, m := range i.Members {
		for _, a := range m.Failed {
			attempts.claim(a, v.ID)
		}
	}
	normalize(&v)
	return v
}

// normalize replaces nil slices: the JSON contract has arrays.
func normalize(v *model.Incident) {
	v.Subjects = orEmpty(v.Subjects)
	v.Contributing, v.Alternatives = orEmpty(v.Contributing), orEmpty(v.Alternatives)
	v.Evidence, v.Score = orEmpty(v.Evidence), orEmpty(v.Score)
	v.WouldChange, v.Missing = orEmpty(v.WouldChange), orEmpty(v.Missing)
	v.Recommend, v.Reproduce = orEmpty(v.Recommend), orEmpty(v.Reproduce)
	v.Consequences = orEmpty(v.Consequences)
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func subject(m incident.Member) model.Subject {
	w := m.Worker
	s := model.Subject{Namespace: w.Pod.Namespace, Pod: w.Pod.Name, UID: w.Pod.UID, Container: w.Container, Probe: w.Type.String()}
	for _, a := range m.Failed {
		s.FailedAttempts += int(max(a.Count, 1))
	}
	for _, a := range m.Attempts {
		s.TotalAttempts += int(max(a.Count, 1))
	}
	if n := len(m.Failed); n > 0 {
		s.First, s.Last = model.At(m.Began()), model.At(m.Failed[n-1].End)
		s.Target = m.Failed[n-1].Target
	}
	return s
}

// incidentID is derived from what the incident is about, not from when it was
// analysed.
func incidentID(v model.Incident, i *incident.Incident) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s|%s|%s|%d|%d|%s", v.Scope, v.Node, v.Trigger, i.First, i.Last, i.Signature)
	for _, s := range v.Subjects {
		fmt.Fprintf(h, "|%s/%s/%s/%s/%s", s.Namespace, s.Pod, s.UID, s.Container, s.Probe)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// fingerprint is equal for the same cause on the same workload in any bundle.
func fingerprint(cause string, i *incident.Incident) string {
	owner := i.Node
	if len(i.Pods) > 0 {
		p := i.Pods[0]
		owner = p.Namespace + "/" + cmp.Or(p.Owner.Kind+"/"+p.Owner.Name, p.Name)
		if p.Owner.Kind == "" {
			owner = p.Namespace + "/" + p.Name
		}
	}
	container := ""
	if len(i.Members) > 0 {
		container = i.Members[0].Worker.Container
	}
	h := sha256.Sum256([]byte(cause + "|" + owner + "|" + container + "|" + i.Signature))
	return hex.EncodeToString(h[:8])
}

func (r *run) totals(res *model.Result, attempts *attemptTable) {
	t := &res.Totals
	t.ByCause = map[string]int{}
	grid := map[string]int{}
	for _, i := range res.Incidents {
		t.ByCause[i.Cause.ID]++
	}
	t.Pods, t.Lines, t.Packets = len(res.Pods), r.lines, r.packetsN
	for _, w := range r.probes.Workers {
		if len(w.Attempts) > 0 || w.Spec != nil {
			res.Checked.Probes++
		}
		for _, a := range w.Attempts {
			n := int(max(a.Count, 1))
			switch {
			case a.Failed():
				t.Attempts.Failure += n
			case a.Outcome == event.OutcomeSucceeded || a.Outcome == event.OutcomeWarning:
				t.Attempts.Success += n
			default:
				t.Attempts.Unknown += n
			}
		}
		for _, a := range w.Missing {
			t.Attempts.Missing += int(a.Count)
		}
		if w.Grid != "" {
			grid[w.Grid]++
		}
	}
	res.Checked.Grid = grid
	c := &res.Checked
	c.From, c.To = model.At(r.checkedFrom()), model.At(r.index.Last)
	c.Nodes = []string{}
	for _, n := range r.index.Nodes {
		if n.Name != "" {
			c.Nodes = append(c.Nodes, n.Name)
		}
	}
	c.CouldNot = r.couldNot()
}

// checkedFrom is from when on the inputs could show a failing probe: the first
// record of a kubelet's log or a capture, or the first attempt that an event tells
// of. Objects and events of the node may be far older, of boots that left nothing
// else.
func (r *run) checkedFrom() event.Nanos {
	var first event.Nanos
	add := func(t event.Nanos) {
		if t != 0 && (first == 0 || t < first) {
			first = t
		}
	}
	for _, s := range r.stream.Infos() {
		if s.Capture == nil && s.Verbosity >= 0 && s.Counts["lines"] > 0 && !s.First.IsZero() {
			add(r.resolver.Resolve(s.First, s.Node, s.ID).At)
		}
	}
	for _, c := range r.captures.Captures {
		add(c.First)
	}
	for _, w := range r.probes.Workers {
		for _, a := range w.Attempts {
			add(cmp.Or(a.Start, a.End))
		}
	}
	return cmp.Or(first, r.index.First)
}

// couldNot says which questions the inputs leave open.
func (r *run) couldNot() []string {
	out := []string{}
	var kubelet, packets, pods, events bool
	for _, s := range r.stream.Infos() {
		kubelet = kubelet || s.Verbosity >= 0 && s.Counts["lines"] > 0
		packets = packets || s.Capture != nil
	}
	for _, p := range r.index.Pods {
		pods = pods || !p.Snapshot.IsZero()
		events = events || len(p.Events) > 0
	}
	if !kubelet && !events {
		out = append(out, "no kubelet log and no events: failed attempts can only be read from packets")
	} else if !kubelet {
		out = append(out, "no kubelet log: attempts are known from events only, which under-count")
	}
	bygone := 0
	for _, w := range r.probes.Workers {
		if incident.Bygone(w.Pod, r.probes) {
			for _, a := range w.Attempts {
				bygone += int(max(a.Count, 1))
			}
		}
	}
	if bygone > 0 {
		out = append(out, fmt.Sprintf("%d failed attempts of earlier pods of the same names are known from events only and were not judged", bygone))
	}
	counted := int64(0)
	for _, x := range r.captures.Stretches {
		counted += x.Count
	}
	if counted > 0 {
		out = append(out, fmt.Sprintf("%d successful connections far from any failure were counted in groups; the flows table holds each of them", counted))
	}
	if !packets {
		out = append(out, "no packet capture: successful attempts and everything below HTTP could not be checked")
	}
	if !pods {
		out = append(out, "no pod objects: probe settings, IPs of the API and restart counts are unknown")
	}
	return out
}

func (r *run) matchesPod(p *identity.Pod) bool {
	o := r.opts
	return glob(o.Namespaces, p.Namespace) && glob(o.Pods, p.String()) && glob(o.Nodes, p.Node) && glob(o.Owners, p.Owner.Kind+"/"+p.Owner.Name)
}

func (r *run) matches(i *model.Incident) bool {
	o := r.opts
	since, until := r.bounds()
	if since != 0 && i.Window.Last.Nanos < since || until != 0 && i.Window.First.Nanos > until {
		return false
	}
	if len(o.Namespaces)+len(o.Pods)+len(o.Owners) == 0 {
		return glob(o.Nodes, i.Node)
	}
	for _, s := range i.Subjects {
		for _, p := range r.index.ByName(s.Namespace, s.Pod) {
			if r.matchesPod(p) {
				return true
			}
		}
	}
	return false
}

// bounds are Since and Until, counted back from the end of the data where
// relative.
func (r *run) bounds() (since, until event.Nanos) {
	since, until = r.opts.Since, r.opts.Until
	if r.opts.SinceAgo != 0 {
		since = r.index.Last.Add(-r.opts.SinceAgo)
	}
	if r.opts.UntilAgo != 0 {
		until = r.index.Last.Add(-r.opts.UntilAgo)
	}
	return since, until
}

func glob(patterns []string, s string) bool {
	if len(patterns) == 0 {
		return true
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, s)
		return ok || err == nil && p == s
	})
}
