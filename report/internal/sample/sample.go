// Package sample is a made-up case for the tests of renderers: two nodes, three
// incidents, a capture, damaged inputs, and text that tries to break out of
// every format.
package sample

import (
	"fmt"
	"iter"
	"net/netip"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// The streams of the case.
const (
	journal event.StreamID = iota + 1
	podsYAML
	bridge
	broken
	appLog
)

// Hostile is text as an attacker would log it.
const Hostile = "Get \"http://10.244.1.12:8080/healthz\": \x1b[31mEOF\x1b[0m\r\n| a | b |\n```\n<script>alert('x')</script> " +
	"<img src=x onerror=alert(1)> [click](javascript:alert(1)) @admin #123 \u202egnp.exe\u200b ]]> --> %%{init}%% $x$ :tada: \xff end"

var start = event.FromTime(time.Date(2026, 12, 2, 5, 46, 40, 0, time.UTC))

func at(d time.Duration) event.Nanos   { return start.Add(d) }
func stamp(d time.Duration) model.Time { return model.At(at(d)) }

func line(n int64) model.Ref   { return model.Ref{Stream: journal, Line: n, Offset: n * 180} }
func packet(n int64) model.Ref { return model.Ref{Stream: bridge, Packet: n, Offset: n * 90} }

func one[T any](v T) *T { return &v }

// Result is the case with three incidents.
func Result() *model.Result {
	res := base()
	res.Incidents = []model.Incident{stale(), refused(), unexplained()}
	res.Tables.Attempts = append(attempts("shop", "frontend-7d9c6b5f4-x2k8p", frontendUID, "inc-1", 24, 5, 14),
		attempts("payments", "api-0", apiUID, "inc-2", 12, 0, 6)...)
	res.Totals = model.Totals{
		ByCause: map[string]int{"stale-neighbour": 1, "app-not-listening": 1, "inconclusive": 1},
		Pods:    3, Attempts: model.AttemptTotals{Success: 21, Failure: 15, Unknown: 0}, Packets: 1204, Lines: 48211,
	}
	return res
}

// Healthy is the same case without incidents.
func Healthy() *model.Result {
	res := base()
	res.Incidents = nil
	res.Tables.Attempts = attempts("shop", "frontend-7d9c6b5f4-x2k8p", frontendUID, "", 24, 24, 24)
	res.Totals = model.Totals{Pods: 3, Attempts: model.AttemptTotals{Success: 24}, Packets: 1204, Lines: 48211}
	return res
}

// Empty is a case in which nothing about probes was found.
func Empty() *model.Result {
	return &model.Result{
		SchemaVersion: model.SchemaVersion, Tool: model.Tool{Name: "probe-forensics", Version: "v0.0.0", RulesHash: "00"},
		Inputs: []model.Input{{Path: "notes.txt", SHA256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}},
	}
}

const (
	frontendUID = "0603f37c-86b0-462d-9fbb-57bbf6c154a2"
	apiUID      = "fe76e53d-38a2-4433-a3cb-d6d06b1078e0"
	workerUID   = "5bbdcaf0-a119-4f1d-bf60-eeede312c52b"
	digest      = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	digest2     = "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
)

func base() *model.Result {
	res := &model.Result{
		SchemaVersion: model.SchemaVersion,
		Tool:          model.Tool{Name: "probe-forensics", Version: "v0.0.0-test", RulesHash: "5f2b51ca2f2d8a3c"},
		Cluster:       "unknown", BundleID: digest2,
		Inputs: []model.Input{
			{Path: "bundle.tar.gz", SHA256: digest, Bytes: 4_812_332, Streams: []model.Stream{
				{ID: journal, Path: "bundle.tar.gz!/node-a/journal/kubelet.log", Format: "journal-short", Node: "node-a", Bytes: 8_677_980,
					Records: 48211, Kept: 612, First: stamp(-time.Hour), Last: stamp(4 * time.Minute), TimeBasis: "year-inferred", Verbosity: one(2),
					Counts: map[string]int64{"lines": 48211, "probe_failed": 15}},
				{ID: podsYAML, Path: "bundle.tar.gz!/objects/pods.yaml", Format: "pods-yaml", Bytes: 88_120, Records: 3, Kept: 3,
					First: stamp(4 * time.Minute), Last: stamp(4 * time.Minute), Counts: map[string]int64{"objects": 3}},
				{ID: bridge, Path: "bundle.tar.gz!/captures/node-a-cbr0.pcap", Format: "pcap", Node: "node-a", CapturePoint: "node-bridge",
					CaptureWhy: "frames of several pods, no node uplink", Bytes: 108_360, Records: 1204, Kept: 61,
					First: stamp(-10 * time.Second), Last: stamp(3 * time.Minute),
					Counts:   map[string]int64{"frames": 1204, "tcp_syn": 60, "tcp_synack": 40, "tcp_rst": 6, "arp_request": 9},
					ByTarget: []model.TargetCount{{IP: "10.244.1.12", Port: 8080, SYN: 33, SYNACK: 15}, {IP: "10.244.1.13", Port: 9090, SYN: 12, SYNACK: 6, RSTFrom: 6}}},
				{ID: broken, Path: "bundle.tar.gz!/node-b/journal/kubelet.log.gz", Format: "", Node: "node-b", Bytes: 4096, Records: 20, Rejected: 20,
					Problems: []model.Problem{
						{Code: "truncated", Message: "gzip stream ends early: unexpected EOF", Offset: 4096, Count: 1},
						{Code: "bad-record", Message: "no time stamp in <b>" + Hostile + "</b>", Line: 3, Count: 19}}},
			}},
			{Path: "api | `0`.log", SHA256: digest2, Bytes: 512, Streams: []model.Stream{
				{ID: appLog, Path: "api | `0`.log", Format: "container-log", Bytes: 512, Records: 4, Kept: 1, First: stamp(0), Last: stamp(time.Minute)}}},
		},
		Clock: []model.Clock{
			{Node: "node-a", Source: "bundle.tar.gz!/captures/node-a-cbr0.pcap", OffsetMS: 0.4, UncertaintyMS: 1.5, Method: "attempt-alignment", Anchors: 34, Applied: true},
			{Node: "node-a", Source: "api", OffsetMS: -120, UncertaintyMS: 500, Method: "event-pairs", Anchors: 3, Rivals: []float64{-5120, 4880}, Note: "whole probe periods fit as well"},
		},
		Pods: []model.Pod{
			{Namespace: "payments", Pod: "api-0", UID: apiUID, Node: "node-a", Owner: model.Owner{Kind: "StatefulSet", Name: "api"}, Phase: "Running",
				Containers: []model.Container{{Name: "api", Restarts: 2, State: "running", ExitCode: one(137)}},
				Probes: []model.Probe{{Container: "api", Probe: "liveness", Handler: "tcp", Target: model.Target{Scheme: "tcp", Port: 9090},
					PeriodSec: 10, TimeoutSec: 1, SuccessThreshold: 1, FailureThreshold: 3, Attempts: 12, Failed: 6, Succeeded: 6}},
				IPIntervals: []model.IPInterval{{IP: "10.244.1.13", From: stamp(-time.Hour), State: "held", Primary: true, MAC: "0a:58:0a:f4:01:0d",
					Sources: []model.IPSource{{Kind: "status", Ref: model.Ref{Stream: podsYAML, Line: 120}}}}},
				Runs: []model.Run{{Container: "api", ID: "c0ffee01", From: stamp(-time.Hour), To: stamp(35 * time.Second), ExitCode: one(137), KilledBy: "liveness", Ref: line(41002)},
					{Container: "api", ID: "c0ffee02", From: stamp(40 * time.Second), Ref: line(41020)}}},
			{Namespace: "shop", Pod: "frontend-7d9c6b5f4-x2k8p", UID: frontendUID, Node: "node-a", Owner: model.Owner{Kind: "ReplicaSet", Name: "frontend-7d9c6b5f4"}, Phase: "Running",
				Containers: []model.Container{{Name: "web", State: "running"}},
				Probes: []model.Probe{{Container: "web", Probe: "readiness", Handler: "http", Target: model.Target{Scheme: "http", Port: 8080, Path: "/healthz"},
					PeriodSec: 5, TimeoutSec: 1, SuccessThreshold: 1, FailureThreshold: 3, Attempts: 24, Failed: 9, Succeeded: 15}},
				IPIntervals: []model.IPInterval{
					{IP: "10.244.1.12", From: stamp(-2 * time.Second), State: "held", Primary: true, Sandbox: "5a11d0b0c0de", MAC: "0a:58:0a:f4:01:0c",
						Sources: []model.IPSource{{Kind: "status", Ref: model.Ref{Stream: podsYAML, Line: 12}}, {Kind: "kubelet-ip", Ref: line(40110)}}},
					{IP: "fd00:244:1::73", From: stamp(-2 * time.Second), State: "held", Sandbox: "5a11d0b0c0de"}},
				Sandboxes: []model.Sandbox{{ID: "5a11d0b0c0de", From: stamp(-2 * time.Second), Ref: line(40101)}},
				Runs:      []model.Run{{Container: "web", ID: "beef01", From: stamp(-time.Second), Ref: line(40120)}},
				Ready:     []model.ReadyAt{{At: stamp(40 * time.Second), Probe: "readiness", Status: "not ready", Ref: line(40410)}, {At: stamp(72 * time.Second), Probe: "readiness", Status: "ready", Ref: line(40800)}}},
			{Namespace: "shop", Pod: "worker-5c6d7f-9qk2z", UID: workerUID, Node: "node-b", HostNetwork: true,
				IPIntervals: []model.IPInterval{{IP: "192.168.7.11", From: stamp(-time.Hour), To: stamp(10 * time.Second), State: "disputed"},
					{IP: "10.244.1.12", From: stamp(-time.Hour), To: stamp(-3 * time.Second), State: "stale"}}},
		},
		Nodes: []model.Node{{Name: "node-a", Addresses: []string{"192.168.7.10"}, PodCIDRs: []string{"10.244.1.0/24", "fd00:244:1::/64"}}, {Name: "node-b", Addresses: []string{"192.168.7.11"}}},
		IPDisagreements: []model.IPDisagreement{
			{Kind: model.DisagreeSources, Expected: true, From: stamp(-2 * time.Second), To: stamp(-time.Second), Why: "the API still had 10.244.1.11 for 1s after the new sandbox began: copies lag behind the runtime, normally for less than 1m0s",
				Claims: []model.IPClaim{
					{Namespace: "shop", Pod: "frontend-7d9c6b5f4-x2k8p", UID: frontendUID, IP: "10.244.1.12", Believed: true, Rank: 0.95, Sources: []model.IPSource{{Kind: "kubelet-ip", Ref: line(40110), At: stamp(-2 * time.Second), Rank: 0.95}}},
					{Namespace: "shop", Pod: "frontend-7d9c6b5f4-x2k8p", UID: frontendUID, IP: "10.244.1.11", Rank: 0.85, Sources: []model.IPSource{{Kind: "status", Ref: model.Ref{Stream: podsYAML, Line: 12}, Rank: 0.85}}}}},
			{Kind: model.DisagreeOwners, From: stamp(-time.Hour), Why: "the claims rank alike (0.85): all stay in the history, none is believed",
				Claims: []model.IPClaim{
					{Namespace: "payments", Pod: "api-0", UID: apiUID, IP: "10.244.1.13", Rank: 0.85, Sources: []model.IPSource{{Kind: "status", Ref: model.Ref{Stream: podsYAML, Line: 120}, Rank: 0.85}}},
					{Namespace: "shop", Pod: "worker-5c6d7f-9qk2z", UID: workerUID, IP: "10.244.1.13", Rank: 0.85, Sources: []model.IPSource{{Kind: "status", Ref: model.Ref{Stream: podsYAML, Line: 240}, Rank: 0.85}}}}},
		},
		Checked: model.Checked{
			From: stamp(-time.Hour), To: stamp(4 * time.Minute), Nodes: []string{"node-a"}, Probes: 2,
			CouldNot: []string{"node-b: its kubelet log is cut off, so probes of its pods were not checked",
				"packets inside the pods: no capture was taken there"},
		},
	}
	res.Tables.Events = func() iter.Seq2[*model.EventRow, error] {
		return rows([]*model.EventRow{
			{At: 0, Kind: "notice", Body: "no time here", Ref: event.Ref{Stream: journal, Line: 1}},
			{At: at(-2 * time.Second), TimeBasis: "year-inferred", Node: "node-a", Kind: "sandbox_change", Namespace: "shop", Pod: "frontend-7d9c6b5f4-x2k8p", UID: frontendUID, Body: "created 5a11d0b0c0de", Ref: event.Ref{Stream: journal, Line: 40101}},
			{At: at(26 * time.Second), TimeBasis: "year-inferred", Node: "node-a", Kind: "probe_result", Namespace: "shop", Pod: "frontend-7d9c6b5f4-x2k8p", UID: frontendUID, Container: "web", Severity: "info", Body: Hostile, Ref: event.Ref{Stream: journal, Line: 40301}},
		})
	}
	res.Tables.ARP = func() iter.Seq2[*model.ARPRow, error] {
		return rows([]*model.ARPRow{
			{At: at(62 * time.Second), Node: "node-a", Ref: event.Ref{Stream: bridge, Packet: 700}, ARP: &event.ARP{Op: event.ARPRequest,
				SenderIP: netip.MustParseAddr("10.244.1.1"), TargetIP: netip.MustParseAddr("10.244.1.12"), SenderMAC: mac(1), EthSrc: mac(1), EthDst: mac(0xbb), Unicast: true}},
			{At: at(66 * time.Second), Node: "node-a", Ref: event.Ref{Stream: bridge, Packet: 731}, ARP: &event.ARP{Op: event.ARPReply,
				SenderIP: netip.MustParseAddr("10.244.1.12"), TargetIP: netip.MustParseAddr("10.244.1.1"), SenderMAC: mac(0x0c), EthSrc: mac(0x0c), EthDst: mac(1)}},
		})
	}
	res.Tables.Flows = flows
	return res
}

func rows[T any](list []*T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func mac(last byte) event.MAC { return event.MAC{0x0a, 0x58, 0x0a, 0xf4, 0x01, last} }

// attempts makes n attempts, those from first to last (exclusive) failed.
func attempts(ns, pod, uid, incident string, n, first, last int) []model.Attempt {
	var out []model.Attempt
	target := model.Target{Scheme: "http", Host: "10.244.1.12", Port: 8080, Path: "/healthz"}
	period, probe, container, flow := 5*time.Second, "readiness", "web", "f"
	if pod == "api-0" {
		target = model.Target{Scheme: "tcp", Host: "10.244.1.13", Port: 9090}
		period, probe, container, flow = 10*time.Second, "liveness", "api", "a"
	}
	for i := range n {
		begin := time.Duration(i) * period
		a := model.Attempt{
			ID: fmt.Sprintf("att-%s-%02d", flow, i), Namespace: ns, Pod: pod, UID: uid, Node: "node-a", Container: container, Probe: probe,
			Outcome: "success", Source: "packets", Target: target, Start: at(begin), End: at(begin + 4*time.Millisecond), TimeBasis: "year-inferred",
			ARPMs: -1, ConnectMs: 0.08, FirstByteMs: 3.1, Count: 1, FlowID: fmt.Sprintf("flow-%s-%02d", flow, i), JoinReason: "one connection in the window", JoinConfidence: 0.95,
			FlowRefs: []event.Ref{{Stream: bridge, Packet: int64(100 + 10*i)}},
		}
		if i >= first && i < last {
			a.Outcome, a.Source, a.Incident = "failure", "log+packets", incident
			a.ErrorClass, a.Output, a.End = "E-AMBIG-TIMEOUT", Hostile, at(begin+time.Second)
			a.ConnectMs, a.FirstByteMs, a.StartInferred = -1, -1, true
			a.Refs = []event.Ref{{Stream: journal, Line: int64(40301 + 20*i), Offset: 7254180}}
			if pod == "api-0" {
				a.ErrorClass, a.Output, a.End = "E-REFUSED", "dial tcp 10.244.1.13:9090: connect: connection refused", at(begin+time.Millisecond)
			}
			if i == last-1 {
				a.Threshold = "crossed-failure"
			}
		}
		out = append(out, a)
	}
	return out
}

func flows() iter.Seq2[*model.FlowRow, error] {
	var out []*model.FlowRow
	add := func(name string, i int, begin time.Duration, server string, failed, refused bool) {
		n := int64(100 + 10*i)
		m := func(k int64, d time.Duration) event.Mark { return event.Mark{At: at(begin + d), Packet: n + k} }
		f := &event.Flow{
			Client: netip.MustParseAddrPort(fmt.Sprintf("10.244.1.1:%d", 41000+i)), Server: netip.MustParseAddrPort(server),
			State: event.SF, History: "ShADadFf", SYN: m(0, 0), SYNs: 1, SYNTimes: []event.Nanos{at(begin)}, First: m(0, 0),
			ClientMAC: mac(1), SYNDstMAC: mac(0x0c),
		}
		switch {
		case failed && refused:
			f.State, f.History, f.ServerRST, f.Last, f.AnswerMAC = event.REJ, "Sr", m(1, 40*time.Microsecond), m(1, 40*time.Microsecond), mac(0x0d)
		case failed:
			f.State, f.History, f.SYNs, f.SYNDstMAC, f.Evicted = event.S0, "S", 3, mac(0xbb), true
			f.SYNTimes = []event.Nanos{at(begin), at(begin + time.Second), at(begin + 2*time.Second)}
			f.Last = m(4, 2*time.Second)
		default:
			f.SYNACK, f.SYNACKs, f.ACK = m(1, 80*time.Microsecond), 1, m(2, 95*time.Microsecond)
			f.Request, f.RequestACK, f.Response = m(3, 200*time.Microsecond), m(4, 230*time.Microsecond), m(5, 3300*time.Microsecond)
			f.ClientFIN, f.ServerFIN, f.Last = m(6, 3500*time.Microsecond), m(7, 3600*time.Microsecond), m(8, 3610*time.Microsecond)
			f.LastResponse, f.ClientBytes, f.ServerBytes = f.Response, 118, 214
			f.Method, f.Path, f.UserAgent, f.Status, f.App, f.ServerHeader = "GET", "/healthz", "kube-probe/1.34", 200, "http", Hostile
			f.AnswerMAC = mac(0x0c)
		}
		out = append(out, &model.FlowRow{ID: fmt.Sprintf("flow-%s-%02d", name, i), Flow: f, Ref: event.Ref{Stream: bridge, Packet: n}, Node: "node-a", Capture: "node-bridge", OffsetMS: 0.4})
	}
	for i := range 24 {
		add("f", i, time.Duration(i)*5*time.Second, "10.244.1.12:8080", i >= 5 && i < 14, false)
		if i < 12 {
			add("a", i, time.Duration(i)*10*time.Second, "10.244.1.13:9090", i < 6, true)
		}
	}
	return rows(out)
}
