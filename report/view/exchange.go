package view

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Bounds of what is kept for exchanges, whatever the size of the case.
const (
	wantedPerIncident = 64
	wantedAtMost      = 4096
	arpPerExchange    = 6
)

// Exchange is the packets of one attempt, as one capture saw them.
type Exchange struct {
	Attempt *model.Attempt
	Flow    *event.Flow
	Ref     model.Ref // first frame
	Also    []model.Ref
	Point   string // capture point
	Client  string // name and address of who probed
	Server  string // name and address of who was probed
	Steps   []Step
	from    event.Nanos
	to      event.Nanos
	server  netip.Addr
}

// Side of an exchange.
type Side int

// The sides. Network is someone else who answers: a router, a filter.
const (
	Client Side = iota
	Server
	Network
	Kubelet // not a packet: the moment when the kubelet had its result
)

// Step is one packet, or several of a kind that the capture counted only.
type Step struct {
	At event.Nanos // node clock
	// After is the time since the first step.
	After  time.Duration
	Packet int64 // frame number, 0 when it was not kept
	From   Side
	Text   string
	Detail string
	// Unanswered marks a packet that got no answer.
	Unanswered bool
	Refusal    bool // RST or ICMP error
}

// loadExchanges finds a typical failed attempt and a good one per incident and
// their packets.
func (c *Case) loadExchanges(ctx context.Context) error {
	if c.Res.Tables.Flows == nil || len(c.Incidents) == 0 {
		return nil
	}
	wanted := map[string][]*model.FlowRow{}
	want := func(a *model.Attempt) bool {
		if a.FlowID == "" || len(wanted) >= wantedAtMost {
			return false
		}
		if _, ok := wanted[a.FlowID]; !ok {
			wanted[a.FlowID] = nil
		}
		return true
	}
	good := c.goodAttempts()
	for _, in := range c.Incidents {
		n := 0
		for _, a := range in.Attempts {
			if n < wantedPerIncident && Failed(a) && want(a) {
				n++
			}
		}
		for _, a := range good[in] {
			want(a)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	n := 0
	for row, err := range c.Res.Tables.Flows() {
		if err != nil {
			return err
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if rows, ok := wanted[row.ID]; ok && len(rows) < 8 {
			keep := *row
			wanted[row.ID] = append(rows, &keep)
		}
	}
	c.flows = wanted
	for _, in := range c.Incidents {
		if a := c.typical(in); a != nil {
			in.Failed = c.exchange(a)
		}
		for _, a := range good[in] {
			if in.Good == nil {
				in.Good = c.exchange(a)
			}
		}
	}
	return c.addARP(ctx)
}

// goodAttempts lists, per incident, the successful attempts of its probes that
// have a connection, the nearest to the end of the window first.
func (c *Case) goodAttempts() map[*Incident][]*model.Attempt {
	owners := map[probeKey][]*Incident{}
	for _, in := range c.Incidents {
		for _, s := range in.Subjects {
			owners[subjectKey(s)] = append(owners[subjectKey(s)], in)
		}
	}
	out := map[*Incident][]*model.Attempt{}
	for i := range c.Res.Tables.Attempts {
		a := &c.Res.Tables.Attempts[i]
		if a.Outcome != "success" || a.FlowID == "" {
			continue
		}
		for _, in := range owners[attemptKey(a)] {
			out[in] = append(out[in], a)
		}
	}
	for in, list := range out {
		last := in.Window.Last.Nanos
		slices.SortStableFunc(list, func(a, b *model.Attempt) int {
			return cmp.Or(cmp.Compare(when(a).Sub(last).Abs(), when(b).Sub(last).Abs()), cmp.Compare(a.ID, b.ID))
		})
		out[in] = list[:min(len(list), 4)]
	}
	return out
}

// typical picks the first failed attempt of the largest group with one error
// class and one connection state.
func (c *Case) typical(in *Incident) *model.Attempt {
	type group struct {
		class string
		state event.ConnState
	}
	count := map[group]int{}
	first := map[group]*model.Attempt{}
	var best *group
	for _, a := range in.Attempts {
		rows := c.flows[a.FlowID]
		if !Failed(a) || len(rows) == 0 {
			continue
		}
		g := group{a.ErrorClass, rows[0].Flow.State}
		if count[g]++; first[g] == nil {
			first[g] = a
		}
		if best == nil || count[g] > count[*best] {
			best = &g
		}
	}
	if best == nil {
		return nil
	}
	return first[*best]
}

// exchange lists the packets of an attempt, nil when no capture has them.
func (c *Case) exchange(a *model.Attempt) *Exchange {
	rows := slices.Clone(c.flows[a.FlowID])
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(x, y *model.FlowRow) int {
		return cmp.Or(cmp.Compare(frames(y.Flow), frames(x.Flow)), x.Ref.Compare(y.Ref))
	})
	row := rows[0]
	e := &Exchange{Attempt: a, Flow: row.Flow, Ref: model.RefOf(row.Ref), Point: row.Capture, server: row.Flow.Server.Addr().Unmap()}
	for _, r := range rows[1:] {
		e.Also = append(e.Also, model.RefOf(r.Ref))
	}
	e.Client = party(a.Node, "node", row.Flow.Client)
	e.Server = party(a.Pod, "pod", row.Flow.Server)
	e.Steps = steps(row.Flow, a.Target.Scheme)
	if len(e.Steps) > 0 {
		e.from, e.to = e.Steps[0].At, e.Steps[len(e.Steps)-1].At
	}
	if Failed(a) && a.End != 0 {
		e.Steps = append(e.Steps, Step{At: a.End, From: Kubelet, Text: "the kubelet counts the probe as " + map[bool]string{true: "failed", false: a.Outcome}[a.Outcome == "failure"]})
	}
	e.from, e.to = min(e.from, when(a)).Add(-100e6), max(e.to, a.End).Add(100e6)
	e.order()
	return e
}

// Silent reports whether nobody answered in this capture.
func (e *Exchange) Silent() bool {
	return !slices.ContainsFunc(e.Steps, func(s Step) bool { return s.From == Server || s.From == Network })
}

func party(name, fallback string, addr netip.AddrPort) string {
	if name == "" {
		name = fallback
	}
	if !addr.IsValid() {
		return name
	}
	return name + " " + netip.AddrPortFrom(addr.Addr().Unmap(), addr.Port()).String()
}

// order sorts the steps and counts their times from the first.
func (e *Exchange) order() {
	slices.SortStableFunc(e.Steps, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Packet, b.Packet))
	})
	for i := range e.Steps {
		e.Steps[i].After = e.Steps[i].At.Sub(e.Steps[0].At)
	}
}

