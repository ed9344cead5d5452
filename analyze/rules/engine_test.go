package rules

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// cand is a candidate with a score that its one predicate explains.
func cand(id string, score float64) *candidate {
	return &candidate{rule: Lookup(id), score: score, verdict: *verdictWith(Predicate{Role: Need, Group: GroupKubelet, Weight: score, Claim: id + " speaks."})}
}

func TestChoose(t *testing.T) {
	smell := cand("probe-timeout-too-tight", 0.5)
	smell.verdict.OnlyContributes = true
	for _, tc := range []struct {
		name    string
		cands   []*candidate
		primary string
		rivals  []string
	}{
		{"nothing", nil, "", nil},
		{"all too weak", []*candidate{cand("policy-drop", 0.39)}, "", nil},
		{"the best wins", []*candidate{cand("app-http-error", 0.9), cand("policy-drop", 0.5)}, "app-http-error", nil},
		{"too close without a link", []*candidate{cand("policy-reject", 0.55), cand("app-hang", 0.5)}, "policy-reject", []string{"app-hang"}},
		{"exactly the margin apart is far enough", []*candidate{cand("policy-reject", 0.6), cand("app-hang", 0.5)}, "policy-reject", nil},
		{"too close but linked", []*candidate{cand("app-hang", 0.85), cand("cpu-starvation", 0.85)}, "cpu-starvation", nil},
		{"a cause outranks its consequence", []*candidate{cand("app-not-listening", 0.9), cand("probe-target-misconfigured", 0.65)}, "probe-target-misconfigured", nil},
		{"unless it scores far lower", []*candidate{cand("app-not-listening", 0.9), cand("probe-target-misconfigured", 0.55)}, "app-not-listening", nil},
		{"a chain leads to its first cause", []*candidate{cand("stale-status-ip", 0.8), cand("sandbox-recreated-ip-changed", 0.8), cand("runtime-down", 0.8)}, "runtime-down", nil},
		{"a smell is neither primary nor a rival", []*candidate{smell, cand("app-http-error", 0.45)}, "app-http-error", nil},
		{"a smell alone names nothing", []*candidate{smell}, "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sortCandidates(tc.cands)
			primary, rivals := choose(tc.cands)
			if tc.primary == "" {
				assert.Nil(t, primary)
				return
			}
			require.NotNil(t, primary)
			assert.Equal(t, tc.primary, primary.rule.ID)
			var ids []string
			for _, k := range rivals {
				ids = append(ids, k.rule.ID)
			}
			assert.Equal(t, tc.rivals, ids)
		})
	}
}

// textCase is an incident of one readiness probe whose attempts failed with one
// output, one every ten seconds; nothing but the log is known.
func textCase(handler, output string, n int) *Case {
	p := &identity.Pod{PodRef: event.PodRef{Namespace: "shop", Name: "web-0", UID: "u-1"}, Node: "n1"}
	w := &probe.Worker{Pod: p, Container: "web", Type: event.Readiness, Handler: handler}
	r := probe.Classify(event.OutcomeFailed, output, handler)
	for i := range n {
		at := event.Nanos(1e18) + event.Nanos(i)*10e9
		w.Attempts = append(w.Attempts, &probe.Attempt{Worker: w, Outcome: event.OutcomeFailed, Source: "log", Class: r.Class, Output: output, Target: r.Target,
			Addr: r.Addr, Status: r.Status, Start: at, End: at, Count: 1, Refs: []event.Ref{{Stream: 1, Line: int64(i + 1)}}, JoinReason: "no-capture"})
	}
	inc := &incident.Incident{Scope: model.ScopePod, Trigger: model.TriggerAttempts, Node: "n1", Pods: []*identity.Pod{p},
		Members: []incident.Member{{Worker: w, Attempts: w.Attempts, Failed: w.Attempts}}, First: w.Attempts[0].End, Last: w.Attempts[n-1].End}
	return &Case{Incident: inc, Index: &identity.Index{Pods: []*identity.Pod{p}}, Captures: &capture.Set{}, Probes: &probe.Set{Workers: []*probe.Worker{w}},
		Incidents: []*incident.Incident{inc}, Thresholds: DefaultThresholds(nil),
		Inputs: NewInputs([]*event.StreamInfo{{ID: 1, Verbosity: 2}}, nil)}
}

