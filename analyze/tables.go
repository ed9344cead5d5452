package analyze

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"net/netip"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// attemptTable keeps the rows of probe_attempts and which incident claims them.
type attemptTable struct {
	rows []model.Attempt
	at   map[*probe.Attempt]int
}

func (t *attemptTable) claim(a *probe.Attempt, incident string) {
	if i, ok := t.at[a]; ok {
		t.rows[i].Incident = incident
	}
}

// row is the row of an attempt; the zero row for one that is in no table.
func (t *attemptTable) row(a *probe.Attempt) *model.Attempt {
	if i, ok := t.at[a]; ok {
		return &t.rows[i]
	}
	return &model.Attempt{}
}

func (r *run) attempts() *attemptTable {
	n := 0
	for _, w := range r.probes.Workers {
		n += len(w.Attempts) + len(w.Missing)
	}
	t := &attemptTable{rows: make([]model.Attempt, 0, n), at: make(map[*probe.Attempt]int, n)}
	for _, w := range r.probes.Workers {
		for _, list := range [...][]*probe.Attempt{w.Attempts, w.Missing} {
			for _, a := range list {
				t.at[a] = len(t.rows)
				t.rows = append(t.rows, attemptRow(w, a))
			}
		}
	}
	return t
}

func attemptRow(w *probe.Worker, a *probe.Attempt) model.Attempt {
	m := model.Attempt{Namespace: w.Pod.Namespace, Pod: w.Pod.Name, UID: w.Pod.UID, Node: w.Pod.Node, Container: w.Container,
		Probe: w.Type.String(), Outcome: a.Outcome.String(), Source: a.Source, ErrorClass: string(a.Class), Output: a.Output, Target: a.Target,
		Start: a.Start, End: a.End, StartInferred: a.StartInferred, TimeBasis: a.Basis.String(),
		ARPMs: ms(a.Phases.ARP), ConnectMs: ms(a.Phases.Connect), FirstByteMs: ms(a.Phases.FirstByte),
		Count: max(a.Count, 1), Since: a.Since, Refs: a.Refs, JoinReason: a.JoinReason, JoinConfidence: a.JoinScore, Threshold: a.Threshold}
	if a.Missing {
		m.Outcome = "missing"
	}
	if a.Conn != nil {
		m.FlowID = a.Conn.ID
		if a.Source == "log" {
			m.Source = "log+packets"
		}
		for _, s := range a.Conn.Sightings {
			m.FlowRefs = append(m.FlowRefs, s.Ref)
		}
	}
	for _, e := range a.Effects {
		m.Effects = append(m.Effects, model.Consequence{Kind: e.Kind, Text: e.Text, At: model.At(e.At), Ref: model.RefOf(e.Ref)})
	}
	h := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%s|%s|%s|%d|%s|%s|%s:%d", m.Namespace, m.Pod, m.UID, m.Container, m.Probe, m.End, m.Outcome, m.Output, m.Target.Host, m.Target.Port))
	m.ID = hex.EncodeToString(h[:8])
	for i := range m.Effects {
		m.Effects[i].Attempt = m.ID
	}
	return m
}

func ms(d time.Duration) float64 {
	if d < 0 {
		return -1
	}
	return float64(d) / float64(time.Millisecond)
}

// pod writes down what is known of a pod.
func (r *run) pod(p *identity.Pod) model.Pod {
	m := model.Pod{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: p.Node, Owner: model.Owner{Kind: p.Owner.Kind, Name: p.Owner.Name},
		HostNetwork: p.HostNetwork, Phase: p.Phase, Deleted: p.DeletedAt != 0, Containers: []model.Container{}, Probes: []model.Probe{}, IPIntervals: []model.IPInterval{}}
	for _, c := range p.Containers {
		k := model.Container{Name: c.Name}
		for _, s := range p.Statuses {
			if s.Name == c.Name {
				k.Restarts, k.State, k.Reason = s.RestartCount, s.State, s.Reason
				if s.LastRun.ID != "" {
					code := s.LastRun.ExitCode
					k.ExitCode = &code
				}
			}
		}
		m.Containers = append(m.Containers, k)
	}
	for _, w := range r.probes.OfPod(p) {
		m.Probes = append(m.Probes, probeOf(w))
	}
	var cidrs []netip.Prefix
	if n := r.index.Node(p.Node); n != nil {
		cidrs = n.PodCIDRs
	}
	for i := range p.Intervals {
		m.IPIntervals = append(m.IPIntervals, r.interval(&p.Intervals[i], cidrs))
	}
	for _, s := range p.Sandboxes {
		m.Sandboxes = append(m.Sandboxes, model.Sandbox{ID: s.ID, Attempt: s.Attempt, From: model.At(s.From), To: model.At(s.To), Ref: firstRef(s.Refs)})
	}
	for _, x := range p.Runs {
		k := model.Run{Container: x.Container, ID: x.ID, From: model.At(x.From), To: model.At(x.To), Reason: x.Reason, Ref: firstRef(x.Refs)}
		if x.ExitCode >= 0 && x.To != 0 {
			code := x.ExitCode
			k.ExitCode = &code
		}
		switch {
		case x.KilledBy != event.ProbeUnknown:
			k.KilledBy = x.KilledBy.String()
		case x.Deletion:
			k.KilledBy = "deletion"
		}
		m.Runs = append(m.Runs, k)
	}
	for _, c := range p.Ready {
		m.Ready = append(m.Ready, model.ReadyAt{At: model.At(c.At), Probe: c.Probe.String(), Status: c.Status, Ref: model.RefOf(c.Ref)})
	}
	return m
}

func firstRef(rs []event.Ref) model.Ref {
	if len(rs) == 0 {
		return model.Ref{}
	}
	return model.RefOf(rs[0])
}

