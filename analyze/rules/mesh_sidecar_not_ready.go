package rules

import (
	"github.com/probe-forensics/probe-forensics/analyze/probe"
)

var _ = register(Rule{
	ID: "mesh-sidecar-not-ready", Family: FamilyMesh, Tier: 1, Rank: 90,
	Title:      "mesh proxy not ready",
	Definition: "The mesh's proxy container was not ready: its own readiness probe fails, or the application's probe, rewritten to pass through the proxy's agent, fails with it.",
	Notes: []string{
		"The failing container is the proxy itself (ports 15021, 15020, 4191), or the application's rewritten probe that asks through it.",
	},
	Needs:       []string{"The failing container is the proxy, or the probe was rewritten to the proxy's agent and the proxy is not ready."},
	Supports:    []string{"The proxy's log says that no configuration was received.", "Status 503 or 500 from the proxy.", "The failures end when the proxy becomes ready."},
	Contradicts: []string{"The proxy was ready."},
	LookAlikes:  []LookAlike{{"app-http-error", "the application itself answered with the status"}, {"mesh-probe-rewrite-broken", "the proxy is ready, the rewritten probe fails all the same"}},
	Limits:      []Limit{{"kubelet log and objects", 0.80}, {"with the proxy's log", 0.92}},
	Sentence:    "The mesh proxy of %s was not ready.",
	Recommend:   []string{"container-start-order", "who-stands-between"},
	Collect:     []string{MissProxyLog, MissPodObjects},
	Precedents:  []string{"https://github.com/istio/istio/issues/46211"},
	Explains:    []string{"app-http-error", "app-not-listening"},
	Eval:        evalMeshSidecar,
})

func evalMeshSidecar(c *Case) (v Verdict) {
	var own, through []*probe.Attempt
	for _, a := range c.Failed() {
		switch {
		case !proxyAnswer(a):
		case isProxy(a.Worker.Container):
			own = append(own, a)
		case rewritten(a.Worker):
			through = append(through, a)
		}
	}
	if len(own) == 0 && len(through) == 0 {
		return v
	}
	v.Sup(GroupSpec, WeightSmell, c.Mesh())
	if len(own) > 0 {
		v.SubReason = "proxy-probe"
		v.Satisfied = v.Need(GroupKubelet, 0.70, factOf("The failing container is the mesh's proxy.", own))
	} else {
		v.SubReason = "rewritten-probe"
		v.Need(GroupKubelet, WeightStateLoose, factOf("The application's probe goes through the proxy's agent and fails there.", through))
		v.Satisfied = v.Need(GroupStatus, 0.60, c.proxyNotReady())
		v.Con(GroupStatus, WeightSoft, c.proxyReady())
	}
	v.Sup(GroupStatus, WeightStateLoose, c.proxyNotReady())
	v.Limit(0.80, "log and objects")
	if f := c.proxyLog("The proxy's log says why", "envoy-not-ready"); f.OK() {
		v.Sup(GroupAppLog, WeightTwoPoints, f)
		v.Cap, v.CapWhy = 0.92, "the proxy's log"
	}
	v.Ask(MissProxyLog)
	return v
}

// proxyAnswer reports whether a failed attempt looks like a proxy that is there
// but not ready, or not there yet: 5xx, a refusal, or a connection cut.
func proxyAnswer(a *probe.Attempt) bool {
	switch a.Class {
	case probe.ClassStatus:
		return a.Status >= 500
	case probe.ClassRefused, probe.ClassEOF, probe.ClassReset:
		return true
	}
	return false
}
