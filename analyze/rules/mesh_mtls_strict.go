package rules

import (
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "mesh-mtls-strict", Family: FamilyMesh, Tier: 1, Rank: 92,
	Title:       "plain probe refused by strict mTLS",
	Definition:  "The kubelet's plain-text request is cut by a mesh proxy that demands mutual TLS.",
	Needs:       []string{"A mesh marker, an HTTP probe that was not rewritten, reset or closed right after its request, and a policy that demands mTLS (or the proxy's own message)."},
	Supports:    []string{"A TCP probe of the same port succeeds.", "The capture shows the request and then a reset within milliseconds."},
	Contradicts: []string{"The probe was rewritten to the proxy's agent.", "The pod uses ambient mode."},
	LookAlikes:  []LookAlike{{"app-connection-closed", "no mesh intercepts the port"}, {"app-protocol-mismatch", "the application itself speaks TLS"}},
	Limits:      []Limit{{"objects and kubelet log", 0.80}, {"with a capture or the proxy's log", 0.92}},
	Sentence:    "The mesh demands mutual TLS and refused the plain probe of %s.",
	Recommend:   []string{"mesh-rewrite"},
	Precedents:  []string{"https://github.com/istio/istio/issues/53786", "https://github.com/istio/istio/issues/41010"},
	Explains:    []string{"app-connection-closed"},
	Eval:        evalMeshMTLS,
})

func evalMeshMTLS(c *Case) (v Verdict) {
	var plain []*probe.Attempt
	for _, a := range c.OfClass(probe.ClassReset, probe.ClassEOF) {
		if !rewritten(a.Worker) && a.Worker.Handler != "tcp" {
			plain = append(plain, a)
		}
	}
	if len(plain) == 0 || c.Share(plain) < 0.5 || c.ambient().OK() {
		return v
	}
	v.Need(GroupKubelet, WeightState, factOf("Plain probes that the mesh did not rewrite are reset or closed right after the request.", plain))
	v.Sup(GroupSpec, WeightSmell, c.Mesh())
	strict := c.strictMTLS()
	v.Satisfied = v.Need(GroupAPI, 0.60, strict)
	v.Limit(0.80, "objects and kubelet log")
	if cut := joined(plain, func(a *probe.Attempt, f *event.Flow) bool { return f.Request.Seen() && cutOff(a, f) }); len(cut) > 0 {
		v.Sup(GroupNodePcap, WeightState, flowFact("The capture shows the request and then the close, without any payload.", cut))
		v.Cap, v.CapWhy = 0.92, "objects and a capture"
	}
	if !strict.OK() {
		v.Ask(MissPolicies)
	}
	v.Ask(MissProxyLog)
	return v
}
