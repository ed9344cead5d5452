package parquetout

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"strconv"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// mapper turns the model into rows.
type mapper struct {
	res   *model.Result
	key   key
	paths map[event.StreamID]string
}

func newMapper(res *model.Result, runID string) *mapper {
	m := &mapper{res: res, key: key{BundleID: res.BundleID, RunID: runID}, paths: map[event.StreamID]string{}}
	for _, in := range res.Inputs {
		for _, s := range in.Streams {
			m.paths[s.ID] = text(s.Path)
		}
	}
	return m
}

// text makes a string valid UTF-8, as the type STRING demands.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// at is the stamp of an instant. Microseconds round down, also before 1970.
func at(n event.Nanos) stamp { return stamp{Micros: micros(n), Nanos: int64(n)} }

func micros(n event.Nanos) int64 {
	us := int64(n) / 1000
	if int64(n)%1000 < 0 {
		us--
	}
	return us
}

func (m *mapper) place(r event.Ref) place {
	p := place{StreamID: int32(r.Stream), StreamPath: m.paths[r.Stream], Line: r.Line, Packet: r.Packet}
	if !r.IsZero() {
		p.Offset = r.Offset
	}
	return p
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.StreamID, o.StreamID), cmp.Compare(p.Packet, o.Packet),
		cmp.Compare(p.Line, o.Line), cmp.Compare(p.Offset, o.Offset))
}

// ref prints a reference as reports do: path and place.
func (m *mapper) ref(r event.Ref) string { return m.paths[r.Stream] + r.Place() }

func (m *mapper) refs(rs []event.Ref) []string {
	var out []string
	for _, r := range rs {
		out = append(out, m.ref(r))
	}
	return out
}

// id derives a row id from content.
func (m *mapper) id(parts ...string) string {
	h := sha256.New()
	for _, p := range append([]string{m.key.BundleID}, parts...) {
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func family(a netip.Addr) string {
	switch {
	case !a.IsValid():
		return ""
	case a.Unmap().Is4():
		return "ipv4"
	default:
		return "ipv6"
	}
}

func addr(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.Unmap().String()
}

// unless returns a pointer to a duration in milliseconds, nil when it is
// unknown (negative).
func known(ms float64) *float64 {
	if ms < 0 {
		return nil
	}
	return &ms
}

func (m *mapper) inputs() []inputRow {
	var out []inputRow
	for _, in := range m.res.Inputs {
		base := inputRow{key: m.key, InputPath: text(in.Path), InputSHA256: in.SHA256, InputBytes: in.Bytes}
		if len(in.Streams) == 0 {
			out = append(out, base)
		}
		for _, s := range in.Streams {
			r := base
			r.stamp = at(s.First.Nanos)
			r.LastMicros, r.LastNanos = micros(s.Last.Nanos), int64(s.Last.Nanos)
			r.StreamID, r.StreamPath, r.Format, r.Node = int32(s.ID), text(s.Path), s.Format, text(s.Node)
			r.CapturePoint, r.TimeBasis = s.CapturePoint, s.TimeBasis
			r.Bytes, r.Records, r.Kept, r.Rejected = s.Bytes, s.Records, s.Kept, s.Rejected
			if s.Verbosity != nil {
				v := int32(*s.Verbosity)
				r.Verbosity = &v
			}
			r.Lacks = s.Lacks
			if len(s.Counts) > 0 {
				b, _ := json.Marshal(s.Counts) // a map of strings to integers can't fail
				r.Counts = string(b)
			}
			for _, p := range s.Problems {
				r.Problems += max(p.Count, 1)
			}
			out = append(out, r)
		}
	}
	return out
}

func (m *mapper) attempts() []attemptRow {
	out := make([]attemptRow, 0, len(m.res.Tables.Attempts))
	for i := range m.res.Tables.Attempts {
		a := &m.res.Tables.Attempts[i]
		start := a.Start
		if start == 0 {
			start = a.End
		}
		out = append(out, attemptRow{
			key: m.key, stamp: at(start), EndMicros: micros(a.End), EndNanos: int64(a.End),
			StartInferred: a.StartInferred, TimeBasis: a.TimeBasis, AttemptID: a.ID, IncidentID: a.Incident,
			pod:       pod{Node: text(a.Node), Namespace: text(a.Namespace), Name: text(a.Pod), UID: text(a.UID)},
			Container: text(a.Container), Probe: a.Probe, Outcome: a.Outcome, Source: a.Source,
			ErrorClass: a.ErrorClass, Output: text(a.Output),
			Scheme: a.Target.Scheme, Address: text(a.Target.Host), Port: int32(a.Target.Port), Path: text(a.Target.Path),
			ARPMs: known(a.ARPMs), ConnectMs: known(a.ConnectMs), FirstByteMs: known(a.FirstByteMs),
			Count: max(a.Count, 1), FlowID: a.FlowID, JoinReason: a.JoinReason, JoinConfidence: a.JoinConfidence,
			Threshold: a.Threshold, Effects: m.effects(a.Effects), SinceMicros: micros(a.Since), SinceNanos: int64(a.Since),
			Refs: m.refs(a.Refs), FlowRefs: m.refs(a.FlowRefs),
		})
	}
	return out
}

// effects names what crossing a threshold led to and where that stands.
func (m *mapper) effects(list []model.Consequence) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Kind+" "+m.ref(c.Ref.Event()))
	}
	return out
}

