package rules

import (
	"fmt"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "app-connection-closed", Family: FamilyApp, Tier: 2, Rank: 107,
	Title:      "connection closed before an answer",
	Definition: "The connection was accepted and then closed or reset without a response, or reset right after the SYN-ACK.",
	Notes: []string{
		"Log: \"EOF\", or \"read: connection reset by peer\". Which of the two one sees is a race: closing with unread data in the buffer sends a RST.",
		"Packets: handshake, request, then FIN or RST from the pod and no payload; or a RST right behind the SYN-ACK.",
	},
	Needs:       []string{"\"connection reset by peer\" or \"EOF\", or a FIN or RST from the pod after its SYN-ACK and before any payload."},
	Supports:    []string{"A connection limit or a proxy with a dead backend in the container.", "The process was ending."},
	Contradicts: []string{"A mesh with strict mTLS intercepts the port."},
	LookAlikes:  []LookAlike{{"mesh-mtls-strict", "a mesh proxy is present and demands TLS"}, {"app-protocol-mismatch", "TLS bytes are exchanged before"}, {"app-crash-loop", "the process ends at that moment"}},
	Limits:      []Limit{{"kubelet log alone", 0.60}, {"capture", 0.85}},
	Sentence:    "%s accepts the connection and closes it without an answer.",
	Recommend:   []string{"find-closer"},
	Collect:     []string{MissAppLog, MissPodCapture, MissKubeletLog},
	Precedents:  []string{"https://github.com/istio/istio/issues/15881"},
	Eval:        evalConnectionClosed,
})

func evalConnectionClosed(c *Case) (v Verdict) {
	text := c.OfClass(probe.ClassReset, probe.ClassEOF)
	cut := joined(c.Failed(), cutOff)
	if len(text) == 0 && len(cut) == 0 || max(c.Share(text), c.Share(cut)) < 0.4 {
		return v
	}
	v.Limit(0.60, "the text does not tell who closed the connection, nor why")
	v.Satisfied = v.Need(GroupKubelet, 0.55, factOf("The connection was closed or reset before an answer.", text))
	if len(cut) > 0 {
		v.Satisfied = v.Need(GroupNodePcap, WeightTwoPoints, flowFact(fmt.Sprintf("The server closed %d connections after their handshake and before any payload.", len(cut)), cut)) || v.Satisfied
		v.Cap, v.CapWhy = 0.80, "packets show who closed, not why"
	}
	if in := c.InsidePod(cut); len(in) > 0 {
		v.Sup(GroupPodPcap, WeightState, flowFact("The close left the pod itself.", in))
		v.Cap, v.CapWhy = 0.85, "a capture in the pod"
	}
	if f := c.strictMTLS(); f.OK() {
		v.Con(GroupSpec, WeightSoft, f)
	}
	if ends := c.endsWith(text); len(ends)*2 >= len(text) && len(text) > 0 {
		v.Con(GroupStatus, WeightSoft, Fact{Claim: "The process ended at those moments.", At: ends[0].To, Refs: runRefs(ends), N: len(ends)})
	}
	v.Ask(MissAppLog, MissPodCapture)
	return v
}

// endsWith returns the runs that ended within a second of one of the attempts.
func (c *Case) endsWith(as []*probe.Attempt) []identity.Run {
	var out []identity.Run
	for _, p := range c.Pods {
		for _, r := range p.Runs {
			if r.To != 0 && slices.ContainsFunc(as, func(a *probe.Attempt) bool {
				return a.Worker.Pod == p && r.To.Sub(a.End) < time.Second && a.End.Sub(r.To) < time.Second
			}) {
				out = append(out, r)
			}
		}
	}
	return out
}

// cutOff reports a handshake that the server ended before it sent any payload.
func cutOff(_ *probe.Attempt, f *event.Flow) bool {
	if !f.SYNACK.Seen() || f.Response.Seen() {
		return false
	}
	ended := func(m event.Mark) bool { return m.Seen() && (!f.ClientFIN.Seen() || m.At < f.ClientFIN.At) }
	return ended(f.ServerRST) || ended(f.ServerFIN)
}
