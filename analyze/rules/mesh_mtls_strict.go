package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "mesh-mtls-strict", Family: FamilyMesh, Tier: 1, Rank: 92,
	Title:      "plain probe refused by strict mTLS",
	Definition: "The kubelet's plain-text request is cut by a mesh proxy that demands mutual TLS.",
	Notes: []string{
		"Packets: handshake, plain request, then RST or FIN within milliseconds and no payload. A TCP probe of the same port passes.",
	},
	Needs:       []string{"A mesh marker, an HTTP probe that was not rewritten, reset or closed right after its request, and a policy that demands mTLS (or the proxy's own message)."},
	Supports:    []string{"A TCP probe of the same port succeeds.", "The capture shows the request and then a reset within milliseconds."},
	Contradicts: []string{"The probe was rewritten to the proxy's agent.", "The pod uses ambient mode."},
	LookAlikes:  []LookAlike{{"app-connection-closed", "no mesh intercepts the port"}, {"app-protocol-mismatch", "the application itself speaks TLS"}},
	Limits:      []Limit{{"objects and kubelet log", 0.80}, {"with a capture or the proxy's log", 0.92}},
	Sentence:    "The mesh demands mutual TLS and refused the plain probe of %s.",
	Recommend:   []string{"mesh-rewrite", "who-stands-between"},
	Collect:     []string{MissPolicies, MissProxyLog, MissNodeCapture, MissPodObjects},
	Precedents:  []string{"https://github.com/istio/istio/issues/53786", "https://github.com/istio/istio/issues/41010"},
	Explains:    []string{"app-connection-closed"},
	Eval:        evalMeshMTLS,
})

func evalMeshMTLS(c *Case) (v Verdict) {
	cut := slices.DeleteFunc(c.OfClass(probe.ClassReset, probe.ClassEOF), func(a *probe.Attempt) bool {
		return a.Worker.Handler == "tcp" || isProxy(a.Worker.Container)
	})
	if len(cut) == 0 || c.Share(cut) < 0.5 {
		return v
	}
	if again := slices.DeleteFunc(slices.Clone(cut), func(a *probe.Attempt) bool { return !rewritten(a.Worker) }); len(again) > 0 {
		v.Con(GroupSpec, WeightDirect, factOf("The probe was rewritten to the proxy's agent: it is not refused for being plain.", again))
	}
	v.Need(GroupKubelet, WeightState, factOf(fmt.Sprintf("%d plain requests were cut without an answer.", len(cut)), cut))
	strict := c.strictMTLS()
	log := c.proxyLog("The proxy's log says", "mtls-refused")
	v.Satisfied = strict.OK() || log.OK()
	v.Need(GroupSpec, 0.60, strict)
	v.Limit(0.80, "objects and kubelet log")
	if v.Need(GroupAppLog, WeightLiteral, log) {
		v.Cap, v.CapWhy = 0.92, "the proxy's log"
	}
	quick := joined(cut, func(_ *probe.Attempt, f *event.Flow) bool {
		end := f.ServerRST
		if !end.Seen() {
			end = f.ServerFIN
		}
		return f.Request.Seen() && !f.Response.Seen() && end.Seen() && end.At.Sub(f.Request.At) < 100*time.Millisecond
	})
	if v.Sup(GroupNodePcap, WeightState, flowFact("The capture shows the request and the cut right behind it, with no byte of an answer.", quick)) {
		v.Cap, v.CapWhy = 0.92, "a capture"
	}
	v.Sup(GroupTiming, WeightStateLoose, c.tcpPasses())
	if mode := c.ambient(); mode.OK() {
		v.Con(GroupSpec, WeightDirect, mode)
	}
	if !strict.OK() {
		v.Ask(MissPolicies)
	}
	v.Ask(MissProxyLog)
	return v
}

// tcpPasses cites successes of plain TCP probes of the failing pods in the
// window: a handshake alone is let through.
func (c *Case) tcpPasses() Fact {
	f := Fact{}
	for _, w := range c.Probes.Workers {
		if !slices.Contains(c.Pods, w.Pod) || w.Handler != "tcp" {
			continue
		}
		for _, a := range w.Attempts {
			if a.Outcome == event.OutcomeSucceeded && a.End >= c.First && a.End <= c.Last && len(a.Refs) > 0 {
				f.add("A TCP probe of the same pod passes meanwhile.", a.End, a.Refs[0])
			}
		}
	}
	return f
}
