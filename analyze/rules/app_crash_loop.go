package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "app-crash-loop", Family: FamilyApp, Tier: 1, Rank: 100,
	Title:      "container exits by itself",
	Definition: "The container ends on its own, and the failed probes are a consequence.",
	Notes: []string{
		"While no container runs the kubelet does not probe at all: only the attempts at the edges of a run fail, so a pod that crashes at once may have no failed probe.",
		"The order decides: an exit before the kubelet's \"failed liveness probe, will be restarted\" is the application's own; exit code 137 or 143 after it is the kubelet's.",
	},
	Needs:       []string{"A finished run with an exit code or reason, before or between the failures, that no probe and no deletion had killed."},
	Supports:    []string{"Event BackOff, or the kubelet's back-off.", "The restart count grows.", "The container log ends in a fatal message."},
	Contradicts: []string{"The kubelet killed the container after a failed liveness or startup probe, before it ended."},
	LookAlikes: []LookAlike{
		{"probe-startup-budget-too-short", "the kubelet's kill comes before the exit"},
		{"oom-kill", "the reason is OOMKilled"},
		{"host-network-target", "the container ends because its port is taken on the node"},
	},
	Limits:     []Limit{{"kubelet log and objects", 0.95}, {"events alone", 0.80}, {"exit code 137 or a taken port, without the pod object", 0.70}},
	Sentence:   "A container of %s keeps exiting by itself; the failed probes follow from that.",
	Recommend:  []string{"read-previous-logs"},
	Collect:    []string{MissAppLog, MissPodObjects, MissEvents, MissKernelLog},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/62594"},
	Thresholds: []Threshold{{"window", 600, "s", "how long before the first failure an exit may lie to explain it"}},
	Explains:   []string{"app-not-listening", "app-slow-start", "app-connection-closed"},
	Eval:       evalAppCrashLoop,
})

func evalAppCrashLoop(c *Case) (v Verdict) {
	window := c.seconds("app-crash-loop", "window")
	ends := c.ownEnds(c.First.Add(-window), c.Last.Add(time.Minute))
	back := c.steps(event.ContainerBackOff, "The kubelet backs off restarting the container.", c.First.Add(-window), c.Last.Add(time.Minute))
	if !back.OK() {
		back = c.podEvents("BackOff", c.First.Add(-window), c.Last.Add(time.Minute))
	}
	if !back.OK() {
		ends = slices.DeleteFunc(ends, mayBeInit)
	}
	if len(ends) == 0 || len(ends) < 2 && !back.OK() {
		return v
	}
	code := -1
	for _, r := range ends {
		code = max(code, r.ExitCode)
	}
	claim := fmt.Sprintf("%d container runs ended by themselves, no probe and no deletion ended them.", len(ends))
	if code > 0 {
		claim = fmt.Sprintf("%d container runs ended by themselves, exit code %d; no probe and no deletion ended them.", len(ends), code)
	}
	v.Satisfied = v.Need(GroupStatus, WeightTwoPoints, Fact{Claim: claim, At: ends[0].To, Refs: runRefs(ends), N: len(ends)})
	v.Sup(GroupKubelet, WeightState, back)
	v.Sup(GroupAppLog, WeightStateLoose, c.appLog("The container log tells why", "fatal", "panic", "bind-in-use"))
	if code == 137 && !c.has(MissPodObjects) && !c.has(MissKernelLog) {
		v.Limit(0.70, "exit code 137, and no input tells whether the kernel killed it for want of memory")
		v.Ask(MissPodObjects, MissKernelLog)
	}
	if !c.has(MissPodObjects) && c.appLog("", "bind-in-use").OK() {
		v.Limit(0.70, "the port was taken, and no input tells whether the pod shares the network of its node")
		v.Ask(MissPodObjects)
	}
	if kills := c.probeKills(); len(kills) >= len(ends) {
		v.Con(GroupKubelet, WeightDirect, Fact{Claim: "The kubelet ended as many runs because a probe failed.", At: kills[0].KilledAt, Refs: runRefs(kills), N: len(kills)})
	}
	if far := c.farFrom(ends); c.Share(far) > 0.5 {
		v.Con(GroupTiming, WeightSoft, factOf("Most failures lie long after the last end of a run and after its restart.", far))
	}
	v.Limit(0.95, "kubelet log and status")
	v.Ask(MissAppLog)
	return v
}

// mayBeInit reports whether a run may have been an init container that did its
// work: its container is not known, and no exit code says that it failed.
func mayBeInit(r identity.Run) bool { return r.Container == "" && r.ExitCode <= 0 }

// farFrom returns the failed attempts that are neither close to the end of one
// of the runs nor in the first two minutes of a run that followed.
func (c *Case) farFrom(ends []identity.Run) []*probe.Attempt {
	var out []*probe.Attempt
	for _, a := range c.Failed() {
		near := slices.ContainsFunc(ends, func(r identity.Run) bool { return a.End.Sub(r.To).Abs() <= 30*time.Second })
		near = near || slices.ContainsFunc(a.Worker.Pod.Runs, func(r identity.Run) bool {
			d := a.End.Sub(r.From)
			return r.From >= ends[0].To && d >= -time.Second && d <= 2*time.Minute
		})
		if !near {
			out = append(out, a)
		}
	}
	return out
}
