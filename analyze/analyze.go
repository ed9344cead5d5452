package analyze

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/clock"
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Run analyses a stream of events. The same stream and options give the same
// result. The error is that of the stream or of the context; what is missing or
// contradictory in the data is part of the result.
func Run(ctx context.Context, s event.Stream, inputs []InputInfo, opts Options) (*model.Result, error) {
	r := &run{stream: s, opts: opts}
	for _, step := range []func(context.Context) error{r.clocks, r.identities, r.packets, r.judge} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return r.result(inputs), nil
}

// run is the state of one analysis, filled step by step.
type run struct {
	stream   event.Stream
	opts     Options
	resolver *clock.Resolver
	compared []clock.Comparison
	offsets  offsets
	index    *identity.Index
	probes   *probe.Set
	captures *capture.Set
	aligned  []probe.Alignment
	cases    []*rules.Case
	verdicts []model.Incident
	disputed map[*identity.Interval]bool
	cluster  string
	lines    int64
	packetsN int64
	census   *capture.Census // of large captures, until they are read
}

// each iterates over events and stops when the context ends.
func (r *run) each(ctx context.Context, what reading, f func(*event.Event)) error {
	n := 0
	for e, err := range r.events(what) {
		if err != nil {
			return fmt.Errorf("read the events of the case: %w", err)
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		f(e)
	}
	return ctx.Err()
}

// identities builds pods first, then the attempts that name them.
func (r *run) identities(ctx context.Context) error {
	b := identity.NewBuilder()
	r.takeCensus()
	if err := r.each(ctx, reading{of: everything}, func(e *event.Event) {
		r.count(e)
		e = r.onNodeClock(e)
		b.Add(e, r.at(e).At)
		if o, ok := e.Payload.(*event.ObjectSeen); ok && o.ObjectKind == "Namespace" && o.Name == "kube-system" && o.UID != "" {
			r.cluster = o.UID
		}
	}); err != nil {
		return err
	}
	r.index = b.Build(r.resolver.CollectedAt())
	p := probe.NewBuilder(r.index)
	if err := r.each(ctx, reading{of: noCaptures}, func(e *event.Event) {
		switch e.Payload.Kind() {
		case event.KindProbeResult, event.KindProbeState, event.KindProbeTarget, event.KindPodSync:
			p.Add(e, r.at(e))
		}
	}); err != nil {
		return err
	}
	for _, s := range r.stream.Infos() {
		if s.Verbosity >= 1 && s.Capture == nil && !s.First.IsZero() {
			first, last := r.resolver.Resolve(s.First, s.Node, s.ID), r.resolver.Resolve(s.Last, s.Node, s.ID)
			p.Cover(s.Node, first.At, last.At)
		}
	}
	r.probes = p.Finish()
	return nil
}

// packets reads the captures: only connections to something probed are kept.
func (r *run) packets(ctx context.Context) error {
	want := r.wanted()
	shifts := make(map[event.StreamID]time.Duration)
	for _, s := range r.stream.Infos() {
		if s.Capture != nil {
			shifts[s.ID] = r.captureShift(s)
		}
	}
	b := capture.NewBuilder(r.index, r.stream.Infos(), r.opts.CapturePoints,
		func(s *event.StreamInfo) time.Duration { return shifts[s.ID] }, want)
	if err := r.addPackets(ctx, b); err != nil {
		return err
	}
	r.captures = b.Build()
	r.aligned = r.probes.Align(r.captures, func(c *capture.Capture) bool {
		_, ok := r.givenCapture(c.Info)
		return ok
	})
	r.probes.Join(r.captures)
	r.probes.Addresses(r.index)
	r.probes.Thresholds()
	r.probes.Missing(r.captures)
	return nil
}

// wanted tells which server addresses matter: those of pods, those that outputs
// name, and, where no pod is known at all, every one.
func (r *run) wanted() func(netip.AddrPort) bool {
	if len(r.index.Pods) == 0 {
		return func(netip.AddrPort) bool { return true }
	}
	hosts := make(map[netip.Addr]bool)
	for _, w := range r.probes.Workers {
		if w.Pod.HostNetwork {
			for _, ip := range w.Pod.HostIPs {
				hosts[ip] = true
			}
		}
		for _, a := range w.Attempts {
			if a.Addr.IsValid() {
				hosts[a.Addr.Addr()] = true
			}
		}
	}
	return func(ap netip.AddrPort) bool {
		return hosts[ap.Addr()] || len(r.index.PodsWith(ap.Addr())) > 0
	}
}

// judge groups incidents and asks the rules.
func (r *run) judge(ctx context.Context) error {
	pods := incident.Build(r.probes)
	nodes := incident.NodeCandidates(r.probes, pods)
	states := incident.States(r.index, r.probes, r.captures, pods)
	all := slices.Concat(pods, states)
	replaced := make(map[*incident.Incident]bool)
	thresholds := rules.DefaultThresholds(r.opts.Thresholds)
	inputs := rules.NewInputs(r.stream.Infos(), r.stream.Problems())
	newCase := func(i *incident.Incident) *rules.Case {
		return &rules.Case{Incident: i, Index: r.index, Captures: r.captures, Probes: r.probes, Incidents: all,
			Thresholds: thresholds, Inputs: inputs, ClockUncertain: r.unsettled(i.Node)}
	}
	keep := func(c *rules.Case, v model.Incident) {
		r.cases = append(r.cases, c)
		r.verdicts = append(r.verdicts, v)
	}
	for _, n := range nodes {
		c := newCase(n)
		v := rules.Judge(c)
		// A node incident stands only when a cause of the node explains it: else its pods
		// fail together for reasons of their own.
		if !nodeCause(v.Cause) {
			continue
		}
		for _, p := range n.Parts {
			replaced[p] = true
		}
		keep(c, v)
	}
	for _, i := range all {
		if replaced[i] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		c := newCase(i)
		keep(c, rules.Judge(c))
	}
	r.share(newCase)
	return nil
}

// nodeCause reports whether the verdict is about the node rather than a pod.
func nodeCause(c model.Cause) bool {
	if c.ID == rules.Inconclusive || c.Confidence < 0.4 {
		return false
	}
	switch c.ID {
	case "conntrack-exhausted", "clock-jump":
		return true
	}
	return c.Family == string(rules.FamilyNode)
}
