package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// readCalico reads the lines of Calico's CNI and IPAM plugins; text begins with
// "file.go 284: ". The pid before it is that of a short-lived plugin and says
// nothing about the writer of the record.
//
//	Calico CNI IPAM assigned addresses IPv4=[10.1.2.3/26] IPv6=[] ContainerID="SB" …
//	Calico CNI using IPs: [10.1.2.3/32] ContainerID="SB" Namespace="NS" Pod="P" …
//	Releasing IP address … ContainerID="SB"
func readCalico(s *session, h *hostState, r *record, st event.Stamp, text []byte) {
	_, text, ok := bytes.Cut(text, []byte(": "))
	if !ok {
		return
	}
	switch {
	case hasText(text, "Calico CNI using IPs: ", &text):
		s.calicoIPs(h, r, st, text, "")
	case hasText(text, "Calico CNI IPAM assigned addresses ", &text):
		s.calicoIPs(h, r, st, text, "IPv4")
	case bytes.HasPrefix(text, []byte("Calico CNI releasing IP address")), bytes.HasPrefix(text, []byte("Released IPv4")),
		bytes.HasPrefix(text, []byte("Teardown processing complete")):
		if id := s.name(s.fields(text), "ContainerID"); id != "" {
			s.emit(h, r, st, 0, &event.SandboxChange{SandboxID: id, Op: event.SandboxStopped, Reason: "network-torn-down", Attempt: -1})
		}
	}
}

// calicoIPs reads the list of addresses at the front of text, or those in the
// keys IPv4 and IPv6.
func (s *session) calicoIPs(h *hostState, r *record, st event.Stamp, text []byte, key string) {
	ip := &event.PodIP{Fact: event.IPAllocated, Via: "cni-result", Interface: podInterface}
	if key != "" {
		ip.Via = "ipam"
	}
	ps := s.fields(text)
	lists := [][]byte{s.text(ps, "IPv4"), s.text(ps, "IPv6")}
	if key == "" {
		list, _ := between(text, "[", "]")
		lists = [][]byte{list}
	}
	for _, list := range lists {
		for item := range listItems(list) {
			if a, ok := ipAddr(item); ok {
				ip.IPs = append(ip.IPs, a)
			}
		}
	}
	ip.SandboxID = s.name(ps, "ContainerID")
	ip.Pod = event.PodRef{Namespace: s.name(ps, "Namespace"), Name: s.name(ps, "Pod")}
	if len(ip.IPs) > 0 && (ip.SandboxID != "" || ip.Pod.Name != "") {
		s.emit(h, r, st, 0, ip)
	}
}
