package analyze

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/clock"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// clocks learns years and zones, and compares the clocks of the case.
func (r *run) clocks(ctx context.Context) error {
	r.resolver = clock.New(r.stream.Infos(), clock.Hints{Zones: r.opts.Zones, BaseYear: r.opts.BaseYear, Date: r.opts.Date})
	c := clock.NewComparer()
	nodes := make(map[string]string)
	// Objects alone have nothing to be compared with.
	logs := slices.ContainsFunc(r.stream.Infos(), func(s *event.StreamInfo) bool {
		return s.Capture == nil && s.Kept > 0 && !strings.HasPrefix(s.Format, "kube-")
	})
	if err := r.each(ctx, reading{of: noPackets}, func(e *event.Event) {
		r.resolver.Observe(e)
		if logs {
			c.Observe(e)
		}
		noteNode(nodes, e)
	}); err != nil {
		return err
	}
	c.Zones(r.resolver)
	r.resolver.Settle()
	r.compared = c.Compare(r.resolver)
	r.offsets = newOffsets(r.compared, r.stream.Infos(), nodes, r.opts.Offsets)
	return nil
}

// noteNode remembers which node a pod is on, for records of the API server that
// name the pod only.
func noteNode(nodes map[string]string, e *event.Event) {
	switch p := e.Payload.(type) {
	case *event.PodSeen:
		if p.Node != "" {
			nodes[p.Pod.String()] = p.Node
		}
	case *event.PodSync:
		if e.Node != "" && p.Source != "audit" {
			nodes[p.Pod.String()] = e.Node
		}
	}
}

// place is a node's part of a stream.
type place struct {
	stream event.StreamID
	node   string
}

// offsets are what must be added to clocks other than captures' to get node time:
// those the user gave, and those that the data shows to differ from zero.
type offsets struct {
	given    map[event.StreamID]time.Duration // whole streams
	audit    map[place]time.Duration
	prefix   map[place]time.Duration // lines of a log that carry no header of their own
	events   map[string]time.Duration
	api      map[string]time.Duration // by node, "" for all
	apiGiven map[string]bool
	nodeOf   map[string]string // by namespace/name
	audits   map[event.StreamID]bool
}

// apiKey is the key of Options.Offsets for the API server's clock: alone for all
// nodes, or after a node and a slash.
const apiKey = "api"

func newOffsets(compared []clock.Comparison, infos []*event.StreamInfo, nodes map[string]string, given map[string]time.Duration) offsets {
	o := offsets{given: make(map[event.StreamID]time.Duration), audit: make(map[place]time.Duration), prefix: make(map[place]time.Duration),
		events: make(map[string]time.Duration), api: make(map[string]time.Duration), apiGiven: make(map[string]bool), nodeOf: nodes, audits: make(map[event.StreamID]bool)}
	for _, s := range infos {
		if d, ok := given[s.Path]; ok && s.Capture == nil {
			o.given[s.ID] = d
		}
		o.audits[s.ID] = s.Format == "audit-json"
	}
	for _, c := range compared {
		d, _, _ := c.Span.Middle()
		if !c.Differs() {
			continue
		}
		switch c.Kind {
		case clock.KindAudit:
			o.audit[place{c.Stream, c.Node}] = d
		case clock.KindJournal:
			o.prefix[place{c.Stream, c.Node}] = d
		case clock.KindEvents:
			o.events[c.Node] = d
		case clock.KindAPI:
			o.api[c.Node] = d
		}
	}
	if d, ok := given[apiKey]; ok {
		o.api[""], o.apiGiven[""] = d, true
	}
	for _, n := range nodes {
		if d, ok := given[n+"/"+apiKey]; ok {
			o.api[n], o.apiGiven[n] = d, true
		}
	}
	return o
}

// givenAPI is the offset the user named for the API's clock against a node.
func (o *offsets) givenAPI(node string) (time.Duration, bool) {
	for _, n := range [...]string{node, ""} {
		if o.apiGiven[n] {
			return o.api[n], true
		}
	}
	return 0, false
}

