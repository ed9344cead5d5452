package probe

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// tolerance is how far a kubelet line may lie from the end of its connection on
// one clock: 0.1 to 5 ms usually, tens of ms on a busy node.
const tolerance = 60 * time.Millisecond

// Reasons for which an attempt has no connection, as JoinReason.
const (
	WhyExec           = "exec"             // ran inside the container
	WhyEventOnly      = "event-times-only" // an event's whole seconds can't tell
	WhyTargetUnknown  = "target-unknown"   // no address or port is known
	WhyLoopback       = "loopback"         // the node spoke to itself
	WhyNoCapture      = "no-capture"       // the inputs hold no packets
	WhyGap            = "gap"              // no capture ran then, or it has a hole
	WhyOtherInterface = "other-interface"  // captures ran, none where the node's side shows
	WhyARPPending     = "arp-pending"      // nobody said who has the address
	WhyFiltered       = "filtered"         // the capture shows no packet of the port, ever
	WhyAmbiguous      = "ambiguous"        // a connection is there, but none that fits and is free
	WhyNoSYN          = "no-syn"           // nothing was sent
)

// Join sets attempts and connections side by side: one connection to one
// attempt, as many as possible and the closest ones, see assign. What is left on
// either side keeps a reason.
func (s *Set) Join(caps *capture.Set) {
	s.Probers = make(map[netip.Addr]bool)
	logged := s.fromLines()
	number := make(map[*capture.Conn]int)
	var conns []*capture.Conn
	var edges []edge
	for i, a := range logged {
		for _, p := range candidates(caps, a) {
			n, ok := number[p.c]
			if !ok {
				n = len(conns)
				number[p.c] = n
				conns = append(conns, p.c)
			}
			edges = append(edges, edge{i, n, int64(p.cost)})
		}
	}
	match, greedy := assign(len(logged), len(conns), edges)
	s.Greedy = greedy
	taken := make(map[*capture.Conn]bool)
	for i, k := range match {
		if k < 0 {
			continue
		}
		c := conns[edges[k].c]
		taken[c] = true
		logged[i].join(c, time.Duration(edges[k].cost))
		s.Probers[c.Client.Addr()] = true
	}
	for _, w := range s.Workers {
		for _, a := range w.Attempts {
			if a.Conn == nil {
				a.JoinReason = whyNot(caps, a)
			}
		}
	}
	s.fromPackets(caps, taken)
	if len(s.Workers) == 0 {
		s.captureOnly(caps)
	}
}

