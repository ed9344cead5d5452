package rules

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "cpu-starvation", Family: FamilyNode, Tier: 1, Rank: 14,
	Title:      "starved of processor time",
	Definition: "The container was throttled by its CPU limit, or the node had no processor time left, so responses came too late.",
	Notes: []string{
		"Packets look like those of a hung application: handshake by the kernel, no or late payload. Only counters tell the two apart.",
		"Exec probes time out at the same time.",
	},
	Needs:       []string{"Throttling or pressure: cpu.stat with throttled periods, PSI, soft lockups; without them at most a suspicion."},
	Supports:    []string{"A CPU limit below 500m.", "Responses come late rather than never.", "Exec probes time out at the same time."},
	Contradicts: []string{"Response times are normal."},
	LookAlikes:  []LookAlike{{"app-hang", "no throttling: the process waits for something else"}, {"probe-timeout-too-tight", "the response time is usual for the application"}},
	Limits:      []Limit{{"without metrics", 0.45}, {"with counters or a kernel log", 0.85}},
	Sentence:    "%s was starved of processor time and answered too late.",
	Recommend:   []string{"raise-cpu", "raise-timeout", "separate-health"},
	Collect:     []string{MissCPU},
	Precedents:  []string{"https://github.com/neochaotic/leoflow/issues/860", "https://github.com/projectcalico/calico/pull/4788", "https://github.com/kubernetes/kubernetes/issues/67577"},
	Thresholds: []Threshold{
		{"throttled-share", 0.25, "ratio", "share of throttled periods that counts as throttling"},
		{"low-limit", 500, "millicores", "CPU limit below which throttling is suspected"},
	},
	Explains: []string{"app-hang", "probe-timeout-too-tight", "app-slow-start", "exec-probe-failed"},
	Eval:     evalCPUStarvation,
})

func evalCPUStarvation(c *Case) (v Verdict) {
	slow := c.slowAttempts()
	if len(slow) == 0 || c.Share(slow) < 0.5 {
		if len(c.probeKills()) > 0 && c.NeverAnswered() {
			// Nothing says that it was throttled, but a start that a probe cut short may have
			// been.
			return c.lowLimitOnly()
		}
		return v
	}
	late := c.answersAfter(slow)
	throttled := c.throttled()
	pressed := c.pressure()
	stuck := c.nodeFacts(time.Minute, 10*time.Second, hasCode(event.NodeSoftLockup),
		func(s identity.NodeState) string { return "The kernel says: " + oneLine(s.Message) + "." })
	v.Need(GroupKubelet, WeightClass, factOf(fmt.Sprintf("%d attempts ran out of time, and nothing says that they did not reach the application.", len(slow)), slow))
	limit := c.lowLimit()
	switch {
	case throttled.OK():
		v.SubReason = "cgroup-throttle"
		v.Satisfied = v.Need(GroupHost, WeightState, throttled.Fact)
		if throttled.ours {
			v.Need(GroupHost, 0.80, throttled.Fact)
		} else if none := c.unlimited(); none.OK() {
			v.Con(GroupSpec, WeightDirect, none)
		}
	case pressed.OK():
		v.SubReason = "node-overload"
		v.Satisfied = v.Need(GroupHost, WeightState, pressed)
	case stuck.OK():
		v.SubReason = "node-overload"
		v.Satisfied = true
	default:
		return c.lowLimitOnly()
	}
	v.Sup(GroupKernel, WeightState, stuck)
	v.Sup(GroupSpec, WeightSmell, limit)
	if len(late) > 0 {
		v.Sup(GroupNodePcap, WeightState, flowFact("Answers do come, after the prober gave up.", late))
	} else {
		v.Sup(GroupNodePcap, WeightStateLoose, flowFact("The kernel completes the handshake at once; the process answers late or never.", c.Mute()))
	}
	v.Sup(GroupTiming, WeightStateLoose, c.execLate())
	if v.SubReason == "node-overload" {
		if quick := c.quickAnswers(); quick.OK() {
			v.Con(GroupTiming, WeightSoft, quick)
		}
	}
	v.Limit(0.85, "counters say that it was starved, not that nothing else delayed it")
	v.Ask(MissCPU)
	return v
}

// lowLimitOnly tells of a low limit beside whatever the cause is: a smell, no
// more.
func (c *Case) lowLimitOnly() (v Verdict) {
	v.OnlyContributes = true
	v.Satisfied = v.Need(GroupSpec, WeightSmell, c.lowLimit())
	v.Limit(0.45, "no counters of processor time in the inputs")
	v.Ask(MissCPU)
	return v
}

// slowAttempts returns the failed attempts whose time ran out although, as far as
// packets tell, they reached the container: a SYN without an answer is another
// story.
func (c *Case) slowAttempts() []*probe.Attempt {
	var out []*probe.Attempt
	for _, a := range c.Failed() {
		if !a.Class.Timeout() && a.Class != probe.ClassExecTimeout && a.Class != probe.ClassBody {
			continue
		}
		if a.Class == probe.ClassConnTimeout || a.JoinReason == "no-syn" || a.JoinReason == "arp-pending" {
			continue
		}
		if a.Conn != nil && !a.Conn.Seen().Flow.SYNACK.Seen() {
			continue
		}
		out = append(out, a)
	}
	return out
}

