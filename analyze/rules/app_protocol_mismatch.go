package rules

import (
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "app-protocol-mismatch", Family: FamilyApp, Tier: 1, Rank: 105,
	Title:       "probe and port speak different protocols",
	Definition:  "Scheme, TLS or ALPN of the probe do not match what the port speaks.",
	Needs:       []string{"An error text of mismatched protocols: an HTTP response to an HTTPS client, a malformed response that is a TLS alert or an HTTP/2 frame, a TLS alert; or bytes in a capture that show it."},
	Supports:    []string{"A TLS hello answered in plain text, or the reverse.", "The server demands a client certificate."},
	Contradicts: []string{"The same probe succeeded in the same run."},
	LookAlikes:  []LookAlike{{"app-http-error", "a well-formed response with status 400"}, {"mesh-mtls-strict", "a mesh proxy resets plain requests"}},
	Limits:      []Limit{{"kubelet log alone", 0.90}},
	Sentence:    "The probe of %s speaks another protocol than its port.",
	Recommend:   []string{"https-scheme"},
	Precedents:  []string{"https://github.com/world-federation-of-advertisers/cross-media-measurement/issues/165"},
	Explains:    []string{"app-connection-closed"},
	Eval:        evalProtocolMismatch,
})

func evalProtocolMismatch(c *Case) (v Verdict) {
	as := c.OfClass(probe.ClassTLSPlain, probe.ClassMalformed, probe.ClassTLS)
	alert := joined(c.Failed(), func(_ *probe.Attempt, f *event.Flow) bool { return f.TLSAlert != "" })
	if len(as) == 0 && len(alert) == 0 || c.Share(as) < 0.4 && c.Share(alert) < 0.4 {
		return v
	}
	if len(as) > 0 {
		v.Satisfied = v.Need(GroupKubelet, WeightLiteral, factOf("Probe and port speak different protocols: "+oneLine(as[0].Output), as))
		v.SubReason = map[probe.Class]string{probe.ClassTLSPlain: "plain-port-probed-with-tls", probe.ClassMalformed: "tls-or-http2-port-probed-with-http", probe.ClassTLS: "tls-refused"}[as[0].Class]
	}
	if len(alert) > 0 {
		f := flowFact("The server ended the connection with a TLS alert: "+alert[0].Conn.Seen().Flow.TLSAlert+".", alert)
		v.Satisfied = v.Need(GroupNodePcap, WeightState, f) || v.Satisfied
	}
	if ok := c.sameRunSuccess(); ok.OK() {
		v.Con(GroupTiming, WeightSoft, ok)
	}
	v.Limit(0.90, "the text names the mismatch")
	v.Ask(MissPodObjects)
	return v
}

// sameRunSuccess cites a success of a failing probe before its failures, in the
// container run that then failed.
func (c *Case) sameRunSuccess() Fact {
	before, _ := c.AnsweredInRun()
	return before
}
