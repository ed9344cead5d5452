package logs

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// awsLine reads a message of the AWS VPC CNI's daemon (ipamd.log), whose framing
// is JSON since 1.6 and "STAMP [LEVEL] " before. It reports whether the message
// was one of them.
//
//	AddNetworkRequest: K8S_POD_NAME:"P"  K8S_POD_NAMESPACE:"NS"  K8S_POD_INFRA_CONTAINER_ID:"SB" …
//	AssignPodIPv4Address: Assign IP 10.1.2.3 to sandbox aws-cni/SB/eth0
//	UnassignPodIPAddress: sandbox aws-cni/SB/eth0's ipAddr 10.1.2.3, DeviceNumber 0
//	Received AddNetwork for NS /proc/1/ns/net, Pod P, NameSpace NS, Container SB, ifname eth0   (before 1.7)
//	AssignPodIPv4Address: Assign IP 10.1.2.3 to pod (name P, namespace NS container SB)         (before 1.7)
//	Send AddNetworkReply: IPv4Addr , DeviceNumber: 0, err: … no available IP addresses
//	Starting L-IPAMD v1.5.5 …
//	getLocalPodsWithRetry() found 0 local pods
func awsLine(s *session, h *hostState, r *record, st event.Stamp, text []byte) bool {
	if len(text) < 20 {
		return false
	}
	switch text[0] {
	case 'A', 'U', 'R', 'S', 'I', 'g':
	default:
		return false
	}
	if (bytes.HasPrefix(text, []byte("IP")) || bytes.Contains(text, []byte("IP address pool stats"))) && awsStats(s, h, r, st, text) {
		return true
	}
	switch {
	case hasText(text, "AddNetworkRequest: ", &text):
		s.awsRequest(h, text)
	case hasText(text, "Received AddNetwork for NS ", &text):
		s.awsOldRequest(h, text)
	case bytes.HasPrefix(text, []byte("AssignPodIP")):
		s.awsAssign(h, r, st, text)
	case bytes.HasPrefix(text, []byte("UnassignPodIP")), bytes.HasPrefix(text, []byte("UnAssignPodIP")):
		s.awsUnassign(h, r, st, text)
	case hasText(text, "Send AddNetworkReply: ", &text):
		s.awsReply(h, r, st, text)
	case bytes.HasPrefix(text, []byte("Starting L-IPAMD")), bytes.HasPrefix(text, []byte("getLocalPodsWithRetry() found 0 ")):
		s.emit(h, r, st, 0, &event.NodeState{Code: event.NodeIPAMStarted, Message: clip(text, maxMessage)})
	default:
		return false
	}
	return true
}

// awsRequest remembers the pod of a sandbox.
func (s *session) awsRequest(h *hostState, b []byte) {
	field := func(key string) string {
		v, _ := between(b, key+`:"`, `"`)
		return s.intern(v)
	}
	if id := field("K8S_POD_INFRA_CONTAINER_ID"); id != "" {
		h.sandboxPod(id, event.PodRef{Namespace: field("K8S_POD_NAMESPACE"), Name: field("K8S_POD_NAME")})
		h.lastSandbox = id
	}
}

func (s *session) awsOldRequest(h *hostState, b []byte) {
	field := func(key string) string {
		v, _ := betweenAny(b, key, ", ")
		return s.intern(v)
	}
	if id := field(", Container "); id != "" {
		h.sandboxPod(id, event.PodRef{Namespace: field(", NameSpace "), Name: field(", Pod ")})
		h.lastSandbox = id
	}
}

// awsAssign reads an assignment; of the pool's statistics nothing is kept.
func (s *session) awsAssign(h *hostState, r *record, st event.Stamp, b []byte) {
	v, ok := betweenAny(b, "Assign IP ", " ,")
	addr, valid := ipAddr(v)
	if !ok || !valid {
		return
	}
	ip := &event.PodIP{Fact: event.IPAllocated, Via: "ipam", Interface: podInterface}
	ip.IPs = append(ip.IPs, addr)
	if key, ok := betweenAny(b, "to sandbox ", " ,"); ok {
		ip.SandboxID, ip.Interface = s.awsKey(key)
		ip.Pod = h.sandboxes[ip.SandboxID]
	} else if pod, ok := between(b, "to pod (name ", ")"); ok {
		name, rest, _ := bytes.Cut(pod, []byte(", namespace "))
		ns, id, _ := bytes.Cut(rest, []byte(" container "))
		ip.Pod = event.PodRef{Namespace: s.intern(ns), Name: s.intern(name)}
		ip.SandboxID = s.intern(id)
	}
	if ip.SandboxID != "" || ip.Pod.Name != "" {
		s.emit(h, r, st, 0, ip)
	}
}

