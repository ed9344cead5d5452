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

// Reasons for which a connection to a probe target is no attempt's, in
// Set.StrayWhy.
const (
	StrayNotProber  = "not-a-prober"       // the client is not where probes come from
	StrayNoProbe    = "no-probe-there"     // no probe was aimed at the address then
	StrayGivenUp    = "dial-given-up"      // a dial that went on behind an attempt already decided
	StrayNotLogged  = "failure-not-logged" // it failed, and the log that covers the time tells of no failure
	StrayRedirected = "redirected"         // the answer sent the prober on: another connection has the result
	StrayUnclear    = "result-unclear"     // its packets do not tell what the prober made of it
)

// fromPackets turns the connections that no line told of into attempts: the
// successes that a kubelet below verbosity 3 does not log, and, where no kubelet
// log covers the time, failures as well.
func (s *Set) fromPackets(caps *capture.Set, taken map[*capture.Conn]bool) {
	aim := s.targets()
	s.learnProbers(caps, aim)
	s.StrayWhy = make(map[*capture.Conn]string)
	var shared groups
	found := make(map[*capture.Conn]*Worker)
	for _, c := range caps.Conns {
		if taken[c] || !c.Seen().Flow.SYN.Seen() {
			continue
		}
		switch ws, why := s.mayBe(c, aim); len(ws) {
		case 0:
			s.StrayWhy[c] = why
		case 1:
			found[c] = ws[0]
		default:
			shared.add(ws, c, s.lifeAt(ws[0].Pod.Node, c.Start()))
		}
	}
	shared.share(found)
	for _, c := range caps.Conns {
		w := found[c]
		if w != nil {
			a, why := s.judge(w, c)
			if why == "" {
				w.Attempts = append(w.Attempts, a)
				continue
			}
			s.StrayWhy[c] = why
			w.unjudged = append(w.unjudged, c.Start())
		}
		if s.StrayWhy[c] != "" {
			s.Strays = append(s.Strays, c)
		}
	}
	for _, w := range s.Workers {
		w.sort()
	}
}

// targets maps each address that a worker may ever have dialled to the workers.
func (s *Set) targets() map[netip.AddrPort][]*Worker {
	aim := make(map[netip.AddrPort][]*Worker)
	for _, w := range s.Workers {
		if w.Port == 0 || w.Handler == "exec" {
			continue
		}
		add := func(ip netip.Addr) {
			k := netip.AddrPortFrom(ip.Unmap(), uint16(w.Port))
			if l := aim[k]; ip.IsValid() && (len(l) == 0 || l[len(l)-1] != w) {
				aim[k] = append(l, w)
			}
		}
		add(w.PrimaryIP(0))
		if w.Pod.HostNetwork {
			for _, ip := range w.Pod.HostIPs {
				add(ip)
			}
		}
		for i := range w.Pod.Intervals {
			add(w.Pod.Intervals[i].IP)
		}
	}
	return aim
}

// learnProbers adds the sources that look like a kubelet: they say so in the
// user agent, or they are the most frequent client of declared probe targets.
func (s *Set) learnProbers(caps *capture.Set, aim map[netip.AddrPort][]*Worker) {
	votes := make(map[netip.Addr]int)
	for _, c := range caps.Conns {
		f := c.Seen().Flow
		if strings.HasPrefix(f.UserAgent, "kube-probe/") {
			s.Probers[c.Client.Addr()] = true
		}
		if slices.ContainsFunc(aim[c.Server], func(w *Worker) bool { return w.Pod == c.Pod }) {
			votes[c.Client.Addr()]++
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

// mayBe lists the workers that the connection may belong to: those that dialled
// its server then and whose handler and path fit what it carried. Without any it
// says why.
func (s *Set) mayBe(c *capture.Conn, aim map[netip.AddrPort][]*Worker) ([]*Worker, string) {
	if len(s.Probers) > 0 && !s.Probers[c.Client.Addr()] {
		return nil, StrayNotProber
	}
	f := c.Seen().Flow
	at := c.Start()
	var fit, could []*Worker
	for _, w := range aim[c.Server] {
		if w.Pod != c.Pod && w.PrimaryIP(at) != c.Server.Addr() {
			continue
		}
		if f.Path != "" && (w.Handler == "tcp" || w.Path != "" && f.Path != w.Path) {
			continue
		}
		fit = append(fit, w)
		if w.mayRun(at) {
			could = append(could, w)
		}
	}
	if len(could) > 0 {
		fit = could
	}
	return fit, StrayNoProbe
}

// judge says what the connection's packets make of the attempt, or why they make
// none. A failure is taken from packets only where no kubelet log would have told
// of it; an exchange that can't be read is a success only where one would.
func (s *Set) judge(w *Worker, c *capture.Conn) (*Attempt, string) {
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
	switch {
	case outcome == event.OutcomeFailed && s.logCovers(w, end):
		return nil, StrayNotLogged
	case outcome != event.OutcomeUnknown && !(outcome == event.OutcomeSucceeded && unreadable(f, w.Handler) && !s.logCovers(w, end)):
		a.Refs = []event.Ref{c.Seen().Ref}
		return a, ""
	case f.Status >= 300 && f.Status < 400:
		return nil, StrayRedirected
	case f.ClientFIN.Seen() && !f.Request.Seen():
		return nil, StrayGivenUp
	}
	return nil, StrayUnclear
}

// logCovers reports whether a kubelet log of the pod's node covers the time.
func (s *Set) logCovers(w *Worker, at event.Nanos) bool {
	if sp := s.logs[w.Pod.Node]; sp != nil && sp.from <= at && at <= sp.to.Add(time.Second) {
		return true
	}
	return false
}

// unreadable reports whether the result of the exchange is hidden from packets:
// TLS, or HTTP/2 whose health status was not captured.
func unreadable(f *event.Flow, handler string) bool {
	return f.App == "tls" || handler == "grpc" && f.GRPCStatus == ""
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
		switch {
		case f.Status == 0 && handler == "http" && f.App != "tls":
			return event.OutcomeUnknown, ClassNone, f.Response.At
		case f.Status >= 300 && staysOn(f):
			return event.OutcomeUnknown, ClassNone, f.Response.At
		case handler == "grpc" && f.GRPCStatus != "" && f.GRPCStatus != "SERVING":
			return event.OutcomeFailed, ClassGRPCStatus, f.Response.At
		case f.TLSAlert != "":
			return event.OutcomeFailed, ClassTLS, f.Response.At
		case f.App == "tls" && !(f.ClientFIN.Seen() || f.ServerFIN.Seen()):
			// The end of a hello is not the end of the probe.
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

// staysOn reports whether a redirect leads to the host that answered: the
// kubelet follows it there and takes the status of the last answer.
func staysOn(f *event.Flow) bool {
	_, rest, absolute := strings.Cut(f.Location, "://")
	if !absolute {
		return f.Location != ""
	}
	host, _, _ := strings.Cut(rest, "/")
	if ap, err := netip.ParseAddrPort(host); err == nil {
		return ap.Addr().Unmap() == f.Server.Addr()
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap() == f.Server.Addr()
}
