package rules

import (
	"fmt"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "app-crash-loop", Family: FamilyApp, Tier: 1, Rank: 100,
	Title:       "container exits by itself",
	Definition:  "The container ends on its own, and the failed probes are a consequence.",
	Needs:       []string{"A finished run with an exit code or reason, before or between the failures, that no probe and no deletion had killed."},
	Supports:    []string{"Event BackOff, or the kubelet's back-off.", "The restart count grows.", "The container log ends in a fatal message."},
	Contradicts: []string{"The kubelet killed the container after a failed liveness or startup probe, before it ended."},
	LookAlikes: []LookAlike{
		{"probe-startup-budget-too-short", "the kubelet's kill comes before the exit"},
		{"oom-kill", "the reason is OOMKilled"},
		{"host-network-target", "the container ends because its port is taken on the node"},
	},
	Limits:     []Limit{{"kubelet log and objects", 0.95}, {"events alone", 0.80}},
	Sentence:   "A container of %s keeps exiting by itself; the failed probes follow from that.",
	Recommend:  []string{"read-previous-logs"},
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
	if kills := c.probeKills(); len(kills) >= len(ends) {
		v.Con(GroupKubelet, WeightDirect, Fact{Claim: "The kubelet ended as many runs because a probe failed.", At: kills[0].KilledAt, Refs: runRefs(kills), N: len(kills)})
	}
	v.Limit(0.95, "kubelet log and status")
	v.Ask(MissAppLog)
	return v
}