// What one error text can carry by itself: unique texts name their cause, texts
// that several causes print do not.
func TestTextAlone(t *testing.T) {
	for _, tc := range []struct {
		name, handler, output, want string
		most                        float64
	}{
		{"status", "http", "HTTP probe failed with statuscode: 503", "app-http-error", 0.90},
		{"no host", "tcp", "dial tcp :9999: connect: connection refused", "pod-ip-empty", 0.95},
		{"no local port", "tcp", "dial tcp 10.1.2.3:80: connect: cannot assign requested address", "ephemeral-port-exhaustion", 0.90},
		{"plain port", "http", "Get \"https://10.1.2.3:80/\": http: server gave HTTP response to HTTPS client", "app-protocol-mismatch", 0.90},
		{"redirects", "http", "Get \"/a\": stopped after 10 redirects", "app-redirect", 0.85},
		{"exec exit", "exec", "not ready", "exec-probe-failed", 0.90},
		{"exec time-out", "exec", "command timed out: \"/check\" timed out after 1s", "exec-probe-failed", 0.90},
		{"grpc status", "grpc", "service unhealthy (responded with \"NOT_SERVING\")", "grpc-unhealthy", 0.90},
		{"refused", "tcp", "dial tcp 10.1.2.3:80: connect: connection refused", "app-not-listening", 0.65},
		{"time-out", "tcp", "dial tcp 10.1.2.3:80: i/o timeout", Inconclusive, 0.55},
		{"time-out awaiting headers", "http", "Get \"http://10.1.2.3:80/\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)", Inconclusive, 0.39},
		{"a command's own words", "", "database is locked", "exec-probe-failed", 0.90},
		{"no route", "tcp", "dial tcp 10.1.2.3:80: connect: no route to host", Inconclusive, 0.55},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Judge(textCase(tc.handler, tc.output, 6))
			assert.Equal(t, tc.want, got.Cause.ID)
			assert.LessOrEqual(t, got.Cause.Confidence, tc.most)
			assert.Equal(t, string(Lookup(tc.want).Family), got.Cause.Family)
			assert.NotEmpty(t, got.Evidence, "every verdict cites its attempts")
			assert.NotEmpty(t, got.Score)
			assert.NotEmpty(t, got.Recommend)
			assert.NotEmpty(t, got.WouldChange)
			assert.Contains(t, got.Summary, "shop/web-0")
			for _, e := range got.Evidence {
				assert.NotZero(t, e.Ref.Stream)
				assert.NotEmpty(t, e.Claim)
			}
			if tc.want == Inconclusive {
				assert.NotEmpty(t, got.Missing, "an abstention says what would settle it")
				assert.Equal(t, model.Inconclusive, got.Cause.Word)
			}
		})
	}
}

func TestJudgeIsDeterministic(t *testing.T) {
	c := textCase("tcp", "dial tcp 10.1.2.3:80: connect: connection refused", 4)
	first := Judge(c)
	for range 20 {
		assert.Equal(t, first, Judge(c))
	}
}

// Expected failures end the search: a pod that is being deleted has no other
// cause.
func TestTerminatingComesFirst(t *testing.T) {
	c := textCase("tcp", "dial tcp 10.1.2.3:80: connect: connection refused", 4)
	c.Pods[0].DeletedAt, c.Pods[0].DeletedRef = c.First-5e9, event.Ref{Stream: 1, Line: 99}
	got := Judge(c)
	assert.Equal(t, "pod-terminating", got.Cause.ID)
	assert.Empty(t, got.Contributing)
	assert.Empty(t, got.Alternatives)
}

func TestGates(t *testing.T) {
	exec := textCase("exec", "not ready", 3)
	assert.NotEmpty(t, gate(exec, Lookup("policy-drop")))
	assert.NotEmpty(t, gate(exec, Lookup("arp-unanswered")))
	assert.Empty(t, gate(exec, Lookup("exec-probe-failed")))
	assert.Empty(t, gate(exec, Lookup("cpu-starvation")))

	tcp := textCase("tcp", "dial tcp 10.1.2.3:80: i/o timeout", 3)
	assert.NotEmpty(t, gate(tcp, Lookup("mesh-mtls-strict")), "no mark of a mesh")
	assert.NotEmpty(t, gate(tcp, Lookup("host-network-target")))
	assert.Empty(t, gate(tcp, Lookup("policy-drop")))
	tcp.Pods[0].Snapshot = event.Ref{Stream: 2, Line: 1}
	tcp.Pods[0].Containers = []event.ContainerSpec{{Name: "istio-proxy"}}
	assert.Empty(t, gate(tcp, Lookup("mesh-mtls-strict")))

	host := textCase("tcp", "dial tcp 10.1.2.3:80: i/o timeout", 3)
	host.Pods[0].HostNetwork = true
	assert.NotEmpty(t, gate(host, Lookup("duplicate-pod-ip")))
	assert.NotEmpty(t, gate(host, Lookup("bridge-fdb-flip")))
	assert.Empty(t, gate(host, Lookup("host-network-target")))
}

