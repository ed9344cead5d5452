package rules

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// joined returns the attempts whose connection was seen and passes keep.
func joined(as []*probe.Attempt, keep func(*probe.Attempt, *event.Flow) bool) []*probe.Attempt {
	var out []*probe.Attempt
	for _, a := range as {
		if a.Conn != nil && keep(a, a.Conn.Seen().Flow) {
			out = append(out, a)
		}
	}
	return out
}

// Refused returns the attempts whose SYN was answered by a RST. It proves that
// something answered for the IP, not that the pod did.
func (c *Case) Refused() []*probe.Attempt {
	return joined(c.Failed(), func(_ *probe.Attempt, f *event.Flow) bool { return f.ServerRST.Seen() && !f.SYNACK.Seen() })
}

// Rejected returns the attempts whose SYN was answered by an ICMP error.
func (c *Case) Rejected() []*probe.Attempt {
	return joined(c.Failed(), func(_ *probe.Attempt, f *event.Flow) bool { return f.ICMP.Seen() && !f.SYNACK.Seen() })
}

// Silent returns the attempts whose SYNs got no answer of any kind in time where
// they were seen. A dial that goes on after the prober gave up may be answered
// much later, when the obstacle is gone: such an answer follows a repeated SYN at
// once and does not count. An answer that is merely slow does.
func (c *Case) Silent() []*probe.Attempt {
	return joined(c.Failed(), func(a *probe.Attempt, f *event.Flow) bool { return silent(a, f) })
}

func silent(a *probe.Attempt, f *event.Flow) bool {
	in := func(m event.Mark) bool { return m.Seen() && m.At <= a.End }
	if !f.SYN.Seen() || in(f.SYNACK) || in(f.ServerRST) || in(f.ICMP.Mark) || in(f.Response) {
		return false
	}
	return !f.SYNACK.Seen() || answersRepeat(f)
}

// answersRepeat reports whether the SYN-ACK came right after a repeated SYN: the
// earlier ones were lost or dropped, not delayed.
func answersRepeat(f *event.Flow) bool {
	return f.SYNACK.Seen() && len(f.SYNTimes) > 1 && sinceSYN(f) < 20*time.Millisecond
}

// sinceSYN is how long after the latest SYN before it the SYN-ACK came.
func sinceSYN(f *event.Flow) time.Duration {
	last := f.SYN.At
	for _, t := range f.SYNTimes {
		if t <= f.SYNACK.At {
			last = max(last, t)
		}
	}
	return f.SYNACK.At.Sub(last)
}

// Mute returns the attempts that got a handshake and an acknowledged request but
// no byte of an answer in time.
func (c *Case) Mute() []*probe.Attempt {
	return joined(c.Failed(), func(a *probe.Attempt, f *event.Flow) bool {
		return f.SYNACK.Seen() && f.SYNACK.At.Sub(f.SYN.At) < 300*time.Millisecond && f.ACK.Seen() && f.Request.Seen() &&
			(!f.Response.Seen() || f.Response.At > a.End)
	})
}

// LateAnswers returns the attempts whose answer came after the prober had given
// up, yet before its next turn: later ones tell when an obstacle went away, not
// how slow the target is.
func (c *Case) LateAnswers() []*probe.Attempt {
	return joined(c.TimedOut(), func(a *probe.Attempt, f *event.Flow) bool {
		timeout := cmp.Or(a.Worker.Timeout, time.Second)
		from, to := f.SYN.At.Add(timeout-20*time.Millisecond), f.SYN.At.Add(max(cmp.Or(a.Worker.Period, 10*time.Second), 3*timeout))
		late := func(m event.Mark) bool { return m.Seen() && m.At >= from && m.At <= to }
		return late(f.SYNACK) && !answersRepeat(f) || late(f.Response)
	})
}