func frames(f *event.Flow) int {
	n := 0
	for _, m := range []event.Mark{f.SYN, f.SYNACK, f.ACK, f.Request, f.RequestACK, f.Response, f.ClientFIN, f.ServerFIN, f.ClientRST, f.ServerRST, f.ICMP.Mark} {
		if m.Seen() {
			n++
		}
	}
	return n
}

// addARP adds the address resolution for the server to the exchanges.
func (c *Case) addARP(ctx context.Context) error {
	var open []*Exchange
	for _, in := range c.Incidents {
		for _, e := range []*Exchange{in.Failed, in.Good} {
			if e != nil {
				open = append(open, e)
			}
		}
	}
	if c.Res.Tables.ARP == nil || len(open) == 0 {
		return nil
	}
	added := map[*Exchange]int{}
	n := 0
	for row, err := range c.Res.Tables.ARP() {
		if err != nil {
			return err
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for _, e := range open {
			if row.Ref.Stream == e.Ref.Stream && row.At >= e.from && row.At <= e.to && added[e] < arpPerExchange &&
				(row.ARP.TargetIP.Unmap() == e.server || row.ARP.SenderIP.Unmap() == e.server) {
				added[e]++
				e.Steps = append(e.Steps, arpStep(row, e.server))
			}
		}
	}
	for _, e := range open {
		e.order()
	}
	return nil
}

func arpStep(row *model.ARPRow, server netip.Addr) Step {
	a := row.ARP
	s := Step{At: row.At, Packet: row.Ref.Packet, From: Client}
	if a.SenderIP.Unmap() == server {
		s.From = Server
	}
	kind := "ARP"
	if a.V6 {
		kind = "ND"
	}
	switch a.Op {
	case event.ARPReply:
		s.Text, s.Detail = kind+": "+a.SenderIP.Unmap().String()+" is at "+a.SenderMAC.String(), ""
	case event.ARPAnnounce:
		s.Text = kind + " announces " + a.SenderIP.Unmap().String() + " at " + a.SenderMAC.String()
	default:
		s.Text = kind + " who has " + a.TargetIP.Unmap().String()
		s.Detail = "to everyone"
		if a.Unicast {
			s.Detail = "to " + a.EthDst.String() + " only"
		}
		s.Unanswered = !a.Answered
	}
	return s
}