// ofAPI is what to add to a creation time to get the time of a node.
func (o *offsets) ofAPI(node string) time.Duration {
	if d, ok := o.givenAPI(node); ok {
		return d
	}
	return o.api[node]
}

// of is what to add to the time of an event that no capture holds.
func (o *offsets) of(e *event.Event) time.Duration {
	if d, ok := o.given[e.Ref.Stream]; ok {
		return d
	}
	if o.audits[e.Ref.Stream] {
		node := o.nodeOf[podOf(e.Payload)]
		if d, ok := o.givenAPI(node); ok {
			return d
		}
		return o.audit[place{e.Ref.Stream, node}]
	}
	if k, ok := e.Payload.(*event.K8sEvent); ok && !k.FromLog && k.Component == "kubelet" {
		return o.events[e.Node]
	}
	if e.Logged.IsZero() && len(o.prefix) > 0 {
		return o.prefix[place{e.Ref.Stream, e.Node}]
	}
	return 0
}

// podOf is the pod an audit entry speaks of.
func podOf(p event.Payload) string {
	switch p := p.(type) {
	case *event.PodSync:
		return p.Pod.String()
	case *event.PodSeen:
		return p.Pod.String()
	case *event.PodIP:
		return p.Pod.String()
	}
	return ""
}

// at is the resolved time of an event on the clock of its node; zero when
// nothing anchors it.
func (r *run) at(e *event.Event) event.Stamp {
	s := r.resolver.Resolve(e.Time, e.Node, e.Ref.Stream)
	switch {
	case s.Missing&event.MissingEpoch != 0:
		s.At = 0
	case s.At != 0:
		if d := r.offsets.of(e); d != 0 {
			s.At = s.At.Add(d)
			s.Basis |= event.BasisOffsetApplied
		}
	}
	return s
}

// onNodeClock resolves the stamps that a payload carries, and moves them to the
// clock of the node.
func (r *run) onNodeClock(e *event.Event) *event.Event {
	switch p := e.Payload.(type) {
	case *event.K8sEvent:
		d := r.offsets.of(e)
		k := *p
		k.First = r.resolver.Resolve(k.First, e.Node, e.Ref.Stream)
		k.Last = r.resolver.Resolve(k.Last, e.Node, e.Ref.Stream)
		k.First.At, k.Last.At = moved(k.First.At, d), moved(k.Last.At, d)
		if k.First == p.First && k.Last == p.Last {
			return e // as in most: nothing to copy
		}
		x := *e
		x.Payload = &k
		return &x
	case *event.PodSeen:
		d := r.offsets.ofAPI(r.offsets.nodeOf[p.Pod.String()])
		if d == 0 {
			return e
		}
		q := *p
		q.Created, q.Deleted = moved(q.Created, d), moved(q.Deleted, d)
		x := *e
		x.Payload = &q
		return &x
	}
	return e
}

func moved(t event.Nanos, d time.Duration) event.Nanos {
	if t == 0 {
		return 0
	}
	return t.Add(d)
}

// captureShift is what must be added to a capture's times: the day of a text
// without dates, and an offset the user gave.
func (r *run) captureShift(s *event.StreamInfo) time.Duration {
	o, _ := r.givenCapture(s)
	return r.captureDay(s) + o
}

// captureDay is the midnight that times of a text without dates count from, zero
// for a capture that has dates.
func (r *run) captureDay(s *event.StreamInfo) time.Duration {
	if !slices.Contains(s.Capture.Lacks, "date") {
		return 0
	}
	return time.Duration(r.resolver.Day(s.ID))
}

// givenCapture is the offset the user named for a capture or its node.
func (r *run) givenCapture(s *event.StreamInfo) (time.Duration, bool) {
	for _, key := range []string{s.Path, s.Node} {
		if o, ok := r.opts.Offsets[key]; ok && key != "" {
			return o, true
		}
	}
	return 0, false
}

// unsettled reports whether captures of the node were moved by an offset that
// is not the only one the data allows.
func (r *run) unsettled(node string) bool {
	return slices.ContainsFunc(r.aligned, func(a probe.Alignment) bool {
		return a.Applied && !a.Settled() && (a.Captures[0].Node == node || a.Captures[0].Node == "" || node == "")
	})
}
