package probe

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// fromPackets turns the connections that no line told of into attempts: the
// successes that a kubelet below verbosity 3 does not log, and, where no kubelet
// log covers the time, failures as well.
func (s *Set) fromPackets(caps *capture.Set, taken map[*capture.Conn]bool) {
	byServer := make(map[uint16][]*Worker)
	for _, w := range s.Workers {
		if w.Port != 0 && w.Handler != "exec" {
			byServer[uint16(w.Port)] = append(byServer[uint16(w.Port)], w)
		}
	}
	s.learnProbers(caps, byServer)
	last := make(map[*Worker]event.Nanos)
	for _, c := range caps.Conns {
		if taken[c] || !c.Seen().Flow.SYN.Seen() {
			continue
		}
		w := s.workerOf(c, byServer[c.Server.Port()], last)
		if w == nil {
			s.Strays = append(s.Strays, c)
			continue
		}
		a, ok := s.judge(w, c)
		if !ok {
			s.Strays = append(s.Strays, c)
			continue
		}
		last[w] = c.Start()
		w.Attempts = append(w.Attempts, a)
	}
	for _, w := range s.Workers {
		w.sort()
	}
}

// learnProbers adds the sources that look like a kubelet: they say so in the
// user agent, or they are the most frequent client of declared probe targets.
func (s *Set) learnProbers(caps *capture.Set, byPort map[uint16][]*Worker) {
	votes := make(map[netip.Addr]int)
	for _, c := range caps.Conns {
		f := c.Seen().Flow
		if strings.HasPrefix(f.UserAgent, "kube-probe/") {
			s.Probers[c.Client.Addr()] = true
		}
		for _, w := range byPort[c.Server.Port()] {
			if c.Pod == w.Pod {
				votes[c.Client.Addr()]++
				break
			}
		}
	}
	for _, is4 := range [...]bool{true, false} {
		var best netip.Addr
		n := 2
		for ip, v := range votes {
			if ip.Is4() == is4 && (v > n || v == n && best.IsValid() && ip.Less(best)) {
				best, n = ip, v
			}
		}
		if best.IsValid() && !slices.ContainsFunc(sortedAddrs(s.Probers), func(p netip.Addr) bool { return p.Is4() == is4 }) {
			s.Probers[best] = true
		}
	}
}

