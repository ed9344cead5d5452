package incident

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

func second(s float64) event.Nanos {
	return event.Nanos(time.Hour).Add(time.Duration(s * float64(time.Second)))
}

// judged is the incident of a pod of its own workload.
func judged(n int, node, cause, signature, trigger string, first, last float64) Judged {
	p := &identity.Pod{PodRef: event.PodRef{Namespace: "ns", Name: fmt.Sprintf("pod-%d", n), UID: fmt.Sprint(n)}, Node: node, Owner: event.Owner{Kind: "ReplicaSet", Name: fmt.Sprintf("rs-%d", n)}}
	return Judged{Cause: cause, Confidence: 0.9, Incident: &Incident{Scope: model.ScopePod, Trigger: trigger, Node: node, Pods: []*identity.Pod{p},
		Signature: signature, First: second(first), Last: second(last)}}
}

// crash is a crash loop whose container ended at a time.
func crash(n int, node string, end float64) Judged {
	j := judged(n, node, "app-crash-loop", StateCrashLoop, model.TriggerState, end, end+1)
	j.Pods[0].Runs = []identity.Run{{Container: "c", ID: fmt.Sprint(n), From: second(end - 200), To: second(end), ExitCode: 0}}
	return j
}

func apiServer(node string, end float64) *identity.Pod {
	return &identity.Pod{PodRef: event.PodRef{Namespace: "kube-system", Name: "kube-apiserver-" + node, UID: "api-" + node}, Node: node,
		Runs: []identity.Run{{Container: "kube-apiserver", From: second(0), To: second(end)}}}
}

func failedWrites(node, message string, at float64) *identity.Node {
	return &identity.Node{Name: node, States: []identity.NodeState{{At: second(at), Ref: event.Ref{Stream: 1, Line: 9},
		NodeState: &event.NodeState{Code: event.NodeStatusFailed, Message: message}}}}
}

