package rules

import (
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "accept-queue-overflow", Family: FamilyPath, Tier: 2, Rank: 87,
	Title:      "accept queue full",
	Definition: "The listener exists, but the application does not accept: its queue filled up and the kernel drops further SYNs.",
	Notes: []string{
		"Packets: SYNs without SYN-ACK on a port that completed handshakes a moment ago; or SYN-ACKs that are repeated although the prober acknowledged them.",
		"A hung application passes TCP probes until its queue is full, because the kernel completes handshakes without it; then the same probes time out. With net.ipv4.tcp_abort_on_overflow=1 a RST comes instead.",
	},
	Needs: []string{"Unanswered SYNs on a port that completed handshakes before, the last of which the application never served or closed; or kernel counters of listen drops."},
	Supports: []string{"The SYN reaches the pod and is not answered there.", "Kernel line \"Possible SYN flooding\".", "ListenOverflows above zero.",
		"The port goes silent some connections after the application stopped serving."},
	Contradicts: []string{"The port never had a listener.", "All earlier connections were served and closed by the application."},
	LookAlikes: []LookAlike{
		{"policy-drop", "the connections before the silence were served in full"},
		{"app-hang", "SYN-ACKs still come: the queue is not full yet"},
	},
	Limits:     []Limit{{"pod capture", 0.75}, {"node capture alone", 0.65}, {"kernel log or counters", 0.85}, {"kubelet log alone", 0.30}},
	Sentence:   "%s stopped accepting connections; its accept queue is full and further SYNs are dropped.",
	Recommend:  []string{"raise-backlog", "separate-health"},
	Collect:    []string{MissListenDrops, MissAppLog, MissPodCapture},
	Precedents: []string{"https://github.com/agentmail-to/agentmail-mcp/pull/46"},
	Thresholds: []Threshold{{"before", 60, "s", "how long before the silence the unserved handshakes may lie"}},
	Explains:   []string{"app-hang", "probe-timeout-too-tight"},
	Eval:       evalAcceptQueue,
})

func evalAcceptQueue(c *Case) (v Verdict) {
	counters := c.listenDrops()
	silent := c.Silent()
	queue := c.unserved()
	if counters.OK() && len(c.TimedOut()) > 0 {
		v.Satisfied = v.Need(GroupHost, WeightTwoPoints, counters)
		v.Limit(0.85, "kernel counters or log")
	}
	if len(silent) >= 2 && queue.OK() {
		inside := c.InsidePod(silent)
		v.Satisfied = v.Need(GroupNodePcap, 0.60, queue)
		if len(inside) > 0 {
			v.Need(GroupPodPcap, 0.60, flowFact("The SYNs reach the pod and get no answer there.", inside))
			v.Limit(0.75, "a capture in the pod")
		} else {
			v.Need(GroupTiming, WeightStateLoose, flowFact("From then on the SYNs get no answer.", silent))
			v.Limit(0.65, "node packets alone")
		}
	}
	if !v.Satisfied {
		if !c.HasNodeCapture() {
			c.undecided(&v, c.TimedOut())
			v.Ask(MissListenDrops)
		}
		return v
	}
	if lost := c.NotInPod(silent); len(lost) > 0 {
		v.Con(GroupTwoPoints, WeightDirect, flowFact("The SYNs never reached the pod.", lost))
	}
	if f := c.HealedByEgress(); f.OK() {
		v.Con(GroupARP, WeightDirect, f)
	}
	v.Ask(MissListenDrops, MissAppLog)
	return v
}

// unserved cites connections, shortly before the SYNs went unanswered, that the
// kernel accepted and the application never served: no byte from it and no close.
func (c *Case) unserved() Fact {
	before := c.seconds("accept-queue-overflow", "before")
	silent := c.Silent()
	if len(silent) == 0 {
		return Fact{}
	}
	first := silent[0].Conn.Start()
	// What the application does once it accepts again is no service in time.
	served := func(m event.Mark) bool { return m.Seen() && m.At <= first }
	f := Fact{}
	for _, s := range c.servers() {
		for _, k := range c.Captures.Between(s, first.Add(-before), first) {
			w := k.Seen().Flow
			if k.Inside != nil {
				w = k.Inside.Flow
			}
			// A prober that closes gets its FIN acknowledged by the kernel; only the
			// application can close in turn.
			if w.SYNACK.Seen() && w.SYNACK.At.Sub(w.SYN.At) < 200*time.Millisecond && w.ACK.Seen() && w.ClientFIN.Seen() && !served(w.ServerFIN) && !served(w.ServerRST) && !served(w.Response) {
				f.add("Connections were accepted by the kernel and never served or closed by the application.", k.Start(), k.Seen().Ref)
			}
		}
	}
	return f
}

// listenDrops cites kernel lines and counters of a full queue.
func (c *Case) listenDrops() Fact {
	f := c.nodeState(event.NodeSynFlood)
	for _, h := range c.Index.Facts {
		if h.Tool == "nstat" && (strings.Contains(h.Key, "ListenOverflows") || strings.Contains(h.Key, "ListenDrops")) && h.Value != "0" && h.Value != "" {
			f.add(h.Key+" is "+h.Value+".", 0, h.Ref)
		}
	}
	return f
}
