package sample

import (
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

func stale() model.Incident {
	return model.Incident{
		ID: "inc-1", Scope: model.ScopePod, Node: "node-a", Trigger: model.TriggerAttempts, Fingerprint: "5d41402abc4b2a76",
		Subjects: []model.Subject{{Namespace: "shop", Pod: "frontend-7d9c6b5f4-x2k8p", UID: frontendUID, Container: "web", Probe: "readiness",
			Target:         model.Target{Scheme: "http", Host: "10.244.1.12", Port: 8080, Path: "/healthz"},
			FailedAttempts: 9, TotalAttempts: 24, First: stamp(26 * time.Second), Last: stamp(66 * time.Second)}},
		Window:         model.Window{First: stamp(25 * time.Second), Last: stamp(66 * time.Second), Recovered: stamp(70 * time.Second)},
		FailedAttempts: 9, TotalAttempts: 24,
		Cause:        model.Cause{ID: "stale-neighbour", Family: "l2", Title: "node keeps an outdated MAC address for the pod IP", Confidence: 0.93, Word: model.Confirmed},
		Summary:      "The node sent probes for shop/frontend-7d9c6b5f4-x2k8p to the network card of a pod that no longer exists, because it had kept an old address entry.",
		Contributing: []model.Contributing{{ID: "ip-reused", Confidence: 0.81, Note: "10.244.1.12 belonged to shop/worker-5c6d7f-9qk2z until three seconds before"}},
		Alternatives: []model.Alternative{
			{ID: "app-not-listening", Confidence: 0.22, WhyNot: "no reset was seen; the pod answered as soon as its own MAC address was used"},
			{ID: "packets-dropped", Confidence: 0.35, WhyNot: "the frames carry the wrong destination, so no filter is needed to explain the silence | `x`"}},
		Evidence: []model.Evidence{
			{Role: model.RoleFor, Claim: "27 SYNs to 10.244.1.12:8080 carry 0a:58:0a:f4:01:bb, the address of a deleted pod", Ref: packet(150), Time: stamp(25 * time.Second),
				Excerpt: "IP 10.244.1.1.41005 > 10.244.1.12.8080: Flags [S]", Rule: "stale-neighbour", Weight: 0.8, More: []model.Ref{packet(160), packet(170)}},
			{Role: model.RoleFor, Claim: "the first SYN after a broadcast who-has carries 0a:58:0a:f4:01:0c and is answered", Ref: packet(240), Time: stamp(70 * time.Second), Rule: "stale-neighbour", Weight: 0.5},
			{Role: model.RoleFor, Claim: "the kubelet logged 9 time-outs of the readiness probe", Ref: line(40401), Time: stamp(26 * time.Second), Excerpt: Hostile, Rule: "stale-neighbour", Weight: 0.3,
				More: []model.Ref{line(40421)}},
			{Role: model.RoleAgainst, Claim: "no capture inside the pod shows whether the SYNs arrived there", Ref: model.Ref{Stream: bridge}, Rule: "stale-neighbour", Weight: -0.1},
			{Role: model.RoleContext, Claim: "the container started one second before the first probe and ran without a restart", Ref: line(40120), Time: stamp(-time.Second), Excerpt: "I1202 05:46:39.000 \"SyncLoop (PLEG)\" | <b>", Rule: "stale-neighbour"},
		},
		Score: []model.ScoreStep{
			{Text: "SYNs carry another MAC address than the pod's", Group: "node-packets", Weight: 0.8, Result: 0.8},
			{Text: "heals with the address resolution", Group: "arp", Weight: 0.5, Result: 0.9},
			{Text: "time-out texts", Group: "kubelet", Weight: 0.3, Result: 0.93},
		},
		WouldChange: []string{"a capture inside the pod that shows the SYNs arriving", "an address announcement from the pod before the first failure"},
		Missing: []model.Missing{{What: "capture inside the pod", WouldSettle: "whether any SYN reached the pod", HowToCollect: "nsenter -t PID -n tcpdump -ni eth0 -w pod.pcap | head"},
			{What: "neighbour table", WouldSettle: "the entry the node used", HowToCollect: "ip -s neigh show 10.244.1.12"}},
		Recommend: []model.Recommendation{{ID: "enlarge-ip-holdoff", Text: "Let the address manager wait before it hands out a released address again."},
			{ID: "flush-neighbour", Text: "Flush the neighbour entry when a pod is removed: `ip neigh flush to 10.244.1.12`."}},
		Reproduce: []string{"tar -xOf 'bundle.tar.gz' 'node-a/journal/kubelet.log' | sed -n '40401p'",
			"tar -xOf 'bundle.tar.gz' 'captures/node-a-cbr0.pcap' | tshark -r - -Y 'frame.number == 150'",
			"journalctl -u kubelet --since '2026-12-02 05:47:05' --until '2026-12-02 05:47:46' --utc"},
		Consequences: []model.Consequence{{Kind: "not-ready", Text: "the pod was taken out of its services for 32 s", At: stamp(40 * time.Second), Ref: line(40410)}},
		Recurrence:   &model.Recurrence{Times: 2, Pods: []string{"shop/cart-1", "shop/cart-2"}, Note: "the same signature on node-a in two other pods"},
		TimeBasis:    "year-inferred",
	}
}

func refused() model.Incident {
	return model.Incident{
		ID: "inc-2", Scope: model.ScopePod, Node: "node-a", Trigger: model.TriggerAttempts, Fingerprint: "7d793037a0760186",
		Subjects: []model.Subject{{Namespace: "payments", Pod: "api-0", UID: apiUID, Container: "api", Probe: "liveness",
			Target:         model.Target{Scheme: "tcp", Host: "10.244.1.13", Port: 9090},
			FailedAttempts: 6, TotalAttempts: 12, First: stamp(0), Last: stamp(50 * time.Second)}},
		Window:         model.Window{First: stamp(0), Last: stamp(50 * time.Second), Recovered: stamp(time.Minute)},
		FailedAttempts: 6, TotalAttempts: 12,
		Cause:   model.Cause{ID: "app-not-listening", Family: "app", Title: "nothing listens on the probed port", SubReason: "slow-start", Confidence: 0.78, Word: model.Probable},
		Summary: "payments/api-0 had nothing listening on port 9090 when it was probed.",
		Evidence: []model.Evidence{
			{Role: model.RoleFor, Claim: "6 of 6 failed connections were reset by the pod's own address", Ref: packet(101), Time: stamp(0), Rule: "app-not-listening", Weight: 0.5},
			{Role: model.RoleFor, Claim: "the application says @ops <b>bind</b>: it starts late, see #42", Ref: model.Ref{Stream: appLog, Line: 2}, Time: stamp(2 * time.Second), Excerpt: "starting... ``` | @here", Rule: "app-not-listening", Weight: 0.3},
		},
		Score:        []model.ScoreStep{{Text: "resets", Group: "node-packets", Weight: 0.5, Result: 0.5}, {Text: "capped: a node capture can't tell an impostor", Weight: 0, Result: 0.78}},
		Consequences: []model.Consequence{{Kind: "restart", Text: "the kubelet restarted container api", At: stamp(35 * time.Second), Ref: line(41002)}},
		Recommend:    []model.Recommendation{{ID: "startup-probe", Text: "Add a startup probe that covers the start of the application."}},
	}
}

func unexplained() model.Incident {
	return model.Incident{
		ID: "inc-3", Scope: model.ScopeNode, Node: "node-b", Trigger: model.TriggerNotProbed, Fingerprint: "1f0e3dad99908345",
		Subjects:     []model.Subject{{Probe: "readiness", Target: model.Target{Scheme: "http", Host: "fd00:244:1::99", Port: 8443, Path: "/" + Hostile}}},
		Window:       model.Window{First: stamp(90 * time.Second), Last: stamp(2 * time.Minute)},
		Cause:        model.Cause{ID: "inconclusive", Family: "meta", Title: "no cause could be shown", Confidence: 0.31, Word: model.Inconclusive},
		Summary:      "Probes on node-b stopped for 30 s; the inputs do not show why.",
		Alternatives: []model.Alternative{{ID: "kubelet-stall", Confidence: 0.31, WhyNot: "the kubelet log of the node is cut off"}},
		Missing:      []model.Missing{{What: "kubelet log of node-b", WouldSettle: "whether the kubelet stalled", HowToCollect: "journalctl -u kubelet -o export --since '-2h' > node-b.export"}},
		Evidence:     []model.Evidence{{Role: model.RoleContext, Claim: "the capture holds no SYN to any pod for 30 s", Ref: model.Ref{Stream: bridge, Packet: 900}, Time: stamp(90 * time.Second), Rule: "kubelet-stall"}},
	}
}
