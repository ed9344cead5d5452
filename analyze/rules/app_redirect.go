package rules

import (
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "app-redirect", Family: FamilyApp, Tier: 2, Rank: 106,
	Title:      "redirects decide the probe",
	Definition: "A redirect decides the result: a loop on the same host, or a redirect to another host that counts as success.",
	Notes: []string{
		"Redirects to another host name are not followed: the attempt counts as success, with a warning in the events. Redirects on the same host name are followed up to ten times within one timeout, to another port or scheme too.",
		"The URL in \"stopped after 10 redirects\" is the relative location, not the URL of the probe.",
	},
	Needs:       []string{"\"stopped after 10 redirects\", or a probe warning about a redirect."},
	Supports:    []string{"Several connections in one attempt, with Location headers."},
	Contradicts: []string{"The final status was logged: then that is the cause."},
	LookAlikes:  []LookAlike{{"app-http-error", "the final response has a bad status"}},
	Limits:      []Limit{{"kubelet log alone", 0.85}, {"events alone", 0.85}},
	Sentence:    "The probe path of %s only redirects.",
	Recommend:   []string{"probe-final-path"},
	Collect:     []string{MissPodObjects, MissEvents, MissKubeletLog},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/pull/75416", "https://github.com/kubernetes/kubernetes/issues/103877"},
	Eval:        evalAppRedirect,
})

func evalAppRedirect(c *Case) (v Verdict) {
	as := c.OfClass(probe.ClassRedirect)
	if len(as) > 0 && c.Share(as) >= 0.4 {
		v.SubReason = "loop"
		v.Satisfied = v.Need(GroupKubelet, WeightLiteral, factOf("The kubelet gave up after ten redirects on the same host.", as))
		v.Sup(GroupNodePcap, WeightStateLoose, flowFact("The responses redirect.", joined(as, redirects)))
	} else if moved := joined(c.Failed(), redirects); len(moved) > 0 && c.Share(moved) >= 0.4 {
		// The final status decides; the redirect only led there.
		v.OnlyContributes = true
		v.SubReason = "followed"
		v.Satisfied = v.Need(GroupNodePcap, WeightState, flowFact("The probe path redirects to "+oneLine(moved[0].Conn.Seen().Flow.Location)+".", moved))
	}
	v.Limit(0.85, "the kubelet's text")
	v.Ask(MissPodObjects)
	return v
}

func redirects(_ *probe.Attempt, f *event.Flow) bool { return f.Status >= 300 && f.Status < 400 }
