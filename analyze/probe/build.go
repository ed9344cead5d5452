package probe

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Builder rebuilds attempts from log lines and Event objects.
type Builder struct {
	x       *identity.Index
	workers map[workerKey]*Worker
	lines   map[lineKey]*Attempt
	results []*Attempt
	// logs are the spans in which a kubelet log of a node would have shown a failure.
	logs map[string]*span
	// told are the successes that the logs of a node tell, in any order.
	told map[string][]event.Nanos
	// targets are V(4) lines: the address of the attempt about to run.
	targets []target
}

type workerKey struct {
	pod       *identity.Pod
	container string
	probe     event.ProbeType
}

// lineKey is the identity of a kubelet line: the same line in several streams is
// one attempt with several references.
type lineKey struct {
	at        event.Nanos // microseconds
	pod       *identity.Pod
	container string
	probe     event.ProbeType
	outcome   event.Outcome
	output    string
}

type span struct{ from, to event.Nanos }

type target struct {
	at event.Nanos
	*event.ProbeTarget
	ref event.Ref
}

// NewBuilder returns a builder on an index.
func NewBuilder(x *identity.Index) *Builder {
	return &Builder{x: x, workers: make(map[workerKey]*Worker), lines: make(map[lineKey]*Attempt), logs: make(map[string]*span), told: make(map[string][]event.Nanos)}
}

// Add takes one event at its resolved time.
func (b *Builder) Add(e *event.Event, at event.Stamp) {
	switch p := e.Payload.(type) {
	case *event.ProbeResult:
		b.covered(e.Node, at.At)
		if (p.Outcome == event.OutcomeSucceeded || p.Outcome == event.OutcomeWarning) && at.At != 0 {
			b.told[e.Node] = append(b.told[e.Node], at.At)
		}
		b.result(p, e, at)
	case *event.PodSync, *event.ProbeState:
		b.covered(e.Node, at.At)
	case *event.ProbeTarget:
		b.targets = append(b.targets, target{at: at.At, ProbeTarget: p, ref: e.Ref})
	}
}

// Cover tells the builder that a kubelet log of the node, at a verbosity that
// shows failed probes, spans the time.
func (b *Builder) Cover(node string, from, to event.Nanos) {
	b.covered(node, from)
	b.covered(node, to)
}

func (b *Builder) covered(node string, at event.Nanos) {
	s := b.logs[node]
	if s == nil {
		b.logs[node] = &span{at, at}
		return
	}
	s.from, s.to = min(s.from, at), max(s.to, at)
}

// pod finds the incarnation a record speaks of.
func (b *Builder) pod(ref event.PodRef, at event.Nanos) *identity.Pod {
	if ref.UID != "" {
		if p := b.x.ByUID(ref.UID); p != nil {
			return p
		}
	}
	var found *identity.Pod
	for _, p := range b.x.ByName(ref.Namespace, ref.Name) {
		if found == nil || p.First <= at {
			found = p
		}
	}
	return found
}

func (b *Builder) worker(p *identity.Pod, container string, t event.ProbeType) *Worker {
	k := workerKey{p, container, t}
	w := b.workers[k]
	if w == nil {
		w = &Worker{Pod: p, Container: container, Type: t, Spec: p.Spec(container, t)}
		if s := w.Spec; s != nil {
			w.Handler, w.Port, w.Path, w.Period, w.Timeout = s.Handler, s.Port, s.Path, s.Period, s.Timeout
		}
		b.workers[k] = w
	}
	return w
}

func (b *Builder) result(p *event.ProbeResult, e *event.Event, at event.Stamp) {
	pod := b.pod(p.Pod, at.At)
	if pod == nil {
		return
	}
	k := lineKey{at.At / 1000, pod, p.Container, p.Probe, p.Outcome, p.Output}
	if a := b.lines[k]; a != nil {
		a.Refs = append(a.Refs, e.Ref)
		return
	}
	w := b.worker(pod, p.Container, p.Probe)
	r := Classify(p.Outcome, p.Output, w.Handler)
	a := &Attempt{Worker: w, Outcome: p.Outcome, Source: "log", Class: r.Class, Output: p.Output, Target: r.Target, Addr: r.Addr,
		Local: r.Local, Status: r.Status, End: at.At, Basis: at.Basis, Count: 1, Refs: []event.Ref{e.Ref}, Phases: Phases{-1, -1, -1}}
	b.lines[k] = a
	b.results = append(b.results, a)
	w.Attempts = append(w.Attempts, a)
}

