package analyze

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// describe fills an events row from a payload: who it is about, how bad it is,
// and one line of text.
func describe(row *model.EventRow, p event.Payload) {
	row.Severity = "INFO"
	pod := func(r event.PodRef) { row.Namespace, row.Pod, row.UID = r.Namespace, r.Name, r.UID }
	switch p := p.(type) {
	case *event.ProbeResult:
		pod(p.Pod)
		row.Container = p.Container
		row.Body = fmt.Sprintf("%s probe %s: %s", p.Probe, p.Outcome, p.Output)
		if p.Outcome == event.OutcomeFailed || p.Outcome == event.OutcomeErrored {
			row.Severity = "WARN"
		}
	case *event.ProbeTarget:
		pod(p.Pod)
		row.Body = fmt.Sprintf("%s probe to %s:%d%s", p.Scheme, p.Host, p.Port, p.Path)
	case *event.ProbeState:
		pod(p.Pod)
		row.Body = p.Probe.String() + " is " + p.Status
	case *event.PodSeen:
		pod(p.Pod)
		row.Body = "phase " + p.Phase
	case *event.PodSync:
		pod(p.Pod)
		row.Body = "SyncLoop " + p.Op.String() + " " + p.Source
	case *event.PodIP:
		pod(p.Pod)
		ips := make([]string, len(p.IPs))
		for i, ip := range p.IPs {
			ips[i] = ip.String()
		}
		row.Body = p.Via + " " + p.Fact.String() + " " + strings.Join(ips, " ")
	case *event.SandboxChange:
		pod(p.Pod)
		row.Body = strings.TrimSpace("sandbox " + p.Op.String() + " " + p.SandboxID + " " + p.Message)
		if p.Op == event.SandboxFailed {
			row.Severity = "ERROR"
		}
	case *event.ContainerState:
		pod(p.Pod)
		row.Container = p.Container
		row.Body = strings.TrimSpace("container " + p.Op.String() + " " + p.ID + " " + p.Message)
	case *event.K8sEvent:
		row.Namespace, row.Pod, row.UID, row.Container = p.Namespace, p.Name, p.UID, p.Container
		if p.ObjectKind != "Pod" {
			row.Pod = ""
		}
		row.Body = p.Reason + ": " + p.Message
		if p.Type == "Warning" {
			row.Severity = "WARN"
		}
	case *event.NodeSeen:
		row.Body = "kubelet " + p.KubeletVersion + ", " + p.Runtime
	case *event.NodeState:
		pod(p.Pod)
		row.Severity, row.Body = "WARN", p.Code+": "+cmp.Or(p.Message, p.Value)
	case *event.ObjectSeen:
		row.Namespace, row.Body = p.Namespace, p.ObjectKind+" "+p.Name
	case *event.HostFact:
		pod(p.Pod)
		row.Body = p.Tool + " " + p.Key + " " + p.Value
	case *event.AppLog:
		pod(p.Pod)
		row.Container, row.Body = p.Container, p.Text
	case *event.NetCheck:
		row.Body = fmt.Sprintf("%s to %s: %s", p.Source, p.Target, p.Message)
	case *event.Notice:
		row.Body = p.Code + ": " + p.Message
	}
}
