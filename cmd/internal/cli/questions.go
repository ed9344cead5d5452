package cli

import (
	"slices"

	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// answer says which streams can answer a question about probes, and what to
// collect where none can.
type answer struct {
	Question string           `json:"question"`
	Streams  []event.StreamID `json:"streams"`
	Add      string           `json:"add,omitempty"`
	// Unproven are the causes that the inputs can hint at, but prove less well, while
	// nothing answers the question.
	Unproven []string `json:"unproven,omitempty"`
}

// questions relate what people want to know to the kinds of event that tell it,
// and to the observations that would answer it.
var questions = []struct {
	text     string
	kinds    []event.Kind
	add      string
	observed []string
}{
	{"which probes failed, and with what words", []event.Kind{event.KindProbeResult}, "add the kubelet's journal of the node",
		[]string{rules.MissKubeletLog, rules.MissProbeVerbose}},
	{"what the probes were meant to do", []event.Kind{event.KindPodSeen}, "add the pods as YAML (kubectl get pods -A -o yaml)",
		[]string{rules.MissPodObjects}},
	{"what the cluster noticed", []event.Kind{event.KindK8sEvent}, "add the events as YAML (kubectl get events -A -o yaml)",
		[]string{rules.MissEvents}},
	{"which pod held an address, and when", []event.Kind{event.KindPodIP, event.KindPodSeen}, "add pods as YAML, or the kubelet's journal at -v=4",
		[]string{rules.MissKubeletV4, rules.MissAudit, rules.MissSandbox, rules.MissIPAM}},
	{"when sandboxes and containers came and went", []event.Kind{event.KindSandboxChange, event.KindContainerState}, "add the journals of kubelet and container runtime",
		[]string{rules.MissRuntimeLog}},
	{"what happened to each attempt on the wire", []event.Kind{event.KindFlow}, "add a capture from the node's bridge or from inside the pod",
		[]string{rules.MissNodeCapture, rules.MissPodCapture, rules.MissVethCapture, rules.MissBeforeAfter}},
	{"who answered for an address", []event.Kind{event.KindARP}, "add a capture that includes ARP",
		[]string{rules.MissL2Tables}},
	{"what listened, and which rules filtered", []event.Kind{event.KindHostFact}, "add the output of ss -ltn and iptables-save or nft list ruleset, of the node and in the pod's network namespace",
		[]string{rules.MissListeners, rules.MissListenDrops, rules.MissPodRules, rules.MissNodeRules, rules.MissRoutes}},
	{"which policies and endpoints there were", []event.Kind{event.KindObjectSeen}, "add them as YAML (kubectl get networkpolicy,endpointslices -A -o yaml)",
		[]string{rules.MissPolicies, rules.MissEndpoints}},
	{"how the node was", []event.Kind{event.KindNodeState, event.KindNodeSeen}, "add the nodes as YAML and the kernel's journal",
		[]string{rules.MissKernelLog, rules.MissTimeLog, rules.MissCPU}},
	{"what the application said", []event.Kind{event.KindAppLog}, "add the container's log",
		[]string{rules.MissAppLog, rules.MissProxyLog}},
}

// restingOn lists the causes of which one of the observations is proof: those
// whose rules ask for it.
func restingOn(observed []string) []string {
	var out []string
	for _, r := range rules.Rules() {
		if r.ID != rules.Inconclusive && slices.ContainsFunc(r.Collect, func(id string) bool { return slices.Contains(observed, id) }) {
			out = append(out, r.ID)
		}
	}
	return out
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
			a.Add, a.Unproven = q.add, restingOn(q.observed)
		}
		out = append(out, a)
	}
	return out
}
