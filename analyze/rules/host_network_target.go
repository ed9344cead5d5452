package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
)

var _ = register(Rule{
	ID: "host-network-target", Family: FamilyIdentity, Tier: 2, Rank: 66,
	Title:      "host network: a node-level fact decides",
	Definition: "The pod uses the host network, so the probe goes to the node IP: listeners of other processes, host firewalls, port conflicts and node address changes decide.",
	Notes: []string{
		"Probes to the node's own address never leave the loopback interface: their absence on eth0 is normal.",
		"The loser of a race for a host port may exit before its first probe: then there is only the back-off and the container log, and no \"Probe failed\".",
	},
	Needs:       []string{"hostNetwork is set, and a node-level fact explains the failures: another pod or process has the port, or the node's IP changed."},
	Supports:    []string{"The container log says that the address is already in use.", "Two host-network pods of the node declare the same port.", "The pod IP is not among the node's addresses."},
	Contradicts: []string{"The pod does not use the host network."},
	LookAlikes:  []LookAlike{{"app-crash-loop", "the container ends for another reason than the port"}, {"app-not-listening", "nobody has the port"}},
	Limits:      []Limit{{"objects alone", 0.70}, {"objects and container log", 0.85}, {"node capture", 0.80}},
	Sentence:    "%s uses the host network, and the node itself (a taken port, a changed address) keeps its probes from succeeding.",
	Recommend:   []string{"host-network-rules", "loopback-probe-host"},
	Collect:     []string{MissAppLog, MissListeners, MissPodObjects},
	Precedents:  []string{"https://github.com/openshift/origin/pull/6939"},
	Explains:    []string{"app-crash-loop", "app-not-listening", "app-http-error"},
	Eval:        evalHostNetworkTarget,
})

func evalHostNetworkTarget(c *Case) (v Verdict) {
	for _, p := range c.Pods {
		if !p.HostNetwork {
			continue
		}
		v.Need(GroupSpec, WeightStateLoose, Fact{Claim: "The pod uses the host network: its probes go to the node's address.", Refs: cite(p.Snapshot), N: 1})
		if f := c.appLog("The container log says", "bind-in-use"); f.OK() {
			v.Satisfied = v.Need(GroupAppLog, 0.75, f)
			v.SubReason = "port-taken"
		}
		if f := c.samePort(p); f.OK() {
			v.Satisfied = v.Need(GroupStatus, 0.60, f)
			v.SubReason = "port-taken"
		}
		if f := c.nodeAddressGone(p); f.OK() {
			v.Satisfied = v.Need(GroupHost, 0.60, f)
			v.SubReason = "address-changed"
		}
		if ends := c.ownEnds(c.First.Add(-10*time.Minute), c.Last.Add(time.Minute)); len(ends) > 0 {
			v.Sup(GroupKubelet, WeightStateLoose, Fact{Claim: "Its container ends by itself.", At: ends[0].To, Refs: runRefs(ends), N: len(ends)})
		}
		v.Limit(0.85, "objects and container log")
		v.Ask(MissAppLog, MissListeners)
		return v
	}
	return v
}

// samePort cites another hostNetwork pod of the node that declares a port of
// this one.
func (c *Case) samePort(p *identity.Pod) Fact {
	f := Fact{}
	for _, o := range c.Index.Pods {
		if o == p || o.UID == p.UID || !o.HostNetwork || o.Node != p.Node || o.Terminal() {
			continue
		}
		for _, k := range p.Containers {
			for _, q := range k.Ports {
				if yes, _ := declared(o, q.Number); yes && q.Number != 0 {
					f.add(fmt.Sprintf("Pod %s uses the host network of the same node and the same port %d.", o.PodRef, q.Number), o.Created, o.Snapshot)
				}
			}
		}
	}
	return f
}

// nodeAddressGone tells whether the probed address is no longer the node's.
func (c *Case) nodeAddressGone(p *identity.Pod) Fact {
	n := c.Index.Node(p.Node)
	if n == nil || len(n.Addresses) == 0 {
		return Fact{}
	}
	for _, s := range c.servers() {
		if !slices.Contains(n.Addresses, s.Addr()) {
			return Fact{Claim: "The probed address " + s.Addr().String() + " is not among the node's addresses: they changed under the pod.", Refs: cite(n.SeenRef, p.Snapshot), N: 1}
		}
	}
	return Fact{}
}