// LateHandshakes returns the attempts whose SYN-ACK was under way for longer
// than limit, repeats of the SYN set aside.
func (c *Case) LateHandshakes(limit time.Duration) []*probe.Attempt {
	return joined(c.Failed(), func(a *probe.Attempt, f *event.Flow) bool {
		return f.SYNACK.Seen() && f.SYNACK.At.Sub(f.SYN.At) > limit && !answersRepeat(f) && f.SYNACK.At.Sub(f.SYN.At) < 10*time.Second
	})
}

// HalfOpen returns the attempts whose SYN-ACK was prompt where it was seen, yet
// the prober did not complete the handshake in time: it did not get it.
func (c *Case) HalfOpen() []*probe.Attempt {
	return joined(c.Failed(), func(a *probe.Attempt, f *event.Flow) bool {
		return halfOpen(a, f) || a.Conn.Inside != nil && halfOpen(a, a.Conn.Inside.Flow)
	})
}

func halfOpen(a *probe.Attempt, f *event.Flow) bool {
	in := func(m event.Mark) bool { return m.Seen() && m.At <= a.End }
	return in(f.SYNACK) && f.SYNACK.At.Sub(f.SYN.At) < 200*time.Millisecond && !in(f.ACK) && !in(f.Request)
}

// Unsent returns the attempts for which a covering node capture holds no SYN
// although it shows the port at other times.
func (c *Case) Unsent() []*probe.Attempt {
	var out []*probe.Attempt
	for _, a := range c.Failed() {
		if a.JoinReason == "no-syn" {
			out = append(out, a)
		}
	}
	return out
}

// InsidePod returns those of the attempts whose connection a capture in the pod
// saw.
func (c *Case) InsidePod(as []*probe.Attempt) []*probe.Attempt {
	return joined(as, func(a *probe.Attempt, _ *event.Flow) bool { return a.Conn.Inside != nil })
}

// NotInPod returns those of the attempts that a node capture saw while a
// covering capture in the pod, which shows the port at other times, did not: the
// SYN never reached the pod.
func (c *Case) NotInPod(as []*probe.Attempt) []*probe.Attempt {
	return joined(as, func(a *probe.Attempt, f *event.Flow) bool {
		if a.Conn.Node == nil || a.Conn.Inside != nil {
			return false
		}
		port := a.Conn.Server.Port()
		return slices.ContainsFunc(c.Captures.PodSide(a.Worker.Pod, f.First.At, a.End), func(k *capture.Capture) bool {
			return k.Shows(a.Conn.Server) || k.ShowsPort(port)
		})
	})
}

// HasPodCapture reports whether a capture in the pod covers the failures.
func (c *Case) HasPodCapture() bool {
	for _, a := range c.Failed() {
		if len(c.Captures.PodSide(a.Worker.Pod, a.Start, a.End)) > 0 {
			return true
		}
	}
	return false
}

// HasNodeCapture reports whether a node-side capture covers any of the failures.
func (c *Case) HasNodeCapture() bool {
	for _, a := range c.Failed() {
		if len(c.Captures.NodeSide(a.Worker.Pod.Node, a.Start, a.End)) > 0 || a.Conn != nil && a.Conn.Node != nil {
			return true
		}
	}
	return false
}

// servers are the addresses the failed attempts went to, in order of use.
func (c *Case) servers() []netip.AddrPort {
	if c.targets != nil {
		return c.targets
	}
	seen := make(map[netip.AddrPort]bool)
	for _, a := range c.Failed() {
		if s := a.Server(); s.IsValid() && !seen[s] {
			seen[s] = true
			c.targets = append(c.targets, s)
		}
	}
	c.targets = slices.Clip(c.targets)
	return c.targets
}

