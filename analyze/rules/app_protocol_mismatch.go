package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "app-protocol-mismatch", Family: FamilyApp, Tier: 1, Rank: 105,
	Title:      "probe and port speak different protocols",
	Definition: "Scheme, TLS or ALPN of the probe do not match what the port speaks.",
	Notes: []string{
		"Log: \"server gave HTTP response to HTTPS client\", \"malformed HTTP response\" followed by bytes (\\x15\\x03 is a TLS alert, \\x00\\x00 with \\x04 a frame of HTTP/2), \"remote error: tls\".",
		"The kubelet never verifies certificates: an expired or unknown certificate is never the cause. Its gRPC probe is always plain text.",
	},
	Needs:       []string{"An error text of mismatched protocols: an HTTP response to an HTTPS client, a malformed response that is a TLS alert or an HTTP/2 frame, a TLS alert; or bytes in a capture that show it."},
	Supports:    []string{"A TLS hello answered in plain text, or the reverse.", "The server demands a client certificate."},
	Contradicts: []string{"The same probe succeeded in the same run."},
	LookAlikes:  []LookAlike{{"app-http-error", "a well-formed response with status 400"}, {"mesh-mtls-strict", "a mesh proxy resets plain requests"}},
	Limits:      []Limit{{"kubelet log alone", 0.90}},
	Sentence:    "The probe of %s speaks another protocol than its port.",
	Recommend:   []string{"https-scheme"},
	Collect:     []string{MissPodObjects, MissKubeletLog},
	Precedents:  []string{"https://github.com/world-federation-of-advertisers/cross-media-measurement/issues/165"},
	Explains:    []string{"app-connection-closed"},
	Eval:        evalProtocolMismatch,
})

func evalProtocolMismatch(c *Case) (v Verdict) {
	var text []*probe.Attempt
	for _, a := range c.OfClass(probe.ClassTLSPlain, probe.ClassMalformed, probe.ClassTLS) {
		if mismatch(a) != "" {
			text = append(text, a)
		}
	}
	bytes := joined(c.Failed(), func(a *probe.Attempt, f *event.Flow) bool { return otherTongue(a, f) != "" })
	asked := c.httpsRefused()
	switch {
	case len(text) > 0 && c.Share(text) >= 0.4:
		v.SubReason = mismatch(text[0])
		v.Satisfied = v.Need(GroupKubelet, WeightLiteral, factOf(fmt.Sprintf("%d attempts: %s.", len(text), mismatches[v.SubReason]), text))
	case len(bytes) >= 2 && c.Share(bytes) >= 0.4:
		v.SubReason = otherTongue(bytes[0], bytes[0].Conn.Seen().Flow)
		v.Satisfied = v.Need(GroupNodePcap, WeightTwoPoints, flowFact("The bytes in the capture show it: "+mismatches[v.SubReason]+".", bytes))
	case asked.OK():
		v.SubReason = "plain-to-tls"
		v.Satisfied = v.Need(GroupSpec, WeightState, asked)
		v.Limit(0.60, "status 400 has other reasons too")
	default:
		return v
	}
	v.Sup(GroupNodePcap, WeightState, flowFact("The bytes in the capture show it.", bytes))
	if before, _ := c.AnsweredInRun(); before.OK() {
		v.Con(GroupTiming, WeightSoft, before)
	}
	v.Limit(0.90, "the text is unique")
	v.Ask(MissPodObjects)
	return v
}

// mismatches are the sub-reasons in words.
var mismatches = map[string]string{
	"tls-to-plain":       "the probe speaks TLS and the port answers in plain text",
	"plain-to-tls":       "the probe speaks plain text and the port answers with TLS",
	"http1-to-http2":     "the probe speaks HTTP/1 and the port answers with an HTTP/2 frame",
	"client-certificate": "the server demands a client certificate, which a probe has not",
	"tls":                "the TLS handshake failed",
	"not-http":           "what came back is no HTTP",
}

// mismatch reads from an attempt's text who speaks what; "" when it does not
// tell. Certificates are never the reason: a probe does not verify them.
func mismatch(a *probe.Attempt) string {
	s := a.Output
	switch {
	case a.Class == probe.ClassTLSPlain:
		return "tls-to-plain"
	case strings.Contains(s, "certificate required"), strings.Contains(s, "tls: bad certificate"), strings.Contains(s, "tls: handshake failure") && strings.Contains(s, "remote error"):
		return "client-certificate"
	case strings.Contains(s, "first record does not look like a TLS handshake"):
		return "tls-to-plain"
	case a.Class == probe.ClassTLS:
		return "tls"
	case strings.Contains(s, `\x15\x03`):
		return "plain-to-tls"
	case strings.Contains(s, `malformed HTTP response "\x00\x00`):
		return "http1-to-http2"
	case a.Class == probe.ClassMalformed:
		return "not-http"
	}
	return ""
}

// otherTongue reads from a connection's bytes that client and server speak
// different protocols; "" when they do not show it.
func otherTongue(a *probe.Attempt, f *event.Flow) string {
	w := a.Worker
	tls := w.Handler == "http" && w.Spec != nil && strings.EqualFold(w.Spec.Scheme, "HTTPS")
	switch {
	case f.TLSAlert != "" && !tls && (w.Handler == "http" || w.Handler == "grpc"):
		return "plain-to-tls"
	case f.TLSAlert != "" && (strings.Contains(f.TLSAlert, "certificate_required") || strings.Contains(f.TLSAlert, "bad_certificate")):
		return "client-certificate"
	case tls && f.App == "tls" && f.Status >= 100:
		return "tls-to-plain"
	case w.Handler == "http" && f.App == "text":
		return "not-http"
	}
	return ""
}

// httpsRefused cites status 400 on a port that is named or numbered like TLS,
// probed in plain text: what Go's and nginx' TLS ports say to plain requests.
func (c *Case) httpsRefused() Fact {
	f := Fact{}
	for _, m := range c.Members {
		s := m.Worker.Spec
		if s == nil || s.Handler != "http" || strings.EqualFold(s.Scheme, "HTTPS") || !looksTLS(m.Worker.Pod, s) {
			continue
		}
		for _, a := range m.Failed {
			if a.Status == 400 && len(a.Refs) > 0 {
				f.add("The port looks like one of TLS, the probe's scheme is HTTP, and the answer is status 400.", a.End, a.Refs[0])
			}
		}
	}
	return f
}

// looksTLS reports whether a probed port bears a name or number usual for TLS.
func looksTLS(p *identity.Pod, s *event.ProbeSpec) bool {
	names := []string{s.PortName}
	for _, k := range p.Containers {
		for _, q := range k.Ports {
			if q.Number == s.Port {
				names = append(names, q.Name)
			}
		}
	}
	return s.Port == 443 || s.Port == 8443 || s.Port == 6443 || slices.ContainsFunc(names, func(n string) bool {
		return strings.Contains(n, "https") || strings.Contains(n, "tls")
	})
}
