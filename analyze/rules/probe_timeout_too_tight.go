package rules

import (
	"fmt"
	"time"
)

var _ = register(Rule{
	ID: "probe-timeout-too-tight", Family: FamilyConfig, Tier: 1, Rank: 110,
	Title:      "timeoutSeconds too tight",
	Definition: "The target answers correctly, only later than timeoutSeconds.",
	Notes: []string{
		"timeoutSeconds is 1 by default, and the kernel repeats a lost SYN only after about one second: one lost packet is a failed attempt.",
	},
	Needs:       []string{"Valid answers after the probe gave up in at least two attempts, or response times close to the timeout; in logs: an access log that shows success slower than the timeout."},
	Supports:    []string{"timeoutSeconds is 1, the default.", "Successes in between."},
	Contradicts: []string{"The target never answers."},
	LookAlikes:  []LookAlike{{"app-hang", "no answer ever comes"}, {"cpu-starvation", "throttling is shown"}, {"packet-loss-latency", "the handshake itself is late"}},
	Limits:      []Limit{{"capture", 0.90}, {"container log", 0.85}, {"kubelet log and objects", 0.50}},
	Sentence:    "%s answers its probe correctly, but later than timeoutSeconds allows.",
	Recommend:   []string{"raise-timeout", "period-over-timeout"},
	Collect:     []string{MissNodeCapture, MissAppLog, MissPodObjects},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/51096"},
	Thresholds:  []Threshold{{"near", 0.7, "ratio", "share of the timeout from which a response time counts as close to it"}, {"min-late", 2, "count", "late answers needed"}},
	Eval:        evalTimeoutTooTight,
})

func evalTimeoutTooTight(c *Case) (v Verdict) {
	timed := c.TimedOut()
	if len(timed) == 0 {
		return v
	}
	late := c.LateAnswers()
	if float64(len(late)) >= c.Thresholds("probe-timeout-too-tight", "min-late") {
		v.Satisfied = v.Need(GroupNodePcap, 0.75, flowFact(fmt.Sprintf("%d attempts were answered correctly, after the prober had given up.", len(late)), late))
		if len(late)*2 < len(timed) {
			v.Con(GroupTiming, WeightSoft, factOf("Most timed-out attempts were never answered.", timed))
		}
		v.Limit(0.90, "packets")
	}
	for _, m := range c.Members {
		if m.Worker.Timeout > 0 && m.Worker.Timeout <= time.Second && len(m.Failed) > 0 && !m.Worker.Pod.Snapshot.IsZero() {
			v.Sup(GroupSpec, WeightSmell, Fact{Claim: "timeoutSeconds is " + secs(m.Worker.Timeout) + ": one lost packet is a failed attempt.", Refs: cite(m.Worker.Pod.Snapshot), N: 1})
			break
		}
	}
	if len(late) == 0 {
		v.OnlyContributes = true
	}
	v.Ask(MissNodeCapture, MissAppLog)
	return v
}