func (m *mapper) intervals() []intervalRow {
	var out []intervalRow
	for _, p := range m.res.Pods {
		for _, iv := range p.IPIntervals {
			a, _ := netip.ParseAddr(iv.IP)
			r := intervalRow{
				key: m.key, stamp: at(iv.From.Nanos), EndMicros: micros(iv.To.Nanos), EndNanos: int64(iv.To.Nanos),
				pod: pod{Node: text(p.Node), Namespace: text(p.Namespace), Name: text(p.Pod), UID: text(p.UID)},
				IP:  text(iv.IP), Family: family(a), State: iv.State, Primary: iv.Primary,
				SandboxID: text(iv.Sandbox), MAC: iv.MAC, InPodCIDR: iv.InPodCIDR,
			}
			for _, s := range iv.Sources {
				r.Sources = append(r.Sources, s.Kind+" "+m.ref(s.Ref.Event()))
			}
			out = append(out, r)
		}
	}
	return out
}

func (m *mapper) clocks() []clockRow {
	var out []clockRow
	for _, c := range m.res.Clock {
		r := clockRow{
			key: m.key, Node: text(c.Node), Kind: c.Kind, Undetermined: c.Undetermined, Source: text(c.Source), OffsetMs: c.OffsetMS, UncertaintyMs: c.UncertaintyMS,
			Method: c.Method, Anchors: int32(c.Anchors), Applied: c.Applied, Note: text(c.Note),
		}
		for _, v := range c.Rivals {
			r.Rivals = append(r.Rivals, strconv.FormatFloat(v, 'f', -1, 64))
		}
		out = append(out, r)
	}
	return out
}

func (m *mapper) incidents() []incidentRow {
	var out []incidentRow
	for i := range m.res.Incidents {
		in := &m.res.Incidents[i]
		r := incidentRow{
			key: m.key, stamp: at(in.Window.First.Nanos),
			LastMicros: micros(in.Window.Last.Nanos), LastNanos: int64(in.Window.Last.Nanos),
			RecoveredMicros: micros(in.Window.Recovered.Nanos), RecoveredNanos: int64(in.Window.Recovered.Nanos),
			TimeBasis: in.TimeBasis, IncidentID: in.ID, Fingerprint: in.Fingerprint, Scope: in.Scope, Trigger: in.Trigger,
			Node: text(in.Node), CauseID: in.Cause.ID, Family: in.Cause.Family, Title: text(in.Cause.Title),
			SubReason: in.Cause.SubReason, Confidence: in.Cause.Confidence, Word: in.Cause.Word, Summary: text(in.Summary),
			FailedAttempts: int32(in.FailedAttempts), TotalAttempts: int32(in.TotalAttempts),
		}
		seen := map[string]bool{}
		for _, s := range in.Subjects {
			if name := text(s.Namespace + "/" + s.Pod); s.Pod != "" && !seen[name] {
				seen[name] = true
				r.Pods = append(r.Pods, name)
			}
		}
		for _, c := range in.Consequences {
			r.Consequences = append(r.Consequences, c.Kind)
		}
		for _, rec := range in.Recommend {
			r.RecommendationIDs = append(r.RecommendationIDs, rec.ID)
		}
		out = append(out, r)
	}
	return out
}

func (m *mapper) findings() []findingRow {
	var out []findingRow
	for i := range m.res.Incidents {
		in := &m.res.Incidents[i]
		add := func(role, cause string, confidence float64, note string) {
			out = append(out, findingRow{
				key: m.key, stamp: at(in.Window.First.Nanos), IncidentID: in.ID, FindingID: m.id("finding", in.ID, role, cause),
				Role: role, CauseID: cause, Confidence: confidence, Word: model.Word(confidence), Note: text(note),
			})
		}
		add("primary", in.Cause.ID, in.Cause.Confidence, in.Cause.SubReason)
		for _, c := range in.Contributing {
			add("contributing", c.ID, c.Confidence, c.Note)
		}
		for _, a := range in.Alternatives {
			add("alternative", a.ID, a.Confidence, a.WhyNot)
		}
	}
	return out
}

func (m *mapper) evidence() []evidenceRow {
	var out []evidenceRow
	for i := range m.res.Incidents {
		in := &m.res.Incidents[i]
		for n, e := range in.Evidence {
			when := e.Time.Nanos
			if when == 0 {
				when = in.Window.First.Nanos
			}
			r := evidenceRow{
				key: m.key, stamp: at(when), IncidentID: in.ID,
				EvidenceID: m.id("evidence", in.ID, strconv.Itoa(n), e.Role, e.Claim, m.ref(e.Ref.Event())),
				CauseID:    in.Cause.ID, Role: e.Role, Claim: text(e.Claim), Excerpt: text(e.Excerpt), Rule: e.Rule,
				Weight: e.Weight, place: m.place(e.Ref.Event()),
			}
			for _, x := range e.More {
				r.MoreRefs = append(r.MoreRefs, m.ref(x.Event()))
			}
			out = append(out, r)
		}
	}
	return out
}