// ARPUnanswered returns the broadcast requests for the probed IPs around the
// failures that nobody answered. Unicast requests are left out: they ask one MAC
// whether it is still there, and may be about a dead one.
func (c *Case) ARPUnanswered() Fact {
	f := Fact{}
	for _, s := range c.servers() {
		for _, a := range c.Captures.ARPFor(s.Addr(), c.First.Add(-10*time.Second), c.Last.Add(time.Second)) {
			if a.Op != event.ARPRequest || a.TargetIP != s.Addr() || a.Answered || a.Unicast || a.Capture.Inside() {
				continue
			}
			if f.N == 0 {
				f.At = a.At
			}
			f.N++
			f.Refs = append(f.Refs, a.Ref)
		}
	}
	f.Refs = cite(f.Refs...)
	f.Claim = fmt.Sprintf("%d broadcast ARP requests for the probed IP stayed unanswered.", f.N)
	return f
}

// ARPAnswered returns the requests for the probed IPs during the failures that
// were answered.
func (c *Case) ARPAnswered() Fact {
	f := Fact{Claim: "ARP for the probed IP was answered during the failures."}
	for _, s := range c.servers() {
		for _, a := range c.Captures.ARPFor(s.Addr(), c.First.Add(-2*time.Second), c.Last) {
			if a.Op == event.ARPRequest && a.TargetIP == s.Addr() && a.Answered {
				if f.N == 0 {
					f.At = a.At
				}
				f.N++
				f.Refs = append(f.Refs, a.Ref)
			}
		}
	}
	f.Refs = cite(f.Refs...)
	return f
}

// macUse is a MAC seen as the owner of an IP.
type macUse struct {
	mac         event.MAC
	first, last event.Nanos
	ref         event.Ref
}

