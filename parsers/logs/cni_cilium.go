package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// ciliumMessages are the lines of Cilium's agent that tie an address to a pod.
var ciliumMessages = []logrusMessage{
	{"Create endpoint request", readCiliumCreate},
	{"Successful endpoint creation", readCiliumCreated},
	{"Delete endpoint request", readCiliumDelete},
}

// readCiliumCreate reads addressing="&{IPv4 UUID IPv6 UUID}" (newer versions
// print it as JSON), containerID=SB and k8sPodName=NS/POD.
func readCiliumCreate(s *session, h *hostState, r *record, l *logrusLine) {
	ps := s.fields(l.rest)
	ip := &event.PodIP{Fact: event.IPAllocated, Via: "ipam", Interface: podInterface, SandboxID: s.name(ps, "containerID")}
	if p := get(ps, "k8sPodName"); p != nil {
		ip.Pod = s.podRef(s.unescape(p))
	}
	for _, word := range bytes.FieldsFunc(s.text(ps, "addressing"), notInAddr) {
		if a, ok := ipAddr(word); ok {
			ip.IPs = append(ip.IPs, a)
		}
	}
	if len(ip.IPs) > 0 && (ip.SandboxID != "" || ip.Pod.Name != "") {
		s.emit(h, r, h.completeZone(l.stamp, r.stamp), 0, ip)
	}
}

// notInAddr splits a printed structure into what could be addresses.
func notInAddr(c rune) bool {
	return (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') && c != '.' && c != ':'
}

// readCiliumCreated reads ipv4=, ipv6=, k8sPodName=: the endpoint is in place.
// Early lines of an endpoint have these keys empty.
func readCiliumCreated(s *session, h *hostState, r *record, l *logrusLine) {
	ps := s.fields(l.rest)
	ip := &event.PodIP{Fact: event.IPObserved, Via: "ipam", Interface: podInterface}
	if p := get(ps, "k8sPodName"); p != nil {
		ip.Pod = s.podRef(s.unescape(p))
	}
	for _, key := range [...]string{"ipv4", "ipv6"} {
		if a, ok := ipAddr(s.text(ps, key)); ok {
			ip.IPs = append(ip.IPs, a)
		}
	}
	if len(ip.IPs) > 0 && ip.Pod.Name != "" {
		s.emit(h, r, l.stamp, 0, ip)
	}
}

// readCiliumDelete reads the end of an endpoint; containerID is the sandbox.
func readCiliumDelete(s *session, h *hostState, r *record, l *logrusLine) {
	ps := s.fields(l.rest)
	c := &event.SandboxChange{SandboxID: s.name(ps, "containerID"), Op: event.SandboxStopped, Reason: "network-torn-down", Attempt: -1}
	if p := get(ps, "k8sPodName"); p != nil {
		c.Pod = s.podRef(s.unescape(p))
	}
	if c.SandboxID != "" {
		s.emit(h, r, l.stamp, 0, c)
	}
}
