package rules

import (
	"fmt"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "app-hang", Family: FamilyApp, Tier: 1, Rank: 103,
	Title:      "connection accepted, no response",
	Definition: "The connection is accepted and the request is delivered, but no response comes, or it comes after the probe gave up.",
	Notes: []string{
		"Packets: SYN, SYN-ACK, ACK, request, its ACK, then silence until the prober's FIN at the timeout. A payload that comes later meets a closed socket: the node's RST after it is a consequence.",
		"Log: from kubelet 1.19 on, \"context deadline exceeded (Client.Timeout exceeded while awaiting headers)\" stands for a lost SYN as well as for a silent application. Older kubelets told the two apart.",
		"An attempt that gets headers and then stalls while reading the body is logged as \"Probe errored\". Errored attempts are discarded: they count neither for nor against the container, so it is never restarted.",
	},
	Needs: []string{"A completed handshake and an acknowledged request without a response before the probe's timeout; or an error text that proves the same."},
	Supports: []string{"A TCP probe of the same port passes while HTTP fails.", "The container log shows lock, pool or collector trouble.", "The response was quick before the failures began.",
		"The response comes after the probe closed."},
	Contradicts: []string{"No SYN-ACK was seen.", "The response is often just a little late: then the timeout is the cause."},
	LookAlikes: []LookAlike{
		{"cpu-starvation", "throttling or pressure is shown: the packets look the same"},
		{"probe-timeout-too-tight", "the response comes, only a little later than the timeout"},
		{"mtu-blackhole", "the server repeats a large segment"},
		{"accept-queue-overflow", "the handshake no longer completes"},
	},
	Limits:     []Limit{{"node or pod capture", 0.90}, {"kubelet log alone, ambiguous text", 0.45}, {"kubelet log alone, text of old kubelets", 0.65}, {"kubelet log alone, headers came and the body stalled", 0.70}},
	Sentence:   "%s accepts connections but does not answer requests in time.",
	Recommend:  []string{"separate-health", "raise-timeout", "no-dependencies", "raise-cpu"},
	Collect:    []string{MissNodeCapture, MissAppLog, MissCPU},
	Precedents: []string{"https://github.com/kubernetes/kubernetes/issues/51096", "https://github.com/kubernetes/kubernetes/issues/115469"},
	Thresholds: []Threshold{{"min-mute", 2, "count", "unanswered requests needed in a capture"}},
	Explains:   []string{"probe-timeout-too-tight"},
	Eval:       evalAppHang,
})

func evalAppHang(c *Case) (v Verdict) {
	mute := c.Mute()
	timed := c.TimedOut()
	if len(timed)+len(c.OfClass(probe.ClassBody)) == 0 {
		return v
	}
	least := c.Thresholds("app-hang", "min-mute")
	late := c.answersAfter(timed)
	switch {
	case float64(len(mute)) >= least || len(mute) > 0 && len(mute) == len(timed):
		v.Satisfied = v.Need(GroupNodePcap, WeightTwoPoints, flowFact(fmt.Sprintf("%d attempts got a handshake at once and had their request acknowledged, and no byte came back in time.", len(mute)), mute))
		if in := c.InsidePod(mute); len(in) > 0 {
			v.Sup(GroupPodPcap, WeightState, flowFact("The same inside the pod.", in))
		}
		if len(mute)*2 < len(timed) {
			v.Con(GroupTiming, WeightSoft, factOf("Most timed-out attempts did not get as far as a request.", timed))
		}
		v.Limit(0.90, "packets show the server's silence, not its reason")
	default:
		if body := c.OfClass(probe.ClassBody); len(body) > 0 && c.Share(body) >= 0.5 {
			v.SubReason = "body"
			v.Satisfied = v.Need(GroupKubelet, WeightLiteral, factOf("The text says that headers came and the body did not: the server stalled after it had begun to answer.", body))
			v.Limit(0.70, "the text alone does not tell a stalled server from lost full-size packets")
			v.Ask(MissNodeCapture, MissAppLog)
			return v
		}
		if old := c.OfClass(probe.ClassHdrTimeout); len(old) > 0 {
			v.Satisfied = v.Need(GroupKubelet, 0.65, factOf("The text says that the connection stood and no headers came.", old))
			v.Limit(0.65, "the text alone")
		} else if amb := c.OfClass(probe.ClassAmbigTimeout); len(amb) > 0 && !c.HasNodeCapture() {
			// The same words stand for a lost SYN. Only the application's own log can tell
			// that the request arrived.
			c.undecided(&v, amb)
			v.Satisfied = v.Need(GroupAppLog, WeightStateLoose, c.quietLog())
			v.Limit(0.45, "the text alone does not tell a silent application from a lost SYN")
		}
		v.Ask(MissNodeCapture, MissAppLog, MissCPU)
	}
	if !v.Satisfied {
		return v
	}
	v.Sup(GroupAppLog, WeightSmell, c.quietLog())
	if len(late) >= 2 && len(late)*2 > len(mute) {
		v.Con(GroupTiming, WeightSoft, flowFact("Most answers did come, after the timeout.", late))
	}
	v.Ask(MissAppLog, MissCPU)
	return v
}

// answersAfter returns the timed-out attempts whose response came, too late.
func (c *Case) answersAfter(timed []*probe.Attempt) []*probe.Attempt {
	return joined(timed, func(a *probe.Attempt, f *event.Flow) bool {
		return f.Response.Seen() && f.Response.At >= a.End.Add(-20*time.Millisecond)
	})
}

// quietLog cites probe requests that the application logged with a failure code
// of its own (a proxy's 499: the client went away).
func (c *Case) quietLog() Fact {
	f := Fact{}
	for _, p := range c.Pods {
		for _, l := range p.AppLogs {
			if l.Code == "probe-request" && l.Status == 499 {
				f.add("The access log says that the prober went away: "+oneLine(l.Text), l.At, l.Ref)
			}
		}
	}
	return f
}