// Finish adds what only Event objects tell, fills in what specs and outputs
// teach about each worker, and returns the workers. Joining to packets comes
// after.
func (b *Builder) Finish() *Set {
	// Every declared probe is a worker, also when nothing was logged for it.
	for _, p := range b.x.Pods {
		for _, c := range p.Containers {
			for _, s := range c.Probes {
				b.worker(p, c.Name, s.Type)
			}
		}
	}
	for _, p := range b.x.Pods {
		b.fromEvents(p)
	}
	s := &Set{}
	for _, w := range b.workers {
		s.Workers = append(s.Workers, w)
	}
	slices.SortFunc(s.Workers, func(v, w *Worker) int {
		return cmp.Or(strings.Compare(v.Pod.Namespace, w.Pod.Namespace), strings.Compare(v.Pod.Name, w.Pod.Name),
			cmp.Compare(v.Pod.First, w.Pod.First), strings.Compare(v.Pod.UID, w.Pod.UID),
			strings.Compare(v.Container, w.Container), cmp.Compare(v.Type, w.Type))
	})
	for i, w := range s.Workers {
		w.number = i
		w.sort()
		w.learn()
		for _, a := range w.Attempts {
			b.complete(a)
		}
	}
	b.attachTargets()
	s.index, s.logs = b.x, b.logs
	s.restarts = make(map[string][]identity.Restart)
	for _, n := range b.x.Nodes {
		s.restarts[n.Name] = n.Restarts()
	}
	s.verbose = make(map[string][]span)
	for node, told := range b.told {
		s.verbose[node] = s.tellsSuccess(node, told)
	}
	return s
}

func (w *Worker) sort() {
	slices.SortStableFunc(w.Attempts, func(a, c *Attempt) int {
		return cmp.Or(cmp.Compare(a.End, c.End), cmp.Compare(a.Outcome, c.Outcome), strings.Compare(a.Output, c.Output))
	})
	for _, a := range w.Attempts {
		slices.SortFunc(a.Refs, event.Ref.Compare)
	}
}

// learn fills handler, port, period and timeout from the outputs where no input
// holds the pod object.
func (w *Worker) learn() {
	if w.Spec != nil {
		return
	}
	for _, a := range w.Attempts {
		t := a.Target
		switch {
		case t.Scheme == "http" || t.Scheme == "https":
			w.Handler, w.Port, w.Path = "http", t.Port, t.Path
		case t.Scheme == "tcp" && w.Handler == "":
			w.Handler, w.Port = "tcp", t.Port
		case t.Scheme == "grpc":
			w.Handler, w.Port = "grpc", t.Port
		case a.Class == ClassStatus:
			w.Handler = "http"
		case a.Class == ClassExecExit || a.Class == ClassExecTimeout:
			w.Handler = cmp.Or(w.Handler, "exec")
		}
	}
	w.Period = w.spacing()
}

// spacing is the usual distance of consecutive failures, whole seconds; zero when
// fewer than three tell.
func (w *Worker) spacing() time.Duration {
	votes := make(map[time.Duration]int)
	for i := 1; i < len(w.Attempts); i++ {
		if d := w.Attempts[i].End.Sub(w.Attempts[i-1].End).Round(time.Second); d > 0 {
			votes[d]++
		}
	}
	var best time.Duration
	n := 1
	for d, v := range votes {
		if v > n || v == n && n > 1 && d < best {
			best, n = d, v
		}
	}
	return best
}

// complete fills the target and start of an attempt from spec and history.
func (b *Builder) complete(a *Attempt) {
	w := a.Worker
	t := &a.Target
	if t.Scheme == "" || t.Scheme == "tcp" && w.Handler == "http" {
		t.Scheme = w.scheme()
	}
	if t.Port == 0 {
		t.Port = w.Port
	}
	if t.Path == "" || a.Class == ClassRedirect {
		t.Path = w.Path
	}
	if w.Handler == "exec" {
		*t = model.Target{Scheme: "exec"}
	}
	if a.Addr.IsValid() {
		b.x.Observe(w.Pod, a.Addr.Addr(), a.End, "probe-output", a.Refs[0])
	}
	timeout := w.Timeout
	if timeout == 0 {
		timeout = time.Second
	}
	switch {
	case a.Class.Timeout() || a.Class == ClassExecTimeout || a.Class == ClassBody:
		a.Start, a.StartInferred = a.End.Add(-timeout), true
	default:
		a.Start, a.StartInferred = a.End, true
	}
}

