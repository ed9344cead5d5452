package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerDialect(dialect{name: "kernel", order: 3, read: readKernel})

// readKernel reads kernel messages, from a journal or from dmesg.
func readKernel(s *session, h *hostState, r *record) bool {
	if string(r.ident) != "kernel" {
		return false
	}
	msg := r.msg
	// syslog files keep the kernel's own stamp in front: "[12345.678901] ".
	if _, rest, ok := sinceBoot(msg); ok {
		msg = skipBlanks(rest)
	}
	if i := kernelIndex(msg); i >= 0 {
		kernelMessages[i].read(s, h, r, msg)
	}
	return true
}

// kernelMessage is a message of the catalogue: word is text it must contain.
type kernelMessage struct {
	word string
	read func(s *session, h *hostState, r *record, msg []byte)
}

var kernelMessages = []kernelMessage{
	{"conntrack: table full", kernelCode(event.NodeConntrackFull)},
	{"neighbor table overflow", kernelCode(event.NodeNeighbourFull)},
	{"neighbour table overflow", kernelCode(event.NodeNeighbourFull)},
	{"oom-kill:constraint=", kernelOOM},
	{"Out of memory: Kill", kernelOOM},
	{"ut of memory: Killed process ", kernelOOM},
	{"ossible SYN flooding on port ", kernelSYNFlood},
	{"with own address as source address", kernelDevice(event.NodeOwnAddress, "received packet on ", " ")},
	{"IPv6 duplicate address ", kernelDevice(event.NodeDuplicateAddr, "IPv6 duplicate address ", " ")},
	{"martian source ", kernelDevice(event.NodeMartian, "martian source ", " ")},
	{"blocked for more than ", kernelCode(event.NodeSoftLockup)},
	{"soft lockup - CPU", kernelCode(event.NodeSoftLockup)},
	{"rcu_sched self-detected stall", kernelCode(event.NodeSoftLockup)},
	{"Link is Down", kernelCode(event.NodeLinkDown)},
	{"NIC Link is Down", kernelCode(event.NodeLinkDown)},
	{" SRC=", kernelFirewall},
}

// kernelIndex finds the entry for a message, -1 if none. Every entry's word
// holds one of a few telling pieces, so most messages fail early.
func kernelIndex(msg []byte) int {
	if len(msg) < 16 {
		return -1
	}
	for i := range kernelMessages {
		if bytes.Contains(msg, []byte(kernelMessages[i].word)) {
			return i
		}
	}
	return -1
}

func kernelCode(code string) func(*session, *hostState, *record, []byte) {
	return func(s *session, h *hostState, r *record, msg []byte) {
		s.emit(h, r, event.Stamp{}, 0, &event.NodeState{Code: code, Message: clip(msg, maxMessage)})
	}
}

// kernelDevice also keeps the device or address between open and closing.
func kernelDevice(code, open, closing string) func(*session, *hostState, *record, []byte) {
	return func(s *session, h *hostState, r *record, msg []byte) {
		v, _ := between(msg, open, closing)
		s.emit(h, r, event.Stamp{}, 0, &event.NodeState{Code: code, Value: s.intern(v), Message: clip(msg, maxMessage)})
	}
}

// kernelSYNFlood reads "request_sock_TCP: Possible SYN flooding on port 8080.":
// since 6.2 the port may follow an address, "[::]:8080".
func kernelSYNFlood(s *session, h *hostState, r *record, msg []byte) {
	v, _ := betweenAny(msg, "on port ", ". ")
	if i := bytes.LastIndexByte(v, ':'); i >= 0 {
		v = v[i+1:]
	}
	s.emit(h, r, event.Stamp{}, 0, &event.NodeState{Code: event.NodeSynFlood, Value: s.intern(v), Message: clip(msg, maxMessage)})
}

// kernelOOM reads the two lines of an OOM kill: the victim's cgroup names the
// pod, the other line the process.
func kernelOOM(s *session, h *hostState, r *record, msg []byte) {
	n := &event.NodeState{Code: event.NodeOOM, Message: clip(msg, maxMessage)}
	if name, ok := betweenAny(msg, ",task=", ","); ok {
		n.Value = s.intern(name)
	} else if name, ok := between(msg, "(", ")"); ok {
		n.Value = s.intern(name)
	}
	cgroup, ok := betweenAny(msg, "task_memcg=", ",")
	if !ok {
		cgroup, _ = betweenAny(msg, "oom_memcg=", ",")
	}
	n.Pod.UID = s.intern(cgroupPodUID(cgroup))
	s.emit(h, r, event.Stamp{}, 0, n)
}

// kernelFirewall reads lines of the LOG target and of Calico's and other
// firewalls' drop prefixes: "PREFIX: IN=eth0 OUT= MAC=… SRC=… DST=… PROTO=TCP …".
func kernelFirewall(s *session, h *hostState, r *record, msg []byte) {
	prefix, _, ok := bytes.Cut(msg, []byte("IN="))
	if !ok || !bytes.Contains(msg, []byte(" DST=")) {
		return
	}
	lower := bytes.ToLower(prefix)
	for _, word := range [...]string{"drop", "reject", "deny", "block", "dpt-", "calico-packet"} {
		if bytes.Contains(lower, []byte(word)) {
			dst, _ := betweenAny(msg, " DST=", " ")
			s.emit(h, r, event.Stamp{}, 0, &event.NodeState{Code: event.NodePolicyDrop, Value: s.intern(dst), Message: clip(msg, maxMessage)})
			return
		}
	}
}
