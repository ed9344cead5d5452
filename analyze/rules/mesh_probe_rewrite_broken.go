package rules

import (
	"fmt"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
)

var _ = register(Rule{
	ID: "mesh-probe-rewrite-broken", Family: FamilyMesh, Tier: 2, Rank: 93,
	Title:      "rewritten probe does not reach the application",
	Definition: "The mesh rewrote the probe to its agent, and the agent cannot reach the application: wrong port or interface, or the container is missing in its table.",
	Notes: []string{
		"An injected pod's HTTP probe goes to /app-health/CONTAINER/readyz on port 15020, where the proxy's agent asks the application in turn: the status the kubelet sees is the agent's.",
	},
	Needs:       []string{"A rewritten probe (/app-health/...) that fails with an error of the agent while the proxy itself is ready."},
	Supports:    []string{"The agent's log names the failing check.", "The application answers on its own address."},
	Contradicts: []string{"The proxy is not ready."},
	LookAlikes:  []LookAlike{{"mesh-sidecar-not-ready", "the proxy is not ready"}, {"app-http-error", "the application answers with that status itself"}},
	Limits:      []Limit{{"objects and kubelet log", 0.70}, {"with the proxy's log", 0.85}},
	Sentence:    "The probe of %s was rewritten by the mesh and does not reach the application.",
	Recommend:   []string{"mesh-rewrite-check", "who-stands-between"},
	Collect:     []string{MissProxyLog, MissListeners},
	Precedents:  []string{"https://github.com/istio/istio/issues/25177", "https://github.com/istio/istio/issues/26367"},
	Explains:    []string{"app-http-error"},
	Eval:        evalMeshRewrite,
})

func evalMeshRewrite(c *Case) (v Verdict) {
	var answered []*probe.Attempt
	for _, a := range c.Failed() {
		if rewritten(a.Worker) && !isProxy(a.Worker.Container) && (a.Class == probe.ClassStatus || a.Class == probe.ClassRefused) {
			answered = append(answered, a)
		}
	}
	if len(answered) == 0 || c.Share(answered) < 0.5 {
		return v
	}
	unready := c.proxyNotReady()
	ready := c.proxyReady()
	v.Need(GroupKubelet, WeightState, factOf(fmt.Sprintf("%d attempts of a rewritten probe were answered with an error by the proxy's agent.", len(answered)), answered))
	v.Satisfied = v.Need(GroupStatus, WeightState, ready)
	v.Limit(0.70, "objects and kubelet log")
	if v.Sup(GroupAppLog, WeightLiteral, c.proxyLog("The agent's log says", "agent-probe")) {
		v.Satisfied = true
		v.Cap, v.CapWhy = 0.85, "the agent's log"
	} else {
		v.Ask(MissProxyLog)
	}
	if c.NeverAnswered() {
		v.Sup(GroupTiming, WeightStateLoose, factOf("The rewritten probe never passed.", answered))
	}
	v.Con(GroupStatus, WeightDirect, unready)
	v.Ask(MissListeners)
	return v
}
