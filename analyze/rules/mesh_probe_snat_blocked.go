package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "mesh-probe-snat-blocked", Family: FamilyMesh, Tier: 1, Rank: 94,
	Title:      "mesh probe address blocked",
	Definition: "Ambient mode rewrites the kubelet's source address to 169.254.7.127, and a policy or the datapath drops that address.",
	Notes: []string{
		"Packets: SYNs from 169.254.7.127 on the pod's interface that get no SYN-ACK, or whose SYN-ACK leaves by another interface.",
	},
	Needs:       []string{"An ambient marker and timeouts on the pod's network probes; or SYNs from 169.254.7.127 without an answer."},
	Supports:    []string{"A policy that does not list the address.", "The failures began with the enrolment."},
	Contradicts: []string{"SYNs from the address are answered."},
	LookAlikes:  []LookAlike{{"policy-drop", "the probe's source is the node's own address"}},
	Limits:      []Limit{{"objects and kubelet log", 0.55}, {"with a policy that leaves the address out", 0.75}, {"the probes passed until the enrolment, by an audit log", 0.80}, {"pod-side capture", 0.92}},
	Sentence:    "The address that the mesh uses for the probes of %s is blocked.",
	Recommend:   []string{"mesh-snat-allow", "allow-node", "who-stands-between"},
	Collect:     []string{MissVethCapture, MissPolicies, MissAudit},
	Precedents:  []string{"https://github.com/istio/istio/issues/52765", "https://github.com/istio/istio/issues/49277", "https://github.com/istio/istio/issues/58531"},
	Explains:    []string{"policy-drop", "probe-timeout-too-tight"},
	Eval:        evalMeshSNAT,
})

// Addresses from which Istio's ambient mode sends probes on to the pod.
var (
	ambientProbe4 = netip.MustParseAddr("169.254.7.127")
	ambientProbe6 = netip.MustParseAddr("fd16:9254:7127:1337:ffff:ffff:ffff:ffff")
)

func evalMeshSNAT(c *Case) (v Verdict) {
	timed := c.TimedOut()
	ambient := c.ambient()
	if len(timed) == 0 || c.Share(timed) < 0.7 || !ambient.OK() {
		return v
	}
	v.Need(GroupSpec, WeightStateLoose, ambient)
	v.Satisfied = v.Need(GroupKubelet, WeightClass, factOf(fmt.Sprintf("%d probes of a pod in ambient mode time out.", len(timed)), timed))
	v.Limit(0.55, "nothing shows that the mesh's address is what is blocked")
	if f := c.omitsAmbient(); f.OK() {
		v.Sup(GroupAPI, WeightState, f)
		v.Cap, v.CapWhy = 0.75, "a policy fits; no packets"
	}
	before, _ := c.AnsweredInRun()
	if since, left := c.enrolled(); since.OK() && before.OK() {
		v.Sup(GroupAPI, WeightState, since)
		v.Sup(GroupTiming, WeightState, before.Say("Until then the probes passed in the same container run."))
		v.Sup(GroupStatus, WeightStateLoose, left)
		v.Cap, v.CapWhy = 0.80, "the probes passed until the enrolment; no packets"
	}
	silent, answered := c.fromAmbient()
	if silent.OK() {
		v.Sup(GroupPodPcap, WeightTwoPoints, silent)
		v.Cap, v.CapWhy = 0.92, "packets from the mesh's address"
	}
	v.Con(GroupPodPcap, WeightDirect, answered)
	v.Ask(MissVethCapture, MissPolicies, MissAudit)
	return v
}

// enrolled cites the request that enrolled the pods' namespace in the mesh when
// the failures began, and the one that took it out when they ended.
func (c *Case) enrolled() (since, left Fact) {
	const slack = 5 * time.Second
	period := 10 * time.Second
	for _, m := range c.Members {
		period = max(period, m.Worker.Period+m.Worker.Timeout)
	}
	for o, mode := range c.meshModes() {
		switch {
		case o.At == 0: // an object that no request dates
		case mode == "ambient" && o.At >= c.First.Add(-period-slack) && o.At <= c.First:
			since.add("Namespace "+o.Name+" was enrolled in the mesh "+secs(c.First.Sub(o.At))+" before the failures began.", o.At, o.Ref)
		case mode != "ambient" && c.Recovered != 0 && o.At >= c.Last.Add(-period) && o.At <= c.Recovered:
			left.add("They ended when namespace "+o.Name+" was taken out of the mesh.", o.At, o.Ref)
		}
	}
	return since, left
}

// fromAmbient cites connections from the mesh's probe address to the probed
// ones: those without a usable answer, and those with one.
func (c *Case) fromAmbient() (silent, answered Fact) {
	for _, s := range c.servers() {
		for _, k := range c.Captures.Between(s, c.First.Add(-time.Second), c.Last) {
			if from := k.Client.Addr().Unmap(); from != ambientProbe4 && from != ambientProbe6 {
				continue
			}
			if f := k.Seen().Flow; f.SYNACK.Seen() && f.ACK.Seen() {
				answered.add("SYNs from the mesh's probe address are answered.", k.Start(), k.Seen().Ref)
			} else {
				silent.add("SYNs from the mesh's probe address get no usable answer.", k.Start(), k.Seen().Ref)
			}
		}
	}
	return silent, answered
}

// omitsAmbient cites a policy that isolates a pod of the incident and does not
// admit the mesh's probe address.
func (c *Case) omitsAmbient() Fact {
	f := Fact{}
	for _, o := range c.Index.Objects {
		if o.ObjectKind != "NetworkPolicy" || factValue(o.Facts, event.FactIngressAny) == "true" || !strings.Contains(factValue(o.Facts, event.FactPolicyTypes), "Ingress") ||
			admits(factValue(o.Facts, event.FactIngressCIDRs), ambientProbe4) {
			continue
		}
		for _, p := range c.Pods {
			if o.Namespace == p.Namespace && selects(factValue(o.Facts, event.FactPodSelector), p) {
				f.add("NetworkPolicy "+o.Namespace+"/"+o.Name+" isolates the pod and does not admit "+ambientProbe4.String()+".", o.Created, o.Ref)
			}
		}
	}
	return f
}

// admits reports whether a printed list of prefixes covers the address.
func admits(cidrs string, ip netip.Addr) bool {
	return slices.ContainsFunc(strings.Split(cidrs, ","), func(s string) bool {
		p, err := netip.ParsePrefix(strings.TrimSpace(s))
		return err == nil && p.Contains(ip)
	})
}