// throttle is a share of throttled periods; ours is set when the counters name a
// pod of the incident.
type throttle struct {
	Fact
	ours bool
}

// throttled cites cpu.stat counters of the incident's pods, or of a control group
// that the input does not name, with many throttled periods.
func (c *Case) throttled() throttle {
	least := c.Thresholds("cpu-starvation", "throttled-share")
	var best throttle
	var periods identity.HostFact
	for _, h := range c.hostFacts(event.ToolCPUStat) {
		if h.Key == "nr_periods" {
			periods = h
		}
		if h.Key != "nr_throttled" || periods.HostFact == nil || periods.Ref.Stream != h.Ref.Stream || periods.Pod != h.Pod || number(periods) <= 0 {
			continue
		}
		ours, named := c.ofPods(h)
		share := number(h) / number(periods)
		if named && !ours || share < least || best.OK() && (best.ours || !ours) {
			continue
		}
		whose := "a control group that the input does not name"
		if ours {
			whose = "the pod"
		}
		best = throttle{ours: ours, Fact: Fact{Claim: fmt.Sprintf("cpu.stat of %s: %s of %s periods were throttled.", whose, h.Value, periods.Value), Refs: cite(h.Ref, periods.Ref), N: 1}}
	}
	return best
}

// pressure cites pressure stall information of the node or of the incident's
// pods that shows tasks waiting for a processor or for memory.
func (c *Case) pressure() Fact {
	f := Fact{}
	for _, h := range c.hostFacts(event.ToolPSI) {
		if ours, named := c.ofPods(h); named && !ours {
			continue
		}
		for _, k := range [...]struct {
			key  string
			most float64
			what string
		}{
			{"cpu.some.avg10", pressedCPU, "waited for a processor"}, {"cpu.some.avg60", pressedCPU, "waited for a processor"},
			{"memory.full.avg10", pressedMemory, "waited for memory"}, {"memory.full.avg60", pressedMemory, "waited for memory"},
		} {
			if h.Key == k.key && number(h) >= k.most {
				f.add(fmt.Sprintf("Pressure %s is %s: tasks %s for that share of the time.", h.Key, h.Value, k.what), 0, h.Ref)
			}
		}
	}
	return f
}

// Percent of time from which pressure is more than a busy node's.
const (
	pressedCPU    = 40
	pressedMemory = 10
)

// lowLimit cites a CPU limit of a failing container below the rule's threshold.
func (c *Case) lowLimit() Fact {
	low := c.Thresholds("cpu-starvation", "low-limit")
	for _, m := range c.Members {
		for _, k := range m.Worker.Pod.Containers {
			if mc, ok := millicores(k.CPULimit); ok && k.Name == m.Worker.Container && mc < low {
				return Fact{Claim: "Container " + k.Name + " has a CPU limit of " + k.CPULimit + ".", Refs: cite(m.Worker.Pod.Snapshot), N: 1}
			}
		}
	}
	return Fact{}
}

// unlimited cites failing containers that have no CPU limit: their own control
// group is never throttled.
func (c *Case) unlimited() Fact {
	for _, m := range c.Members {
		for _, k := range m.Worker.Pod.Containers {
			if k.Name == m.Worker.Container && k.CPULimit != "" {
				return Fact{}
			}
		}
	}
	return Fact{Claim: "The failing containers have no CPU limit, so they cannot be throttled by one.", Refs: c.snapshots(), N: 1}
}

// millicores reads a quantity of processors: "250m", "0.5", "2".
func millicores(q string) (float64, bool) {
	num, milli := strings.CutSuffix(q, "m")
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || v <= 0 {
		return 0, false
	}
	if !milli {
		v *= 1000
	}
	return v, true
}

// execLate cites exec probes of the node that ran out of time meanwhile.
func (c *Case) execLate() Fact {
	f := Fact{}
	for _, w := range c.Probes.OnNode(c.Node) {
		for _, a := range w.Attempts {
			if a.Class == probe.ClassExecTimeout && a.End >= c.First && a.End <= c.Last && len(a.Refs) > 0 {
				f.add("Exec probes of the node run out of time as well.", a.End, a.Refs[0])
			}
		}
	}
	return f
}

// quickAnswers cites successes of the failing probes in the window that were
// answered within a tenth of the timeout, where they are the rule.
func (c *Case) quickAnswers() Fact {
	f := Fact{}
	all := 0
	for _, a := range c.Successes(c.First, c.Last) {
		if a.Phases.FirstByte < 0 {
			continue
		}
		all++
		if a.Phases.FirstByte < a.Worker.Timeout/10 && len(a.Refs) > 0 {
			f.add("Between the failures the answers are quick.", a.End, a.Refs[0])
		}
	}
	if f.N < 3 || f.N*2 < all {
		return Fact{}
	}
	return f
}
