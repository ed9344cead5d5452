package rules

import (
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Rule{
	ID: "grpc-unhealthy", Family: FamilyApp, Tier: 1, Rank: 109,
	Title:      "gRPC health check failed",
	Definition: "The gRPC health check said not serving, is not implemented, does not know the service, or did not complete.",
	Notes: []string{
		"Log: \"failed to connect service\" is printed for a refused connection as well as for a lost SYN: the client tries again until the timeout. Only packets tell the two apart.",
		"A RST from the node after a gRPC probe is normal. The probe type exists since 1.23, is on by default since 1.24 and stable since 1.27.",
	},
	Needs:       []string{"An error text of the gRPC prober."},
	Supports:    []string{"The health status is readable in a capture."},
	Contradicts: []string{"The text only says that no connection was made: a refused gRPC probe prints the same as a dropped one, packets decide."},
	LookAlikes:  []LookAlike{{"app-not-listening", "the capture shows the connection refused"}, {"policy-drop", "the capture shows SYNs without an answer"}, {"app-protocol-mismatch", "the server closes after the HTTP/2 preface"}},
	Limits:      []Limit{{"kubelet log alone", 0.90}, {"connection error alone", 0.40}},
	Sentence:    "The gRPC health check of %s failed.",
	Recommend:   []string{"grpc-health"},
	Collect:     []string{MissAppLog, MissNodeCapture, MissListeners, MissKubeletLog},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/issues/108615"},
	Eval:        evalGRPC,
})

func evalGRPC(c *Case) (v Verdict) {
	status, conn := c.OfClass(probe.ClassGRPCStatus), c.OfClass(probe.ClassGRPCConn)
	switch {
	case len(status) > 0 && c.Share(status) >= 0.4:
		v.SubReason = grpcReason(status[0].Output)
		v.Satisfied = v.Need(GroupKubelet, WeightLiteral, factOf("The gRPC health check failed: "+oneLine(status[0].Output), status))
		seen := joined(status, func(_ *probe.Attempt, f *event.Flow) bool { return f.App == "grpc" || f.App == "h2" })
		v.Sup(GroupNodePcap, WeightStateLoose, flowFact("The exchange is in the capture.", seen))
		v.Limit(0.90, "the answer names the state, not its reason")
		v.Ask(MissAppLog)
	case len(conn) > 0 && c.Share(conn) >= 0.4 && !c.HasNodeCapture():
		// The prober prints the same words for a refusal and for lost packets.
		v.SubReason = "connect"
		v.Satisfied = v.Need(GroupKubelet, 0.40, factOf("The gRPC prober got no connection in time; a refusal reads the same as lost packets.", conn))
		v.Limit(0.40, "the text does not tell a refusal from lost packets")
		v.Ask(MissNodeCapture, MissListeners)
	}
	return v
}

// grpcReason sorts the texts of the gRPC prober.
func grpcReason(output string) string {
	switch {
	case strings.Contains(output, "does not implement"):
		return "unimplemented"
	case strings.Contains(output, "did not complete"):
		return "rpc-timeout"
	case strings.Contains(output, "NotFound"), strings.Contains(output, "SERVICE_UNKNOWN"):
		return "wrong-service"
	default:
		return "not-serving"
	}
}