// An abstention names the candidates and what tells them apart.
func TestAbstentionNamesTheAmbiguity(t *testing.T) {
	c := textCase("tcp", "dial tcp 10.1.2.3:80: i/o timeout", 3)
	inc := verdictOf(c, []*candidate{cand("policy-drop", 0.60), cand("accept-queue-overflow", 0.55), cand("app-http-error", 0.2)})
	assert.Equal(t, Inconclusive, inc.Cause.ID)
	assert.Equal(t, "ambiguous", inc.Cause.SubReason)
	assert.InDelta(t, 0.60, inc.Cause.Confidence, 1e-9, "it carries the score of its best candidate")
	require.GreaterOrEqual(t, len(inc.Alternatives), 2)
	assert.Equal(t, "policy-drop", inc.Alternatives[0].ID)
	assert.Equal(t, "accept-queue-overflow", inc.Alternatives[1].ID)
	require.NotEmpty(t, inc.WouldChange)
	assert.Contains(t, inc.WouldChange[0], "accept-queue-overflow")
	assert.NotEmpty(t, inc.Missing)
}

// A time-out's words stand for many causes: all of them are listed, none is named.
func TestTimeoutTextListsWhatRemains(t *testing.T) {
	got := Judge(textCase("http", "Get \"http://10.1.2.3:80/\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)", 5))
	var ids []string
	for _, a := range got.Alternatives {
		ids = append(ids, a.ID)
	}
	for _, id := range []string{"app-hang", "policy-drop", "packet-loss-latency", "accept-queue-overflow"} {
		assert.Contains(t, ids, id)
	}
}

// Pods on the host network share the node's address rightly, also where an old
// object does not say that the pod was one of them.
func TestNodeAddressIsNoDuplicate(t *testing.T) {
	c := textCase("tcp", "dial tcp 10.1.2.3:80: connect: connection refused", 3)
	held := func(line int64) []identity.Interval {
		return []identity.Interval{{IP: c.Failed()[0].Addr.Addr(), From: 1, State: identity.Held, Primary: true,
			Sources: []identity.Source{{Kind: "status", Trust: 0.85, Ref: event.Ref{Stream: 2, Line: line}}}}}
	}
	other := &identity.Pod{PodRef: event.PodRef{Namespace: "kube-system", Name: "agent", UID: "u-2"}, Node: "n1"}
	c.Pods[0].Intervals, other.Intervals = held(1), held(2)
	assert.True(t, owns(&other.Intervals[0]))
	assert.False(t, c.shared(c.Failed()[0].Addr.Addr()))
	c.Index.Nodes = []*identity.Node{{Name: "n1", Addresses: []netip.Addr{c.Failed()[0].Addr.Addr()}}}
	assert.True(t, c.shared(c.Failed()[0].Addr.Addr()))
}

// A completed init container is no crash.
func TestInitContainerIsNoCrash(t *testing.T) {
	assert.True(t, mayBeInit(identity.Run{ExitCode: 0}))
	assert.True(t, mayBeInit(identity.Run{ExitCode: -1}))
	assert.False(t, mayBeInit(identity.Run{ExitCode: 1}))
	assert.False(t, mayBeInit(identity.Run{Container: "app", ExitCode: 0}))
	p := &identity.Pod{Containers: []event.ContainerSpec{{Name: "setup", Init: true}, {Name: "proxy", Init: true, Sidecar: true}, {Name: "app"}}}
	assert.True(t, isInit(p, "setup"))
	assert.False(t, isInit(p, "proxy"), "a sidecar is not meant to end")
	assert.False(t, isInit(p, "app"))
}
