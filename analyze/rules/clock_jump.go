package rules

import (
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "clock-jump", Family: FamilyNode, Tier: 2, Rank: 10,
	Title:      "clock was stepped",
	Definition: "The node's clock was stepped: delays computed from wall-clock times go wrong, and timelines tear.",
	Notes: []string{
		"Go's timers use the monotonic clock, so the spacing of probes does not jump; only what is computed from wall time does, such as initialDelaySeconds: with a start time in the future the kubelet does not probe until then.",
		"Times before and after a step must not be compared.",
	},
	Needs:       []string{"A message of systemd or of a time service about a step, or a jump between the monotonic and the wall clock of the journal."},
	Supports:    []string{"A container that seems to have started in the future is not probed.", "The node's lease expired."},
	Contradicts: []string{"The step is shorter than a probe's timeout."},
	LookAlikes:  []LookAlike{{"kubelet-stall", "no step: the kubelet really paused"}},
	Limits:      []Limit{{"time service or monotonic clock of the journal", 0.90}, {"anything else", 0.40}},
	Sentence:    "The clock of the node was stepped while %s was probed.",
	Recommend:   []string{"slew-time"},
	Collect:     []string{MissTimeLog, MissKubeletLog},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/pull/123898", "https://github.com/kubernetes/kubernetes/issues/108844", "https://github.com/kubernetes/kubernetes/issues/58853"},
	Thresholds:  []Threshold{{"window", 300, "s", "how far from the incident the step may lie"}},
	Eval:        evalClockJump,
})

func evalClockJump(c *Case) (v Verdict) {
	window := c.seconds("clock-jump", "window")
	if !c.aboutNode() {
		// Go's timers do not follow the wall clock: a step fails no probe, but it moves
		// what is read from the log.
		steps := c.nodeIncidents(incident.StateClockJump, window, window)
		v.OnlyContributes = true
		v.Satisfied = v.Need(GroupHost, WeightState, stateFact(steps, incident.StateClockJump))
		return v
	}
	step := c.statesOf(incident.StateClockJump, nil)
	if !step.OK() {
		return v
	}
	told := c.nodeFacts(0, 0, func(s identity.NodeState) bool {
		return s.Code == event.NodeTimeChanged && (s.Value != "" || strings.Contains(s.Message, "jump"))
	}, func(s identity.NodeState) string {
		if strings.HasPrefix(s.Message, "the wall clock ") {
			return "Two clocks of the journal differ: " + oneLine(s.Message) + "."
		}
		return "The time service says: " + oneLine(s.Message) + "."
	})
	v.Satisfied = true
	if !v.Need(GroupHost, WeightLiteral, told) {
		// systemd notes a step, but not how far.
		v.Need(GroupHost, WeightState, step)
	}
	v.Sup(GroupStatus, WeightState, c.startsAhead())
	v.Sup(GroupNodePcap, WeightState, stateFact(c.nodeIncidents(incident.StateKubeletSilent, window, window), incident.StateKubeletSilent))
	v.Limit(0.90, "the time service's own word")
	v.Ask(MissTimeLog)
	return v
}

// startsAhead cites containers that seem to have started after the inputs were
// collected: the kubelet counts initialDelaySeconds from that time, so they are
// not probed.
func (c *Case) startsAhead() Fact {
	f := Fact{}
	if c.Index.CollectedAt == 0 {
		return f
	}
	for _, p := range c.Index.Pods {
		for _, s := range p.Statuses {
			if p.Node == c.Node && s.State == "running" && s.StartedAt > c.Index.CollectedAt.Add(time.Minute) {
				f.add("Container "+s.Name+" of "+p.String()+" started in the future, by its status: it is not probed until then.", s.StartedAt, p.Snapshot)
			}
		}
	}
	return f
}
