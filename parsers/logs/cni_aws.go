package logs

import (
	"bytes"

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
func awsLine(s *session, h *hostState, r *record, st event.Stamp, text []byte) bool {
	if len(text) < 20 {
		return false
	}
	switch text[0] {
	case 'A', 'U', 'R', 'S':
	default:
		return false
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
