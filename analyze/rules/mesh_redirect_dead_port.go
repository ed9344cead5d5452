package rules

import (
	"fmt"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "mesh-redirect-dead-port", Family: FamilyMesh, Tier: 2, Rank: 91,
	Title:      "redirected to a port nobody listens on",
	Definition: "A redirect rule in the pod sends the probe to a proxy port on which nobody listens, so a listening application appears to refuse.",
	Notes: []string{
		"Packets: the refusal equals that of a closed port, and it is seen inside the right pod. Only the nat rules, or a socket list that has the application's listener, tell it apart.",
	},
	Needs: []string{"Refused or reset connections on an application port while the application is known to listen, in a pod with a mesh whose proxy is down or missing; " +
		"without a mesh marker: the port answered before on the same IP and MAC and the container ran on."},
	Supports:    []string{"The pod's nat rules hold a redirect.", "The proxy container is down or restarting.", "All probes of the pod are refused from one moment on."},
	Contradicts: []string{"The proxy is ready and its inbound port listens.", "The connection never reached the pod."},
	LookAlikes: []LookAlike{
		{"app-not-listening", "the socket list shows no listener: on the wire the two look alike"},
		{"policy-reject", "the pod's rules reject instead of redirecting"},
		{"duplicate-pod-ip", "the connection never shows up inside the pod"},
	},
	Limits:     []Limit{{"log, objects and container log", 0.70}, {"pod capture that shows the redirected tuple", 0.80}, {"no mesh marker", 0.50}},
	Sentence:   "A redirect rule sends the probes of %s to a port on which nobody listens.",
	Recommend:  []string{"mesh-repair-rules", "who-stands-between"},
	Collect:    []string{MissPodRules, MissListeners, MissProxyLog},
	Precedents: []string{"https://github.com/istio/istio/issues/15881"},
	Explains:   []string{"app-not-listening"},
	Eval:       evalMeshRedirect,
})

func evalMeshRedirect(c *Case) (v Verdict) {
	refused := c.Refused()
	text := c.OfClass(probe.ClassRefused, probe.ClassReset)
	mesh := c.Mesh()
	before, _ := c.AnsweredInRun()
	if len(text) == 0 || !mesh.OK() && !before.OK() {
		return v
	}
	in := c.InsidePod(refused)
	redirect := c.redirectRule()
	if !mesh.OK() && len(in) == 0 && !redirect.OK() {
		// Without a mark of a mesh, only a pod that refuses what it served before
		// leaves room for a redirect in its own namespace.
		return v
	}
	v.Need(GroupKubelet, WeightStateLoose, factOf(fmt.Sprintf("%d attempts were refused.", len(text)), text))
	v.Sup(GroupTiming, WeightStateLoose, before)
	v.Sup(GroupPodPcap, 0.2, flowFact("The RST left the pod itself, which served the port before on the same IP.", in))
	v.Satisfied = before.OK() || redirect.OK()
	if redirect.OK() {
		v.Need(GroupHost, 0.75, redirect)
	}
	if mesh.OK() {
		v.Sup(GroupSpec, WeightStateLoose, mesh)
		v.Limit(0.70, "a redirect is only seen in the pod's rules")
	} else {
		v.Limit(0.50, "no mark of a mesh; a redirect is only seen in the pod's rules")
	}
	if redirect.OK() {
		v.Cap = 0.80
	}
	if f := c.HealedByEgress(); f.OK() {
		v.Con(GroupARP, WeightDirect, f)
	}
	if out := c.NotInPod(refused); len(out) > 0 {
		v.Con(GroupTwoPoints, WeightDirect, flowFact("The connections never reached the pod.", out))
	}
	if icmp := c.Rejected(); len(icmp) > 0 {
		v.Con(GroupNodePcap, WeightDirect, flowFact("An ICMP error answered.", icmp))
	}
	v.Ask(MissPodRules, MissListeners, MissProxyLog)
	return v
}

// redirectRule cites a REDIRECT rule from a dump of the pod's rules.
func (c *Case) redirectRule() Fact {
	f := Fact{}
	for _, h := range c.Index.Facts {
		if h.Key == event.FirewallRedirect && c.Pod() != nil && h.Pod.Name == c.Pod().Name && h.Pod.Namespace == c.Pod().Namespace {
			f.add("The pod's rules redirect: "+oneLine(h.Value), 0, h.Ref)
		}
	}
	return f
}
