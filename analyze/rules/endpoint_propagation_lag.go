package rules

import (
	"slices"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "endpoint-propagation-lag", Family: FamilyControl, Tier: 2, Rank: 121,
	Title:      "endpoints lag behind the pod",
	Definition: "The pod's status was right, but EndpointSlices were late or wrong: clients saw errors although probes were fine, or a gone pod's IP was still listed.",
	Notes: []string{
		"The probes themselves are fine: only users of the service notice. A snapshot alone may be skewed, since its objects were not read at one instant.",
	},
	Needs:       []string{"An endpoint that names the pod with another address or readiness than its status, or that lists an address the pod no longer has."},
	Supports:    []string{"The pod is gone or has another IP."},
	Contradicts: []string{"The objects were collected at different times: a snapshot can be skewed."},
	LookAlikes:  []LookAlike{{"status-patch-lag", "the status itself was late"}},
	Limits:      []Limit{{"objects", 0.60}, {"audit", 0.90}},
	Sentence:    "The endpoints of %s lag behind its status.",
	Recommend:   []string{"endpoint-health", "watch-by-version", "no-pod-ip", "readiness-age"},
	Collect:     []string{MissAudit, MissEndpoints},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/117193"},
	Eval:        evalEndpointLag,
})

func evalEndpointLag(c *Case) (v Verdict) {
	if late := c.statesOf(incident.StateEndpointLag, nil); late.OK() {
		v.Satisfied = v.Need(GroupAPI, 0.60, late)
		v.Limit(0.60, "objects collected one after the other may be skewed")
		v.Ask(MissAudit, MissEndpoints)
		return v
	}
	for _, p := range c.Pods {
		for i := range c.Index.Objects {
			o := &c.Index.Objects[i]
			if o.ObjectKind != "EndpointSlice" && o.ObjectKind != "Endpoints" || !lists(o, p) {
				continue
			}
			name := o.ObjectKind + " " + o.Namespace + "/" + o.Name
			if p.RemovedAt != 0 && c.Index.CollectedAt > p.RemovedAt {
				v.Satisfied = v.Need(GroupAPI, WeightState, Fact{Claim: name + " lists the pod although it is gone.", At: p.RemovedAt, Refs: cite(o.Ref, p.RemovedRef), N: 1})
				continue
			}
			ready, known := isReady(p)
			if listed := !slices.Contains(valuesOf(o.Facts, event.FactNotReady), p.Name); known && listed != ready {
				claim := name + " lists the pod as not ready while its status is Ready."
				if listed {
					claim = name + " lists the pod as ready while its status is not Ready."
				}
				v.Satisfied = v.Need(GroupStatus, WeightState, Fact{Claim: claim, At: c.Index.CollectedAt, Refs: cite(o.Ref, p.Snapshot), N: 1})
			}
		}
	}
	if v.Satisfied {
		v.Limit(0.60, "objects collected one after the other may be skewed")
		// Late endpoints hurt clients; they do not make probes fail.
		v.OnlyContributes = true
		v.Ask(MissAudit, MissEndpoints)
	}
	return v
}

// lists reports whether an endpoints object names the pod: by UID, or by name
// where it carries none.
func lists(o *identity.Object, p *identity.Pod) bool {
	return slices.ContainsFunc(o.Pods, func(r event.PodRef) bool {
		if r.UID != "" {
			return r.UID == p.UID
		}
		return r.Namespace == p.Namespace && r.Name == p.Name
	})
}

// isReady reads the Ready condition of the pod's snapshot.
func isReady(p *identity.Pod) (ready, known bool) {
	for _, k := range p.Conditions {
		if k.Type == "Ready" {
			return k.Status == "True", true
		}
	}
	return false, false
}

func valuesOf(facts []event.Fact, key string) []string {
	var out []string
	for _, f := range facts {
		if f.Key == key {
			out = append(out, f.Value)
		}
	}
	return out
}
