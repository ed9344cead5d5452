package cli

import (
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// answer says which streams can answer a question about probes, and what to
// collect where none can.
type answer struct {
	Question string           `json:"question"`
	Streams  []event.StreamID `json:"streams"`
	Add      string           `json:"add,omitempty"`
	// Unproven are the causes that the inputs can hint at, but not prove, while
	// nothing answers the question.
	Unproven []string `json:"unproven,omitempty"`
}

// questions relate what people want to know to the kinds of event that tell it,
// and to the causes that rest on the answer.
var questions = []struct {
	text  string
	kinds []event.Kind
	add   string
	rests []string
}{
	{"which probes failed, and with what words", []event.Kind{event.KindProbeResult}, "add the kubelet's journal of the node",
		[]string{"app-connection-closed", "app-hang", "app-http-error", "app-not-listening", "app-protocol-mismatch", "app-redirect",
			"ephemeral-port-exhaustion", "exec-probe-failed", "grpc-unhealthy", "mesh-probe-rewrite-broken"}},
	{"what the probes were meant to do", []event.Kind{event.KindPodSeen}, "add the pods as YAML (kubectl get pods -A -o yaml)",
		[]string{"app-slow-start", "host-network-target", "mesh-mtls-strict", "probe-startup-budget-too-short", "probe-target-misconfigured",
			"probe-threshold-too-low", "probe-timeout-too-tight"}},
	{"what the cluster noticed", []event.Kind{event.KindK8sEvent}, "add the events as YAML (kubectl get events -A -o yaml)",
		[]string{"app-crash-loop", "endpoint-propagation-lag"}},
	{"which pod held an address, and when", []event.Kind{event.KindPodIP, event.KindPodSeen}, "add pods as YAML, or the kubelet's journal at -v=4",
		[]string{"dual-stack-primary-flip", "duplicate-pod-ip", "ip-reused", "pod-ip-empty", "stale-status-ip", "status-patch-lag"}},
	{"when sandboxes and containers came and went", []event.Kind{event.KindSandboxChange, event.KindContainerState}, "add the journals of kubelet and container runtime",
		[]string{"cni-add-failed", "cni-add-slow", "ip-pool-exhausted", "pod-terminating", "runtime-down", "sandbox-recreated-ip-changed"}},
	{"what happened to each attempt on the wire", []event.Kind{event.KindFlow}, "add a capture from the node's bridge or from inside the pod",
		[]string{"accept-queue-overflow", "conntrack-invalid-asymmetric", "mesh-probe-snat-blocked", "mesh-redirect-dead-port", "mtu-blackhole",
			"packet-loss-latency", "policy-drop", "policy-reject"}},
	{"who answered for an address", []event.Kind{event.KindARP}, "add a capture that includes ARP",
		[]string{"arp-conflict", "arp-unanswered", "bridge-fdb-flip", "duplicate-pod-ip", "stale-neighbour"}},
	{"how the node was", []event.Kind{event.KindNodeState, event.KindNodeSeen}, "add the nodes as YAML and the kernel's journal",
		[]string{"clock-jump", "conntrack-exhausted", "cpu-starvation", "kubelet-restart", "kubelet-stall", "oom-kill"}},
	{"what the application said", []event.Kind{event.KindAppLog}, "add the container's log",
		[]string{"app-slow-start", "mesh-sidecar-not-ready"}},
}

// ask matches the questions against the kinds of event met, with the streams
// that held them.
func ask(met map[event.Kind][]event.StreamID) []answer {
	var out []answer
	for _, q := range questions {
		a := answer{Question: q.text, Streams: []event.StreamID{}}
		for _, kind := range q.kinds {
			a.Streams = append(a.Streams, met[kind]...)
		}
		slices.Sort(a.Streams)
		a.Streams = slices.Compact(a.Streams)
		if len(a.Streams) == 0 {
			a.Add, a.Unproven = q.add, q.rests
		}
		out = append(out, a)
	}
	return out
}