func sortedAddrs(m map[netip.Addr]bool) []netip.Addr {
	out := make([]netip.Addr, 0, len(m))
	for a := range m {
		out = append(out, a)
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

// workerOf finds the worker a connection belongs to. Where several probe one
// port, the path tells them apart; else the one whose next tick is nearest.
func (s *Set) workerOf(c *capture.Conn, ws []*Worker, last map[*Worker]event.Nanos) *Worker {
	if len(s.Probers) > 0 && !s.Probers[c.Client.Addr()] {
		return nil
	}
	f := c.Seen().Flow
	var best *Worker
	var dist time.Duration
	for _, w := range ws {
		if w.Pod != c.Pod && w.PrimaryIP(c.Start()) != c.Server.Addr() {
			continue
		}
		if f.Path != "" && w.Path != "" && f.Path != w.Path || f.Path != "" && w.Handler == "tcp" {
			continue
		}
		period := cmp.Or(w.Period, 10*time.Second)
		d := period / 2
		if t, ok := lastBefore(w, c.Start(), last[w]); ok {
			gap := c.Start().Sub(t)
			d = min(abs(gap%period), abs(period-gap%period))
		}
		if best == nil || d < dist {
			best, dist = w, d
		}
	}
	return best
}

func lastBefore(w *Worker, t, joined event.Nanos) (event.Nanos, bool) {
	found := joined
	for _, a := range w.Attempts {
		if a.Start != 0 && a.Start < t && a.Start > found {
			found = a.Start
		}
	}
	return found, found != 0
}

// judge says what the connection's packets make of the attempt. A failure is
// taken from packets only where no kubelet log would have told of it.
func (s *Set) judge(w *Worker, c *capture.Conn) (*Attempt, bool) {
	f := c.Seen().Flow
	timeout := cmp.Or(w.Timeout, time.Second)
	a := &Attempt{Worker: w, Source: "packets", Start: f.SYN.At, Addr: c.Server, Count: 1, Conn: c, JoinReason: "packets only", JoinScore: 0.8,
		Target: model.Target{Scheme: w.scheme(), Host: c.Server.Addr().String(), Port: int(c.Server.Port()), Path: w.Path}, Phases: Phases{-1, -1, -1}}
	if f.SYNACK.Seen() {
		a.Phases.Connect = f.SYNACK.At.Sub(f.SYN.At)
	}
	if f.Request.Seen() && f.Response.Seen() {
		a.Phases.FirstByte = f.Response.At.Sub(f.Request.At)
	}
	outcome, class, end := FlowOutcome(f, w.Handler, timeout)
	a.Outcome, a.Class, a.End, a.Status = outcome, class, end, f.Status
	if outcome == event.OutcomeFailed && s.logged(w, end) {
		return nil, false
	}
	if outcome == event.OutcomeUnknown {
		return nil, false
	}
	a.Refs = []event.Ref{c.Seen().Ref}
	return a, true
}

// logged reports whether a kubelet log of the pod's node covers the time.
func (s *Set) logged(w *Worker, at event.Nanos) bool {
	if sp := s.logs[w.Pod.Node]; sp != nil && sp.from <= at && at <= sp.to.Add(time.Second) {
		return true
	}
	return false
}

// FlowOutcome is what a prober with the handler and timeout makes of a
// connection: a handshake alone is a success for tcpSocket only.
func FlowOutcome(f *event.Flow, handler string, timeout time.Duration) (event.Outcome, Class, event.Nanos) {
	late := f.SYN.At.Add(timeout)
	switch {
	case f.ServerRST.Seen() && !f.SYNACK.Seen():
		return event.OutcomeFailed, ClassRefused, f.ServerRST.At
	case f.ICMP.Seen() && !f.SYNACK.Seen():
		if f.ICMP.Code == 3 && !f.ICMP.V6 {
			return event.OutcomeFailed, ClassRefused, f.ICMP.At
		}
		return event.OutcomeFailed, ClassNoRoute, f.ICMP.At
	case !f.SYNACK.Seen() || f.SYNACK.At > late:
		return event.OutcomeFailed, ClassConnTimeout, late
	case !f.ACK.Seen() && !f.Request.Seen() && f.SYNs > 1 && f.SYNACKs > 1:
		// Both sides repeat themselves: the SYN-ACK never came to the prober.
		return event.OutcomeFailed, ClassConnTimeout, late
	case handler == "tcp":
		return event.OutcomeSucceeded, ClassNone, f.SYNACK.At
	}
	if f.ClientFIN.Seen() && !f.Request.Seen() && (!f.ServerFIN.Seen() || f.ClientFIN.At <= f.ServerFIN.At) {
		// The prober had given up before the handshake came through: a dial goes on in
		// the background and is closed unused. It is no attempt of its own.
		return event.OutcomeUnknown, ClassNone, f.ClientFIN.At
	}
	switch {
	case f.Response.Seen() && f.Response.At <= late:
		if f.Status >= 400 || f.Status > 0 && f.Status < 200 {
			return event.OutcomeFailed, ClassStatus, f.Response.At
		}
		if f.Status == 0 && handler == "http" && f.App != "tls" {
			return event.OutcomeUnknown, ClassNone, f.Response.At
		}
		return event.OutcomeSucceeded, ClassNone, f.Response.At
	case f.ServerRST.Seen() && f.ServerRST.At <= late:
		return event.OutcomeFailed, ClassReset, f.ServerRST.At
	case f.ServerFIN.Seen() && f.ServerFIN.At <= late && !f.Response.Seen():
		return event.OutcomeFailed, ClassEOF, f.ServerFIN.At
	case f.Request.Seen():
		return event.OutcomeFailed, ClassAmbigTimeout, late
	}
	return event.OutcomeUnknown, ClassNone, late
}