// scheme is what the target of a worker is called.
func (w *Worker) scheme() string {
	if w.Handler == "http" && w.Spec != nil {
		return strings.ToLower(cmp.Or(w.Spec.Scheme, "http"))
	}
	return w.Handler
}

// PrimaryIP is the address the kubelet would have dialled at t: the override of
// the spec, else the pod's primary IP then.
func (w *Worker) PrimaryIP(t event.Nanos) netip.Addr {
	if w.Spec != nil && w.Spec.Host != "" {
		if ip, err := netip.ParseAddr(w.Spec.Host); err == nil {
			return ip
		}
	}
	if w.Pod.HostNetwork && len(w.Pod.HostIPs) > 0 {
		return w.Pod.HostIPs[0]
	}
	var found netip.Addr
	for i := range w.Pod.Intervals {
		iv := &w.Pod.Intervals[i]
		if iv.Contains(t) && (iv.Primary || !found.IsValid()) {
			found = iv.IP
		}
	}
	return found
}

// attachTargets gives attempts without an address the one a V(4) line named just
// before: the line has no pod, so host and port must match the worker.
func (b *Builder) attachTargets() {
	if len(b.targets) == 0 {
		return
	}
	slices.SortStableFunc(b.targets, func(x, y target) int { return cmp.Or(cmp.Compare(x.at, y.at), x.ref.Compare(y.ref)) })
	at := make(map[netip.AddrPort][]target)
	for _, t := range b.targets {
		if ip, err := netip.ParseAddr(strings.Trim(t.Host, "[]")); err == nil {
			k := netip.AddrPortFrom(ip.Unmap(), uint16(t.Port))
			at[k] = append(at[k], t)
		}
	}
	for _, a := range b.results {
		if a.Addr.IsValid() || a.Worker.Handler == "exec" {
			continue
		}
		var best target
		for i := range a.Worker.Pod.Intervals {
			k := netip.AddrPortFrom(a.Worker.Pod.Intervals[i].IP, uint16(a.Worker.Port))
			if t := lastTarget(at[k], a); t.at > best.at || t.at == best.at && t.at != 0 && best.ref.Compare(t.ref) < 0 {
				best = t
				a.Addr = k
			}
		}
		if best.at != 0 {
			a.Start, a.StartInferred = best.at, false
		}
	}
}

// lastTarget is the last of the targets, in time order, that the attempt may have
// gone to; the zero target for none.
func lastTarget(ts []target, a *Attempt) target {
	i, _ := slices.BinarySearchFunc(ts, a.End, func(t target, end event.Nanos) int {
		if t.at <= end {
			return -1
		}
		return 1
	})
	for i--; i >= 0 && a.End.Sub(ts[i].at) <= max(a.Worker.Timeout, time.Second)+time.Second; i-- {
		if ts[i].Path == "" || ts[i].Path == a.Worker.Path {
			return ts[i]
		}
	}
	return target{}
}

// tellsSuccess returns the spans in which a node's log tells successes: in the life
// of each kubelet from the first such line to the end of its log, for verbosity is
// set when a kubelet starts.
func (s *Set) tellsSuccess(node string, told []event.Nanos) []span {
	slices.Sort(told)
	var out []span
	for _, t := range told {
		l := s.lifeAt(node, t)
		if n := len(out); n > 0 && out[n-1].from >= l.from && l.contains(out[n-1].from) {
			out[n-1].to = max(out[n-1].to, t)
			continue
		}
		out = append(out, span{t, t})
	}
	for i := range out {
		end := s.logs[node].to
		for _, r := range s.restarts[node] {
			if r.Started > out[i].from {
				end = min(end, r.Stopped)
				break
			}
		}
		out[i].to = max(out[i].to, end)
	}
	return out
}
