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
}

// questions relate what people want to know to the kinds of event that tell it.
var questions = []struct {
	text  string
	kinds []event.Kind
	add   string
}{
	{"which probes failed, and with what words", []event.Kind{event.KindProbeResult}, "add the kubelet's journal of the node"},
	{"what the probes were meant to do", []event.Kind{event.KindPodSeen}, "add the pods as YAML (kubectl get pods -A -o yaml)"},
	{"what the cluster noticed", []event.Kind{event.KindK8sEvent}, "add the events as YAML (kubectl get events -A -o yaml)"},
	{"which pod held an address, and when", []event.Kind{event.KindPodIP, event.KindPodSeen}, "add pods as YAML, or the kubelet's journal at -v=4"},
	{"when sandboxes and containers came and went", []event.Kind{event.KindSandboxChange, event.KindContainerState}, "add the journals of kubelet and container runtime"},
	{"what happened to each attempt on the wire", []event.Kind{event.KindFlow}, "add a capture from the node's bridge or from inside the pod"},
	{"who answered for an address", []event.Kind{event.KindARP}, "add a capture that includes ARP"},
	{"how the node was", []event.Kind{event.KindNodeState, event.KindNodeSeen}, "add the nodes as YAML and the kernel's journal"},
	{"what the application said", []event.Kind{event.KindAppLog}, "add the container's log"},
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
			a.Add = q.add
		}
		out = append(out, a)
	}
	return out
}