// owners returns the MACs that spoke for the IP in [from, to]: as the sender of
// ARP, or as the source of a frame of its own or of a SYN-ACK that no router
// passed on; in order of appearance.
func (c *Case) owners(ip netip.Addr, from, to event.Nanos) []macUse {
	var out []macUse
	see := func(m event.MAC, at event.Nanos, ref event.Ref) {
		if m.IsZero() || m.IsBroadcast() {
			return
		}
		for i := range out {
			if out[i].mac == m {
				out[i].first, out[i].last = min(out[i].first, at), max(out[i].last, at)
				return
			}
		}
		out = append(out, macUse{m, at, at, ref})
	}
	for _, a := range c.Captures.ARPFor(ip, from, to) {
		if a.SenderIP == ip && a.Op != event.ARPProbe {
			see(a.SenderMAC, a.At, a.Ref)
		}
	}
	for _, e := range c.Captures.EgressOf(ip, from, to) {
		see(e.MAC, e.At, e.Ref)
	}
	for _, s := range c.servers() {
		if s.Addr() != ip {
			continue
		}
		for _, k := range c.Captures.Between(s, from, to) {
			if f := k.Seen().Flow; f.SYNACK.Seen() && !event.Routed(f.SYNACKTTL) {
				see(f.AnswerMAC, f.SYNACK.At, k.Seen().Ref)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b macUse) int { return cmp.Compare(a.first, b.first) })
	return out
}

// WrongMAC returns the attempts whose SYN went to a MAC that is not the one the
// pod speaks with, and what the pod's own MAC is.
func (c *Case) WrongMAC() (as []*probe.Attempt, own macUse) {
	for _, a := range c.Silent() {
		f := a.Conn.Seen().Flow
		if f.SYNDstMAC.IsZero() || f.SYNDstMAC.IsBroadcast() {
			continue
		}
		ms := c.podMACs(a.Worker.Pod, a.Conn.Server.Addr())
		if len(ms) == 0 || slices.ContainsFunc(ms, func(m macUse) bool { return m.mac == f.SYNDstMAC }) {
			continue
		}
		as, own = append(as, a), ms[len(ms)-1]
	}
	return as, own
}

// podMACs are the MACs the pod itself used: those that spoke for the IP while
// the pod held it, its CNI result, and the sender of its IPv6 traffic.
func (c *Case) podMACs(p *identity.Pod, ip netip.Addr) []macUse {
	var out []macUse
	var from, to event.Nanos
	for i := range p.Intervals {
		iv := &p.Intervals[i]
		if iv.IP != ip {
			continue
		}
		if !iv.MAC.IsZero() && len(iv.Sources) > 0 {
			out = append(out, macUse{iv.MAC, iv.From, iv.From, iv.Sources[0].Ref})
		}
		if from == 0 || iv.From < from {
			from = iv.From
		}
		to = cmp.Or(iv.To, c.Index.Last)
	}
	if from == 0 {
		return out
	}
	return append(out, c.owners(ip, from, to.Add(time.Second))...)
}

// HealedByEgress tells whether failures of one container run stopped right after
// a frame that the pod's address sent of its own accord, before the prober had
// reached it again and with no container event between: what moves a forwarding
// entry back. N counts how often.
//
// Where such frames were as often followed by another failure, the address just
// talks, and one of its frames before a recovery is chance.
func (c *Case) HealedByEgress() Fact {
	f := Fact{}
	unhealed := 0
	for _, m := range c.Members {
		w := m.Worker
		if c.unplacedRestarts(w) {
			continue // nothing tells that no container event lies between
		}
		for i, a := range w.Attempts[:max(len(w.Attempts)-1, 0)] {
			b := w.Attempts[i+1]
			if !a.Failed() || a.Conn == nil || !b.Failed() && b.Outcome != event.OutcomeSucceeded || !slices.Contains(m.Failed, a) {
				continue
			}
			switch {
			case touched(w.Pod, a.End, b.End):
			case b.Failed():
				unhealed += c.egressOf(Fact{}, a, b).N
			default:
				f = c.egressOf(f, a, b)
			}
		}
	}
	if unhealed >= f.N {
		return Fact{}
	}
	f.Refs = cite(f.Refs...)
	f.Claim = "The failures stopped right after a frame from the pod's own address, with no container event between"
	if f.N > 1 {
		f.Claim += fmt.Sprintf(" (seen %d times)", f.N)
	}
	f.Claim += "."
	return f
}

// unplacedRestarts reports whether a worker's container was restarted around the
// incident while no log of the node says when.
func (c *Case) unplacedRestarts(w *probe.Worker) bool {
	if c.has(MissKubeletLog) || c.has(MissRuntimeLog) {
		return false
	}
	restarted := slices.ContainsFunc(w.Pod.Statuses, func(s event.ContainerStatus) bool {
		return s.RestartCount > 0 && (w.Container == "" || s.Name == w.Container)
	})
	return restarted || c.podEvents("BackOff", c.First.Add(-10*time.Minute), c.Last.Add(10*time.Minute)).OK()
}

// egressOf adds the last frame the failing target sent of its own accord between
// two attempts.
func (c *Case) egressOf(f Fact, a, b *probe.Attempt) Fact {
	var mac event.MAC
	if b.Conn != nil {
		mac = b.Conn.Seen().Flow.AnswerMAC
	}
	hit := c.Captures.LastEgress(a.Conn.Server.Addr(), mac, a.End, b.Start)
	if hit == nil {
		return f
	}
	if f.N == 0 {
		f.At = hit.At
	}
	f.N++
	f.Refs = append(f.Refs, hit.Ref, a.Conn.Seen().Ref)
	if b.Conn != nil {
		f.Refs = append(f.Refs, b.Conn.Seen().Ref)
	}
	return f
}

// touched reports whether a container of the pod started or ended in (from, to].
func touched(p *identity.Pod, from, to event.Nanos) bool {
	return slices.ContainsFunc(p.Runs, func(r identity.Run) bool {
		return r.From > from && r.From <= to || r.To > from && r.To <= to
	})
}

// AnsweredInRun returns the successes of the failing probes before and after the
// first failure inside one container run: the port was served without a restart.
func (c *Case) AnsweredInRun() (before, after Fact) {
	for _, m := range c.Members {
		if len(m.Failed) == 0 {
			continue
		}
		p := m.Worker.Pod
		run := p.RunAt(m.Worker.Container, m.Failed[0].End)
		if run == nil {
			continue
		}
		for _, a := range m.Worker.Attempts {
			if a.Outcome != event.OutcomeSucceeded || a.End < run.From || run.To != 0 && a.End > run.To {
				continue
			}
			f := &before
			claim := "The probe succeeded earlier in the same container run."
			if a.End > m.Failed[len(m.Failed)-1].End {
				f, claim = &after, "The probe succeeded later in the same container run."
			} else if a.End > m.Failed[0].End {
				continue
			}
			if f.N == 0 {
				f.At = a.End
			}
			f.N++
			f.Claim = claim
			f.Refs = cite(append(f.Refs, a.Refs...)...)
		}
		for _, r := range p.Ready {
			if r.Probe != m.Worker.Type || r.Status != "ready" && r.Status != "started" || r.At < run.From || run.To != 0 && r.At > run.To {
				continue
			}
			if r.At < m.Failed[0].End {
				before.add("The kubelet held the probe for passed earlier in the same container run.", r.At, r.Ref)
			} else if r.At > m.Failed[len(m.Failed)-1].End {
				after.add("The kubelet held the probe for passed later in the same container run.", r.At, r.Ref)
			}
		}
	}
	return before, after
}

func (f *Fact) add(claim string, at event.Nanos, ref event.Ref) {
	if f.N == 0 {
		f.Claim, f.At = claim, at
	}
	f.N++
	f.Refs = cite(append(f.Refs, ref)...)
}

// NeverAnswered reports whether no attempt of any failing worker ever succeeded.
func (c *Case) NeverAnswered() bool {
	for _, m := range c.Members {
		for _, a := range m.Worker.Attempts {
			if a.Outcome == event.OutcomeSucceeded || a.Outcome == event.OutcomeWarning {
				return false
			}
		}
		for _, r := range m.Worker.Pod.Ready {
			if r.Probe == m.Worker.Type && (r.Status == "ready" || r.Status == "started") {
				return false
			}
		}
	}
	return true
}

// OtherPortAnswers returns handshakes on another port of the same IP during the
// failures: the pod is reachable and its stack alive.
func (c *Case) OtherPortAnswers() Fact {
	f := Fact{}
	for _, s := range c.servers() {
		for _, k := range c.Captures.Conns {
			if k.Server.Addr() != s.Addr() || k.Server.Port() == s.Port() || k.Start() < c.First.Add(-30*time.Second) || k.Start() > c.Last.Add(30*time.Second) {
				continue
			}
			if k.Seen().Flow.SYNACK.Seen() {
				f.add(fmt.Sprintf("Port %d of the same pod completes handshakes at the same time.", k.Server.Port()), k.Start(), k.Seen().Ref)
			}
		}
	}
	return f
}

// harmless explains packets near the failures that look like a fault and are
// none: the prober's RST against a server that speaks first.
func (c *Case) harmless() []model.Evidence {
	for _, s := range c.servers() {
		for _, k := range c.Captures.Between(s, c.First.Add(-time.Minute), cmp.Or(c.Recovered, c.Last).Add(time.Minute)) {
			f := k.Seen().Flow
			if f.SYNACK.Seen() && f.Response.Seen() && !f.Request.Seen() && f.ClientFIN.Seen() && f.ClientRST.Seen() && f.ClientRST.At >= f.ClientFIN.At {
				ref := k.Seen().Ref
				ref.Packet = f.ClientRST.Packet
				if ref.Line != 0 {
					ref.Line, ref.Packet, ref.Offset = f.ClientRST.Packet, 0, 0
				}
				return []model.Evidence{{Role: model.RoleContext, Rule: Inconclusive, Ref: model.RefOf(ref), Time: model.At(f.ClientRST.At),
					Claim: "The RST at the end of a successful probe is normal: the prober closes right after the handshake, and the server's greeting meets a closed socket."}}
			}
		}
	}
	return nil
}

// seconds of a duration, for claims.
func secs(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