func probeOf(w *probe.Worker) model.Probe {
	m := model.Probe{Container: w.Container, Probe: w.Type.String(), Handler: w.Handler, PeriodSec: w.Period.Seconds(), TimeoutSec: w.Timeout.Seconds(),
		Target: model.Target{Scheme: w.Handler, Port: w.Port, Path: w.Path}}
	if s := w.Spec; s != nil {
		m.InitialDelaySec, m.SuccessThreshold, m.FailureThreshold = s.InitialDelay.Seconds(), s.Success, s.Failure
		m.Target.Host = s.Host
		m.Target.Scheme = strings.ToLower(cmp.Or(s.Scheme, w.Handler))
	}
	for _, a := range w.Attempts {
		n := int(max(a.Count, 1))
		m.Attempts += n
		switch {
		case a.Failed():
			m.Failed += n
		case a.Outcome == event.OutcomeSucceeded || a.Outcome == event.OutcomeWarning:
			m.Succeeded += n
		}
	}
	m.Grid = w.Grid
	for _, a := range w.Missing {
		m.Missing += int(a.Count)
	}
	return m
}

// interval states whether another claim opposes it, and whether the IP lies in
// the node's range.
func (r *run) interval(iv *identity.Interval, cidrs []netip.Prefix) model.IPInterval {
	m := model.IPInterval{IP: iv.IP.String(), From: model.At(iv.From), To: model.At(iv.To), State: "held", Primary: iv.Primary, PrimaryWhy: iv.PrimaryWhy, Sandbox: iv.Sandbox,
		MAC: iv.MAC.String(), Sources: []model.IPSource{}}
	switch iv.State {
	case identity.Targeted:
		m.State = "targeted"
	case identity.Stale:
		m.State = "stale"
	}
	if m.State == "held" && r.disputed[iv] {
		m.State = "disputed"
	}
	for _, c := range cidrs {
		if c.Addr().Is4() != iv.IP.Is4() {
			continue
		}
		if c.Contains(iv.IP) {
			m.InPodCIDR = "yes"
			break
		}
		m.InPodCIDR = "no"
	}
	for _, s := range iv.Sources {
		m.Sources = append(m.Sources, sourceOf(s))
	}
	return m
}

// flowName is what a row of flows says beyond what its frames tell.
type flowName struct {
	id, unjoined, namespace, pod, uid string
}

// vantage is where and how a capture was taken.
type vantage struct {
	node, point string
	offset      time.Duration // added to every time
	moved       time.Duration // of it, the difference between clocks
}

// tables offers the rows that are too many for report.json. It keeps no attempt,
// connection or pod: they are most of what an analysis holds, and reports are
// written after it.
func (r *run) tables(attempts *attemptTable) model.Tables {
	views := make(map[event.StreamID]vantage)
	for _, c := range r.captures.Captures {
		views[c.Info.ID] = vantage{c.Node, string(c.Point), c.Offset, c.Offset - r.captureDay(c.Info)}
	}
	names := make(map[event.Ref]*flowName)
	for _, c := range r.captures.Conns {
		n := &flowName{id: c.ID, unjoined: r.probes.StrayWhy[c]}
		if c.Pod != nil {
			n.namespace, n.pod, n.uid = c.Pod.Namespace, c.Pod.Name, c.Pod.UID
		}
		for _, s := range c.Sightings {
			names[s.Ref] = n
		}
	}
	later := &run{stream: r.stream, resolver: r.resolver, offsets: r.offsets}
	return model.Tables{
		Attempts: attempts.rows,
		Flows: func() iter.Seq2[*model.FlowRow, error] {
			return func(yield func(*model.FlowRow, error) bool) {
				for e, err := range later.events(reading{of: captures, keeps: true}) {
					if err != nil {
						yield(nil, err)
						return
					}
					f, ok := e.Payload.(*event.Flow)
					if !ok {
						continue
					}
					v, known := views[e.Ref.Stream]
					row := &model.FlowRow{Flow: f.Shift(v.offset), Ref: e.Ref, Node: e.Node, OffsetMS: milliseconds(v.moved)}
					if known {
						row.Node, row.Capture = v.node, v.point
					}
					if n := names[e.Ref]; n != nil {
						row.ID, row.Unjoined, row.Namespace, row.Pod, row.UID = n.id, n.unjoined, n.namespace, n.pod, n.uid
					}
					if !yield(row, nil) {
						return
					}
				}
			}
		},
		ARP: func() iter.Seq2[*model.ARPRow, error] {
			return func(yield func(*model.ARPRow, error) bool) {
				for e, err := range later.events(reading{of: captures}) {
					if err != nil {
						yield(nil, err)
						return
					}
					if a, ok := e.Payload.(*event.ARP); ok {
						v := views[e.Ref.Stream]
						row := &model.ARPRow{At: e.Time.At.Add(v.offset), ARP: a, Ref: e.Ref, Node: v.node}
						if !yield(row, nil) {
							return
						}
					}
				}
			}
		},
		Events: func() iter.Seq2[*model.EventRow, error] {
			return func(yield func(*model.EventRow, error) bool) {
				for e, err := range later.events(reading{of: noPackets, keeps: true}) {
					if err != nil {
						yield(nil, err)
						return
					}
					switch e.Payload.Kind() {
					case event.KindFlow, event.KindARP, event.KindEgress:
						continue
					}
					at := later.at(e)
					row := &model.EventRow{At: at.At, TimeBasis: at.Basis.String(), Node: e.Node, Kind: e.Payload.Kind().String(), Ref: e.Ref}
					describe(row, e.Payload)
					if !yield(row, nil) {
						return
					}
				}
			}
		},
	}
}