// fromLines returns the attempts that a log told, in an order that depends on
// nothing but what they are.
func (s *Set) fromLines() []*Attempt {
	var out []*Attempt
	for _, w := range s.Workers {
		for _, a := range w.Attempts {
			if a.Source == "log" {
				out = append(out, a)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *Attempt) int {
		v, w := a.Worker, b.Worker
		return cmp.Or(cmp.Compare(a.End, b.End), strings.Compare(v.Pod.Namespace, w.Pod.Namespace), strings.Compare(v.Pod.Name, w.Pod.Name),
			strings.Compare(v.Pod.UID, w.Pod.UID), strings.Compare(v.Container, w.Container), cmp.Compare(v.Type, w.Type),
			cmp.Compare(a.Outcome, b.Outcome), strings.Compare(a.Output, b.Output))
	})
	return out
}

// pair is a candidate: a connection that may be an attempt's, and how far the two
// lie apart.
type pair struct {
	c    *capture.Conn
	cost time.Duration
}

// Server is the address the attempt went to: named by the text, else the pod's
// primary IP then and the worker's port. Invalid when neither is known.
func (a *Attempt) Server() netip.AddrPort {
	if a.Addr.IsValid() {
		return a.Addr
	}
	if a.Target.Port == 0 || a.Worker.Handler == "exec" {
		return netip.AddrPort{}
	}
	ip := a.Worker.PrimaryIP(a.End)
	if !ip.IsValid() {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip, uint16(a.Target.Port))
}

func candidates(caps *capture.Set, a *Attempt) []pair {
	server := a.Server()
	if !server.IsValid() {
		return nil
	}
	timeout := cmp.Or(a.Worker.Timeout, time.Second)
	var out []pair
	for _, c := range caps.Between(server, a.End.Add(-timeout-2*time.Second), a.End.Add(tolerance)) {
		if cost, ok := distance(a, c, timeout); ok {
			out = append(out, pair{c, cost})
		}
	}
	return out
}

// distance is how far the attempt's line lies from where the connection says the
// attempt ended; false when they contradict each other.
func distance(a *Attempt, c *capture.Conn, timeout time.Duration) (time.Duration, bool) {
	if a.Local.IsValid() && a.Local != c.Client {
		return 0, false
	}
	f := c.Seen().Flow
	if f.Path != "" && a.Worker.Handler == "http" && a.Worker.Path != "" && f.Path != a.Worker.Path {
		return 0, false
	}
	var ends event.Nanos
	loose := tolerance
	switch {
	case a.Class == ClassRefused && f.ServerRST.Seen() && !f.SYNACK.Seen():
		ends = f.ServerRST.At
	case (a.Class == ClassRefused || a.Class == ClassNoRoute || a.Class == ClassNetUnreach) && f.ICMP.Seen():
		ends = f.ICMP.At
	case a.Class == ClassGRPCConn && f.ServerRST.Seen() && !f.SYNACK.Seen():
		// A gRPC prober dials again after a refusal, until its time is up.
		ends = f.SYN.At.Add(timeout)
		loose = 3 * tolerance
	case a.Class.Timeout() && f.SYN.Seen():
		if answered(f, timeout) {
			return 0, false
		}
		ends = f.SYN.At.Add(timeout)
		// Timers run late on a busy node.
		loose = 3 * tolerance
	case a.Class == ClassStatus && f.Response.Seen() && f.Status >= 300 && f.Status < 400:
		// A redirect on the same host is followed on another connection, whose status
		// counts: this one begins the attempt.
		ends = f.Response.At
		loose = timeout
	case a.Class == ClassStatus && f.Response.Seen():
		if a.Status != 0 && f.Status != 0 && a.Status != f.Status {
			return 0, false
		}
		ends = f.Response.At
	case (a.Class == ClassReset || a.Class == ClassEOF) && (f.ServerRST.Seen() || f.ServerFIN.Seen()):
		ends = f.ServerRST.At
		if !f.ServerRST.Seen() {
			ends = f.ServerFIN.At
		}
	case a.Outcome == event.OutcomeSucceeded || a.Outcome == event.OutcomeWarning:
		outcome, _, end := FlowOutcome(f, a.Worker.Handler, timeout+tolerance)
		if outcome != event.OutcomeSucceeded {
			return 0, false
		}
		ends = end
	case a.Class == ClassGRPCStatus, a.Class == ClassTLS, a.Class == ClassTLSPlain, a.Class == ClassMalformed, a.Class == ClassBody, a.Class == ClassRedirect, a.Class == ClassOther:
		if !f.SYNACK.Seen() {
			return 0, false
		}
		ends = f.Last.At
		if f.Response.Seen() {
			ends = f.Response.At
		}
		loose = 2 * time.Second
	default:
		return 0, false
	}
	d := a.End.Sub(ends).Abs()
	return d, d <= loose
}

// answered reports whether the connection gave the probe what it wanted in time:
// then it cannot be a timed-out attempt.
func answered(f *event.Flow, timeout time.Duration) bool {
	switch {
	case f.App == "http" || f.Request.Seen():
		// A response that is sent again and again did not arrive.
		return f.Response.Seen() && f.ServerRetrans == 0 && f.Response.At.Sub(f.SYN.At) < timeout-5*time.Millisecond
	case f.ServerRST.Seen() && !f.SYNACK.Seen():
		return true
	default:
		// A handshake in time: an answer for tcpSocket, not for a request that never
		// went out.
		return f.ACK.Seen() && f.ClientFIN.Seen() && f.ClientFIN.At.Sub(f.SYN.At) < timeout-50*time.Millisecond
	}
}

func (a *Attempt) join(c *capture.Conn, cost time.Duration) {
	f := c.Seen().Flow
	a.Conn = c
	a.JoinReason = "address, port, time and outcome agree"
	if a.Local.IsValid() {
		a.JoinReason = "the text names the prober's own port"
	}
	a.JoinScore = 0.95
	if cost > tolerance/2 {
		a.JoinScore = 0.8
	}
	if f.SYN.Seen() {
		a.Start, a.StartInferred = f.SYN.At, false
		if f.SYNACK.Seen() {
			a.Phases.Connect = f.SYNACK.At.Sub(f.SYN.At)
		}
	}
	if f.Request.Seen() && f.Response.Seen() {
		a.Phases.FirstByte = f.Response.At.Sub(f.Request.At)
	}
	if !a.Addr.IsValid() {
		a.Addr = c.Server
	}
	if a.Target.Host == "" {
		a.Target.Host = c.Server.Addr().String()
	}
}

// whyNot says why an attempt has no connection.
func whyNot(caps *capture.Set, a *Attempt) string {
	w := a.Worker
	if w.Handler == "exec" || a.Class == ClassExecExit || a.Class == ClassExecTimeout || a.Class == ClassRuntime {
		return WhyExec
	}
	if a.Source == "event" {
		return WhyEventOnly
	}
	server := a.Server()
	switch {
	case !server.IsValid():
		return WhyTargetUnknown
	case a.Class == ClassEmptyIP, server.Addr().IsLoopback():
		return WhyLoopback
	case w.Pod.HostNetwork && !slices.ContainsFunc(caps.Captures, func(c *capture.Capture) bool { return c.Point == capture.NodeAny }):
		return WhyLoopback
	}
	from, to := a.Start, a.End
	if len(caps.Captures) == 0 {
		return WhyNoCapture
	}
	cover := caps.NodeSide(w.Pod.Node, from, to)
	if len(cover) == 0 {
		if slices.ContainsFunc(caps.Captures, func(c *capture.Capture) bool {
			return c.Inside() && c.Covers(from, to) && (c.Node == "" || w.Pod.Node == "" || c.Node == w.Pod.Node)
		}) {
			return WhyOtherInterface
		}
		return WhyGap
	}
	if server.Addr().Is4() {
		for _, f := range caps.ARPFor(server.Addr(), from.Add(-4*time.Second), to) {
			if f.Op == event.ARPRequest && f.TargetIP == server.Addr() && !f.Answered {
				return WhyARPPending
			}
		}
	}
	shows := func(c *capture.Capture) bool { return c.ShowsPort(server.Port()) }
	if !slices.ContainsFunc(cover, shows) {
		return WhyFiltered
	}
	if len(caps.Between(server, from.Add(-2*tolerance), from.Add(2*tolerance))) > 0 {
		return WhyAmbiguous
	}
	if !slices.ContainsFunc(cover, func(c *capture.Capture) bool { return c.Point != capture.Uplink && shows(c) }) {
		return WhyOtherInterface
	}
	return WhyNoSYN
}
