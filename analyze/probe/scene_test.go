package probe

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// t0 is when the scenes of these tests begin; whole seconds read well in failures.
const t0 = event.Nanos(1_790_000_000e9)

var prober = netip.MustParseAddr("10.1.0.1")

// scene is a case made by hand: pods of one node, lines of its kubelet and
// connections in one capture of its bridge.
type scene struct {
	events []*event.Event
	infos  []*event.StreamInfo
	line   int64
	sport  uint16
}

const (
	logStream event.StreamID = iota + 1
	pcapStream
	objectStream
)

func newScene() *scene {
	return &scene{infos: []*event.StreamInfo{{ID: logStream, Node: "n1", Verbosity: 2, Path: "kubelet.log"}}}
}

// captured adds a capture that runs from one time to another and shows the ports.
func (s *scene) captured(from, to event.Nanos, ports ...uint16) *scene {
	c := &event.CaptureInfo{LinkTypes: []string{"EN10MB"}, First: from, Last: to}
	for _, p := range ports {
		c.Targets = append(c.Targets, event.TargetCount{Addr: netip.AddrPortFrom(podIP(0), p), SYN: 1, SYNACK: 1})
	}
	s.infos = append(s.infos, &event.StreamInfo{ID: pcapStream, Node: "n1", Path: "bridge.pcap", Capture: c, Verbosity: -1})
	return s
}

func podIP(n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 1, byte(1 + n/250), byte(2 + n%250)})
}

func podRef(n int) event.PodRef {
	return event.PodRef{Namespace: "shop", Name: fmt.Sprintf("web-%d", n), UID: fmt.Sprintf("uid-%d", n)}
}

// pod adds a pod with probes in its container "web", which has run since long
// before the scene.
func (s *scene) pod(n int, probes ...event.ProbeSpec) *scene {
	for i := range probes {
		p := &probes[i]
		if p.Handler == "" {
			p.Handler = "tcp"
		}
		if p.Port == 0 && p.Handler != "exec" {
			p.Port = 8080
		}
		p.Timeout, p.Success, p.Failure = max(p.Timeout, time.Second), max(p.Success, 1), max(p.Failure, 3)
	}
	started := t0.Add(-time.Hour)
	s.add(objectStream, t0, &event.PodSeen{Pod: podRef(n), Node: "n1", Created: started, Phase: "Running", IPs: []netip.Addr{podIP(n)},
		Containers: []event.ContainerSpec{{Name: "web", Probes: probes}},
		Statuses:   []event.ContainerStatus{{Name: "web", ID: fmt.Sprintf("c-%d", n), Ready: true, Started: true, State: "running", StartedAt: started}}})
	return s
}

func (s *scene) add(stream event.StreamID, at event.Nanos, p event.Payload) {
	s.line++
	s.events = append(s.events, &event.Event{Time: event.Known(at, time.Microsecond), Node: "n1", Ref: event.Ref{Stream: stream, Line: s.line}, Payload: p})
}

// failed adds a line of the kubelet: an attempt that was over at a time.
func (s *scene) failed(n int, t event.ProbeType, end event.Nanos, output string) *scene {
	s.add(logStream, end, &event.ProbeResult{Pod: podRef(n), Container: "web", Probe: t, Outcome: event.OutcomeFailed, Output: output})
	return s
}

// sync adds a line that tells of no failure: the log covers its time.
func (s *scene) sync(at event.Nanos) *scene {
	s.add(logStream, at, &event.PodSync{Op: event.SyncReconcile, Source: "api", Pod: podRef(0)})
	return s
}

func refused(n int) string {
	return fmt.Sprintf("dial tcp %s:8080: connect: connection refused", podIP(n))
}

// flow adds a connection whose SYN was sent at a time; more adds what came after.
func (s *scene) flow(n int, syn event.Nanos, more func(f *event.Flow)) *scene {
	s.sport++
	f := &event.Flow{Client: netip.AddrPortFrom(prober, 10000+s.sport), Server: netip.AddrPortFrom(podIP(n), 8080), ISN: uint32(s.line) + 1, SYNs: 1}
	f.SYN = mark(syn, s.line+1)
	f.First, f.Last = f.SYN, f.SYN
	if more != nil {
		more(f)
	}
	s.add(pcapStream, syn, f)
	s.events[len(s.events)-1].Ref.Packet = s.line
	return s
}

func mark(at event.Nanos, packet int64) event.Mark { return event.Mark{At: at, Packet: packet} }

// answered completes the handshake; the prober closes at once.
func answers(f *event.Flow) {
	f.SYNACK, f.ACK = mark(f.SYN.At.Add(50*time.Microsecond), f.SYN.Packet), mark(f.SYN.At.Add(80*time.Microsecond), f.SYN.Packet)
	f.SYNACKs = 1
	f.ClientFIN = mark(f.SYN.At.Add(200*time.Microsecond), f.SYN.Packet)
	f.Last = f.ClientFIN
}

func refuses(f *event.Flow) {
	f.ServerRST = mark(f.SYN.At.Add(40*time.Microsecond), f.SYN.Packet)
	f.Last = f.ServerRST
}

// requests sends a request over an answered connection, without a response.
func requests(f *event.Flow) {
	answers(f)
	f.ClientFIN = event.Mark{}
	f.App, f.Method, f.Path = "http", "GET", "/healthz"
	f.Request = mark(f.SYN.At.Add(300*time.Microsecond), f.SYN.Packet)
}

func responds(status int) func(*event.Flow) {
	return func(f *event.Flow) {
		requests(f)
		f.Response, f.Status = mark(f.SYN.At.Add(2*time.Millisecond), f.SYN.Packet), status
		f.ClientFIN = mark(f.SYN.At.Add(3*time.Millisecond), f.SYN.Packet)
	}
}

// join runs everything up to the join.
func (s *scene) join() (*Set, *capture.Set) {
	b := identity.NewBuilder()
	for _, e := range s.events {
		b.Add(e, e.Time.At)
	}
	x := b.Build(0)
	pb := NewBuilder(x)
	for _, e := range s.events {
		pb.Add(e, e.Time)
	}
	set := pb.Finish()
	cb := capture.NewBuilder(x, s.infos, nil, func(*event.StreamInfo) time.Duration { return 0 }, func(netip.AddrPort) bool { return true })
	for _, e := range s.events {
		cb.Add(e)
	}
	caps := cb.Build()
	set.Join(caps)
	return set, caps
}

func readiness(period time.Duration) event.ProbeSpec {
	return event.ProbeSpec{Type: event.Readiness, Period: period}
}

func liveness(period time.Duration) event.ProbeSpec {
	return event.ProbeSpec{Type: event.Liveness, Period: period}
}

// worker is the worker of pod n's container with the probe.
func (s *Set) worker(n int, t event.ProbeType) *Worker {
	for _, w := range s.Workers {
		if w.Pod.UID == podRef(n).UID && w.Type == t {
			return w
		}
	}
	return nil
}

func starts(w *Worker) []time.Duration {
	var out []time.Duration
	for _, a := range w.Attempts {
		out = append(out, a.Start.Sub(t0))
	}
	return out
}

func mustAddrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