func TestSharedIncidents(t *testing.T) {
	three := func(at ...float64) []Judged {
		var out []Judged
		for i, a := range at {
			out = append(out, crash(i, "n1", a))
		}
		return out
	}
	replicas := func(nodes ...string) []Judged {
		var out []Judged
		for i, n := range nodes {
			j := judged(i, n, "exec-probe-failed", "E-EXEC-EXIT", model.TriggerAttempts, 100+float64(i), 200)
			j.Pods[0].Owner.Name = "guard"
			out = append(out, j)
		}
		return out
	}
	slow := func(node string, ends ...float64) []Judged {
		var out []Judged
		for i, e := range ends {
			out = append(out, judged(i, node, "cni-add-slow", StateSandboxSlow, model.TriggerNotProbed, 100+float64(i), e))
		}
		return out
	}
	unsure := slow("n1", 130, 130, 131)
	unsure[2].Confidence = 0.6
	killed := three(500, 500.5, 501)
	killed[1].Pods[0].Runs[0].KilledBy = event.Liveness
	replica := three(500, 500.5, 501)
	replica[2].Pods[0].Owner = replica[1].Pods[0].Owner
	refused := "Post \"https://api:6443/x\": dial tcp 10.0.0.1:6443: connect: connection refused"
	for _, c := range []struct {
		name  string
		all   []Judged
		index identity.Index
		kind  string // "" for none
		scope string
		parts int
		text  string
	}{
		{name: "ended together after the API server of the node", all: three(500, 500.5, 501), index: identity.Index{Pods: []*identity.Pod{apiServer("n1", 497)}},
			kind: SharedUpstream, scope: model.ScopeNode, parts: 3, text: "after a container of kube-system/kube-apiserver-n1 ended"},
		{name: "ended together while the kubelet could not write", all: three(500, 500.5, 501), index: identity.Index{Nodes: []*identity.Node{failedWrites("n1", refused, 490)}},
			kind: SharedUpstream, scope: model.ScopeNode, parts: 3, text: "after the kubelet of n1 could not reach the API server"},
		{name: "on two nodes", all: []Judged{crash(0, "n1", 500), crash(1, "n2", 500.4), crash(2, "n2", 501)}, index: identity.Index{Pods: []*identity.Pod{apiServer("n3", 497)}},
			kind: SharedUpstream, scope: model.ScopeCluster, parts: 3, text: "Containers of 3 pods"},
		{name: "another crash loop apart from them", all: append(three(500, 500.5, 501), crash(9, "n1", 700)), index: identity.Index{Pods: []*identity.Pod{apiServer("n1", 497)}},
			kind: SharedUpstream, scope: model.ScopeNode, parts: 3, text: "Containers of 3 pods"},
		{name: "ended together, nothing failed before", all: three(500, 500.5, 501)},
		{name: "what failed came long before", all: three(500, 500.5, 501), index: identity.Index{Pods: []*identity.Pod{apiServer("n1", 300)}}},
		{name: "what failed came after", all: three(500, 500.5, 501), index: identity.Index{Pods: []*identity.Pod{apiServer("n1", 503)}}},
		{name: "a write that another writer overtook", all: three(500, 500.5, 501), index: identity.Index{Nodes: []*identity.Node{failedWrites("n1", "the object has been modified", 490)}}},
		{name: "another node's kubelet", all: three(500, 500.5, 501), index: identity.Index{Nodes: []*identity.Node{failedWrites("n2", refused, 490)}}},
		{name: "they overlap, and ended apart", all: three(500, 520, 540), index: identity.Index{Pods: []*identity.Pod{apiServer("n1", 497)}}},
		{name: "two pods", all: three(500, 500.5), index: identity.Index{Pods: []*identity.Pod{apiServer("n1", 497)}}},
		{name: "one was killed by its probe", all: killed, index: identity.Index{Pods: []*identity.Pod{apiServer("n1", 497)}}},
		{name: "replicas of one workload", all: replica, index: identity.Index{Pods: []*identity.Pod{apiServer("n1", 497)}}},
		{name: "other causes in the same minutes", all: []Judged{crash(0, "n1", 500), judged(1, "n1", "policy-drop", "timeout", model.TriggerAttempts, 500, 600),
			judged(2, "n1", "app-hang", "timeout", model.TriggerAttempts, 500, 600), judged(3, "n1", "app-http-error", "status-5xx", model.TriggerAttempts, 500, 600)},
			index: identity.Index{Pods: []*identity.Pod{apiServer("n1", 497)}}},

		{name: "sandboxes that waited for one network to the same moment", all: slow("n1", 130, 130.5, 131), kind: SharedPlugin, scope: model.ScopeNode, parts: 3, text: "served none of 3 pods"},
		{name: "sandboxes that became ready apart", all: slow("n1", 130, 140, 150)},
		{name: "one of them unproven", all: unsure},

		{name: "one workload on several nodes", all: replicas("n1", "n2", "n3"), kind: SharedWorkload, scope: model.ScopeCluster, parts: 3, text: "failed alike on 3 nodes"},
		{name: "one workload on one node", all: replicas("n1", "n1", "n1")},
		{name: "several workloads of one cause and time", all: []Judged{judged(0, "n1", "app-hang", "timeout", model.TriggerAttempts, 100, 200),
			judged(1, "n2", "app-hang", "timeout", model.TriggerAttempts, 100, 200), judged(2, "n3", "app-hang", "timeout", model.TriggerAttempts, 100, 200)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			gs := Shared(&c.index, &probe.Set{}, c.all)
			if c.kind == "" {
				assert.Empty(t, gs)
				return
			}
			require.Len(t, gs, 1)
			g := gs[0]
			assert.Equal(t, c.kind, g.Kind)
			assert.Contains(t, g.Text, c.text)
			assert.Len(t, g.Parts, c.parts)
			assert.Equal(t, c.scope, g.Incident.Scope)
			assert.Len(t, g.Incident.Pods, c.parts)
			assert.Len(t, g.Incident.Parts, c.parts)
			if c.scope == model.ScopeNode {
				assert.Equal(t, "n1", g.Incident.Node)
			} else {
				assert.Empty(t, g.Incident.Node)
			}
			for _, p := range g.Incident.Parts {
				assert.LessOrEqual(t, g.Incident.First, p.First)
				assert.GreaterOrEqual(t, g.Incident.Last, p.Last)
			}
		})
	}
}