// awsKey reads "network/SANDBOX/interface".
func (s *session) awsKey(key []byte) (sandbox, dev string) {
	parts := bytes.Split(bytes.TrimSuffix(key, []byte("'s")), []byte("/"))
	if len(parts) != 3 {
		return "", ""
	}
	return s.intern(parts[1]), s.intern(parts[2])
}

func (s *session) awsUnassign(h *hostState, r *record, st event.Stamp, b []byte) {
	key, ok := betweenAny(b, "sandbox ", " ,")
	if !ok {
		return
	}
	ip := &event.PodIP{Fact: event.IPReleased, Via: "ipam"}
	ip.SandboxID, ip.Interface = s.awsKey(key)
	v, _ := betweenAny(b, "ipAddr ", " ,")
	addr, ok := ipAddr(v)
	if !ok || ip.SandboxID == "" {
		return
	}
	ip.IPs, ip.Pod = append(ip.IPs, addr), h.sandboxes[ip.SandboxID]
	s.emit(h, r, st, 0, ip)
}

// awsReply reads a refusal: no address was left. It names no pod; that of the
// request before it is taken.
func (s *session) awsReply(h *hostState, r *record, st event.Stamp, b []byte) {
	_, err, ok := bytes.Cut(b, []byte("err: "))
	if !ok || string(err) == "<nil>" || !bytes.Contains(err, []byte("no available IP")) {
		return
	}
	s.emit(h, r, st, 0, &event.SandboxChange{SandboxID: h.lastSandbox, Pod: h.sandboxes[h.lastSandbox], Op: event.SandboxFailed,
		Attempt: -1, Message: clip(err, maxMessage)})
}

// awsStats reads the counters of the pool, of which only a pool without a free
// address is kept. Addresses that cool down are not free.
//
//	AssignPodIPv4Address: IP address pool stats: total 64, assigned 64
//	IP/Prefix Address Pool stats: total: 18, assigned: 1, cooldownIPs: 0, total prefixes: 0
//	IP pool stats: total = 10, used = 10, c.maxIPsPerENI = 5
//	IP stats for Network Card 0 - total IPs: 28, assigned IPs: 3, cooldown IPs: 0
func awsStats(s *session, h *hostState, r *record, st event.Stamp, text []byte) bool {
	total, ok := countAfter(text, "total")
	if !ok {
		return false
	}
	used, ok := countAfter(text, "assigned")
	if !ok {
		if used, ok = countAfter(text, "used"); !ok {
			return false
		}
	}
	resting, _ := countAfter(text, "cooldown")
	if total > 0 && used+resting >= total {
		s.emit(h, r, st, 0, &event.NodeState{Code: event.NodeIPPoolFull, Message: clip(text, maxMessage),
			Value: strconv.FormatInt(total, 10) + "/" + strconv.FormatInt(used+resting, 10)})
	}
	return true
}

// countAfter reads the number behind a word: "total 64", "total: 64", "total =
// 64", "total IPs: 64", "cooldownIPs: 0".
func countAfter(text []byte, word string) (int64, bool) {
	_, rest, ok := bytes.Cut(text, []byte(word))
	if !ok {
		return 0, false
	}
	n, _, ok := leadingUint(bytes.TrimLeft(rest, " :=IPs"))
	return n, ok
}

// awsFlow reads what the network policy agent logs of a connection, of which
// only a denied one is kept. Its fields stand as keys of the record, or in the
// message itself.
//
//	{…,"msg":"Flow Info:  ","Src IP":"10.1.2.3","Src Port":49880,"Dest IP":"10.1.2.4","Dest Port":8080,"Proto":"TCP","Verdict":"DENY"}
//	Flow Info: Src IP: 10.1.2.3 Src Port: 49880 Dest IP: 10.1.2.4 Dest Port: 8080 Proto: TCP Verdict: DENY
func awsFlow(s *session, h *hostState, r *record, st event.Stamp, text []byte, pairs []pair) {
	field := func(key string) []byte {
		for i := range pairs {
			if string(pairs[i].key) == key {
				return pairs[i].val
			}
		}
		_, rest, _ := bytes.Cut(text, []byte(key))
		rest = bytes.TrimLeft(rest, ": ")
		if i := bytes.IndexAny(rest, " ,;"); i >= 0 {
			rest = rest[:i]
		}
		return rest
	}
	if string(field("Verdict")) != "DENY" {
		return
	}
	if _, ok := ipAddr(field("Dest IP")); !ok {
		return
	}
	s.emit(h, r, st, 0, &event.NodeState{Code: event.NodePolicyDrop, Value: s.intern(field("Dest IP")),
		Message: fmt.Sprintf("Flow Info: SRC=%s DST=%s SPT=%s DPT=%s VERDICT=DENY", field("Src IP"), field("Dest IP"), field("Src Port"), field("Dest Port"))})
}
