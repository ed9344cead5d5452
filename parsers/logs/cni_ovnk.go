package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// ovnMessages and ovnFree are the lines of OVN-Kubernetes' node agent, which
// logs with klog. They are read in container logs too.
var (
	ovnMessages = messageTable{}
	ovnFree     = []freeMessage{{"[", message{level: 0, read: readOVN, agent: true}}}
)

// readOVN reads
//
//	[NS/POD SANDBOX network default NAD default] ADD finished CNI request […], result "{\"interfaces\":[…],\"ips\":[…]}", err <nil>
//	[NS/POD SANDBOX] DEL finished CNI request […], result "", err <nil>
func readOVN(s *session, h *hostState, r *record, k *klogLine) {
	head, rest, ok := bytes.Cut(k.rest, []byte("] "))
	if !ok {
		return
	}
	name, more, _ := cutByte(head, ' ')
	sandbox, more, _ := cutByte(more, ' ')
	pod := s.podRef(name)
	if pod.Namespace == "" || len(sandbox) < 12 {
		return
	}
	dev := podInterface
	if nad, ok := after(more, "network "); ok && !bytes.HasPrefix(nad, []byte("default")) {
		dev = "" // a secondary network: its interface is not named
	}
	switch {
	case bytes.HasPrefix(rest, []byte("ADD finished CNI request ")):
		result, err, _ := bytes.Cut(rest, []byte(", err "))
		_, result, ok = bytes.Cut(result, []byte(`result "`))
		if !ok || string(err) != "<nil>" {
			return
		}
		ip := &event.PodIP{Pod: pod, SandboxID: s.intern(sandbox), Interface: dev, Fact: event.IPAllocated, Via: "cni-result"}
		if dev == "" {
			ip.Via = "cni-secondary"
		}
		s.scratch = appendUnquoted(s.scratch[:0], result)
		cniResult(s.scratch, ip)
		if len(ip.IPs) > 0 {
			s.emit(h, r, k.time(s, h, r), k.pid, ip)
		}
	case bytes.HasPrefix(rest, []byte("DEL finished CNI request ")) && dev != "":
		s.emit(h, r, k.time(s, h, r), k.pid, &event.SandboxChange{Pod: pod, SandboxID: s.intern(sandbox),
			Op: event.SandboxStopped, Reason: "network-torn-down", Attempt: -1})
	}
}
