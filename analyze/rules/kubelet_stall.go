package rules

import (
	"fmt"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "kubelet-stall", Family: FamilyNode, Tier: 1, Rank: 30,
	Title:      "kubelet stalled",
	Definition: "The kubelet, its PLEG or its sync loop stood still: status and restarts froze, or no probe was sent at all for a while.",
	Notes: []string{
		"Probe workers are goroutines of their own: an unhealthy PLEG does not stop probing, it freezes restarts and the refresh of IPs and status. A kubelet that is frozen as a whole sends no SYN and logs nothing; all probes resume together.",
	},
	Needs:       []string{"\"PLEG is not healthy\", \"Housekeeping took longer than expected\", a silence of the kubelet's journal well above its usual pauses, or attempts of many probes that are all late at once."},
	Supports:    []string{"No probe to any pod in the silence, in log or capture, and all resume together.", "The node turned not ready.", "Runtime calls were slow."},
	Contradicts: []string{"Only one pod is late.", "The probes of other pods went on in the capture."},
	LookAlikes:  []LookAlike{{"kubelet-restart", "the kubelet starts anew, with another process id"}, {"runtime-down", "the runtime itself is away"}, {"conntrack-exhausted", "probes are attempted and time out"}, {"status-patch-lag", "the kubelet works on, and only its writes come late"}},
	Limits:      []Limit{{"PLEG message in the kubelet log", 0.90}, {"silence of the log alone", 0.70}, {"silence of log and capture", 0.85}, {"capture alone", 0.75}},
	Sentence:    "The kubelet of %s stood still; nothing was probed or restarted in that time.",
	Recommend:   []string{"runtime-latency", "drain-first"},
	Collect:     []string{MissKubeletLog, MissNodeCapture, MissRuntimeLog},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/77728", "https://github.com/kubernetes/kubernetes/issues/45419", "https://github.com/rancher/rancher/issues/22007"},
	Thresholds: []Threshold{
		{"window", 60, "s", "how far from the failures a message of the kubelet may lie"},
		{"silence", 15, "s", "shortest silence of all probes of the node that counts"},
	},
	Explains: []string{"stale-status-ip", "kubelet-restart", "status-patch-lag"},
	Eval:     evalKubeletStall,
})

func evalKubeletStall(c *Case) (v Verdict) {
	if c.aboutNode() {
		return c.stallOfNode()
	}
	// Attempts that ran while the kubelet stood still end in one moment when it goes
	// on. A stalled PLEG alone fails no probe.
	window := c.seconds("kubelet-stall", "window")
	stalls := c.nodeIncidents(incident.StateKubeletSilent, window, 0)
	if len(stalls) == 0 {
		blocked := c.nodeIncidents(incident.StateSyncBlocked, window, window)
		v.OnlyContributes = true
		v.Satisfied = v.Need(GroupKubelet, WeightStateLoose, stateFact(blocked, incident.StateSyncBlocked))
		return v
	}
	end := stalls[len(stalls)-1].Last
	var woken []*probe.Attempt
	for _, a := range c.Failed() {
		if a.Start <= end && a.End >= end.Add(-time.Second) && a.End.Sub(end) < wakeSpan {
			woken = append(woken, a)
		}
	}
	v.OnlyContributes = c.Share(woken) < 0.5
	v.Satisfied = v.Need(GroupNodePcap, WeightState, stateFact(stalls, incident.StateKubeletSilent))
	if !v.OnlyContributes {
		v.Need(GroupTiming, WeightState, factOf("The failed attempts all ended when the kubelet went on: their time ran out while it stood still.", woken))
	}
	v.Limit(0.75, "the capture and the time of the failures")
	return v
}

// wakeSpan is how soon after a standstill an attempt that was under way in it
// ends.
const wakeSpan = 5 * time.Second

// stallOfNode judges a node whose kubelet stood still.
func (c *Case) stallOfNode() (v Verdict) {
	if c.statesOf(incident.StateKubeletRestart, nil).OK() {
		return v // it was away because it was being restarted
	}
	window := c.seconds("kubelet-stall", "window")
	least := c.seconds("kubelet-stall", "silence")
	silent := c.statesOf(incident.StateKubeletSilent, func(s incident.State) bool { return s.To.Sub(s.At) >= least })
	blocked := c.statesOf(incident.StateSyncBlocked, nil)
	woke := c.statesOf(incident.StateKubeletWoke, nil)
	pleg := c.nodeFacts(0, 0, hasCode(event.NodePLEGUnhealthy), func(identity.NodeState) string { return blocked.Claim })
	switch {
	case pleg.OK():
		v.SubReason = "pleg"
		v.Satisfied = v.Need(GroupKubelet, WeightLiteral, pleg)
		v.Limit(0.90, "the kubelet says so itself")
	case silent.OK():
		v.SubReason = "standstill"
		v.Satisfied = v.Need(GroupNodePcap, WeightState, silent)
		v.Limit(0.75, "a capture alone")
	case blocked.OK():
		v.SubReason = "sync-blocked"
		v.Satisfied = v.Need(GroupKubelet, WeightState, blocked)
		v.Limit(0.70, "the kubelet's log alone")
	case woke.OK():
		v.SubReason = "standstill"
		v.Satisfied = v.Need(GroupKubelet, WeightState, woke)
		v.Limit(0.70, "the kubelet's log alone")
	default:
		return v
	}
	if silent.OK() {
		if pleg.OK() {
			v.Sup(GroupNodePcap, WeightState, silent)
		}
		v.Sup(GroupTiming, WeightState, c.resumed())
		quiet := c.quietAround()
		if v.Sup(GroupKubelet, WeightState, quiet) || woke.OK() {
			v.Cap, v.CapWhy = max(v.Cap, 0.85), "the log is silent together with the capture"
		}
	}
	v.Sup(GroupKubelet, WeightState, woke)
	v.Sup(GroupStatus, WeightStateLoose, c.nodeFacts(window, window, hasCode(event.NodeNotReady),
		func(identity.NodeState) string { return "The node turned not ready." }))
	v.Con(GroupKernel, WeightDirect, c.nodeFacts(window, window, hasCode(event.NodeConntrackFull),
		func(identity.NodeState) string {
			return "The kernel dropped new connections because its tracking table was full."
		}))
	v.Ask(MissKubeletLog)
	if !silent.OK() {
		v.Ask(MissNodeCapture)
	}
	return v
}

// quietAround cites the kubelet's own silence in the probes' silence.
func (c *Case) quietAround() Fact {
	for _, s := range c.States {
		if s.Code == incident.StateKubeletSilent {
			// It logs again the moment it wakes up, before its first packet.
			return c.kubeletQuiet(s.At, s.To.Add(-time.Second))
		}
	}
	return Fact{}
}

// resumed cites the first attempts of several probes right after a silence: they
// go on together.
func (c *Case) resumed() Fact {
	f := Fact{}
	for _, s := range c.States {
		if s.Code != incident.StateKubeletSilent {
			continue
		}
		for _, w := range c.Probes.OnNode(c.Node) {
			for _, a := range w.Attempts {
				if a.Start >= s.To && a.Start.Sub(s.To) < time.Second && len(a.Refs) > 0 {
					f.add("", a.Start, a.Refs[0])
					break
				}
			}
		}
	}
	if f.N < 2 {
		return Fact{}
	}
	f.Claim = fmt.Sprintf("%d probes went on within one second of each other.", f.N)
	return f
}
