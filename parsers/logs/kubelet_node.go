package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// nodeMessages are the kubelet's lines about the node and about itself.
var nodeMessages = messageTable{
	"Kubelet version":                                 {level: 0, read: nodeLine(event.NodeKubeletStarted, "kubeletVersion")},
	"Started kubelet":                                 {level: 0, read: nodeLine(event.NodeKubeletStarted, "")},
	"Starting kubelet main sync loop":                 {level: 0, read: nodeLine(event.NodeKubeletStarted, "")},
	"Container runtime network not ready":             {level: 0, read: nodeLine(event.NodeNetworkNotReady, "networkReady")},
	"Container runtime not ready":                     {level: 0, read: nodeLine(event.NodeRuntimeDown, "runtimeState")},
	"Container runtime sanity check failed":           {level: 0, read: nodeLine(event.NodeRuntimeDown, "err")},
	"Node became not ready":                           {level: 0, read: nodeLine(event.NodeNotReady, "condition")},
	"Recording event message for node":                {level: 2, read: readNodeEvent},
	"Error updating node status, will retry":          {level: 0, read: nodeLine(event.NodeStatusFailed, "err")},
	"Unable to update node status":                    {level: 0, read: nodeLine(event.NodeStatusFailed, "err")},
	"Failed to ensure lease exists, will retry":       {level: 0, read: nodeLine(event.NodeStatusFailed, "err")},
	"Failed to update lease":                          {level: 0, read: nodeLine(event.NodeStatusFailed, "err")},
	"Failed to update lease, optimistic update error": {level: 0, read: nodeLine(event.NodeStatusFailed, "err")},
	"Got sys oom event":                               {level: 0, read: readSysOOM},
	"Eviction manager: attempting to reclaim":         {level: 0, read: nodeLine(event.NodeEviction, "resourceName")},
	"Eviction manager: must evict pod(s) to reclaim":  {level: 0, read: nodeLine(event.NodeEviction, "resourceName")},
	"Eviction manager: pod is evicted successfully":   {level: 0, read: nodeLine(event.NodeEviction, "")},
	"Waited before sending request":                   {level: 0, read: nodeLine(event.NodeThrottled, "delay")},
	"Observed a panic":                                {level: 0},
	"Label not found":                                 {level: 4},
	"HTTP":                                            {level: 3},
}

var nodeFree = []freeMessage{
	{"Started kubelet", message{level: 0, read: oldNode(event.NodeKubeletStarted)}},
	{"Starting kubelet main sync loop", message{level: 0, read: oldNode(event.NodeKubeletStarted)}},
	{"Kubelet version: ", message{level: 0, read: oldVersion}},
	{"Container runtime network not ready: ", message{level: 0, read: oldNode(event.NodeNetworkNotReady)}},
	{"Unable to update cni config: ", message{level: 0, read: oldNode(event.NodeNetworkNotReady)}},
	{"Container runtime not ready: ", message{level: 0, read: oldNode(event.NodeRuntimeDown)}},
	{"Container runtime sanity check failed: ", message{level: 0, read: oldNode(event.NodeRuntimeDown)}},
	{"Node became not ready: ", message{level: 0, read: oldNode(event.NodeNotReady)}},
	{"Recording ", message{level: 2, read: oldNodeEvent}},
	{"Error updating node status, will retry: ", message{level: 0, read: oldNode(event.NodeStatusFailed)}},
	{"failed to update lease, error: ", message{level: 0, read: oldNode(event.NodeStatusFailed)}},
	{"failed to ensure node lease exists, will retry", message{level: 0, read: oldNode(event.NodeStatusFailed)}},
	{"failed to ensure lease exists, will retry", message{level: 0, read: oldNode(event.NodeStatusFailed)}},
	{"Got sys oom event", message{level: 0, read: oldNode(event.NodeOOM)}},
	{"eviction manager: attempting to reclaim ", message{level: 0, read: oldNode(event.NodeEviction)}},
	{"eviction manager: must evict pod(s) to reclaim ", message{level: 0, read: oldNode(event.NodeEviction)}},
	{"eviction manager: pod ", message{level: 0, read: oldEvicted}},
	{"Throttling request took ", message{level: 0, read: oldThrottled}},
	{"Waited for ", message{level: 0, read: oldThrottled}},
}

// nodeLine reads a line that is a fact about the node; key names the value it
// carries. What is printed whole goes into the message.
func nodeLine(code, key string) func(*session, *hostState, *record, *klogLine) {
	return func(s *session, h *hostState, r *record, k *klogLine) {
		ps := k.fields(s)
		n := &event.NodeState{Code: code}
		v := s.text(ps, key)
		if len(v) <= 64 {
			n.Value = s.intern(v)
		}
		n.Message = clip(k.text, maxMessage)
		if len(v) > 64 {
			n.Message = clipTail(v, maxMessage)
		}
		n.Pod, _ = s.podOf(ps)
		s.emit(h, r, k.time(s, h, r), k.pid, n)
	}
}

func oldNode(code string) func(*session, *hostState, *record, *klogLine) {
	return func(s *session, h *hostState, r *record, k *klogLine) {
		s.emit(h, r, k.time(s, h, r), k.pid, &event.NodeState{Code: code, Message: clip(k.whole, maxMessage)})
	}
}

// readNodeEvent reads a change of the node's conditions.
func readNodeEvent(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	s.emitNodeEvent(h, r, k, s.text(ps, "event"))
}

// oldNodeEvent reads "Recording NodeNotReady event message for node N".
func oldNodeEvent(s *session, h *hostState, r *record, k *klogLine) {
	name, rest, _ := cutByte(k.rest, ' ')
	if _, ok := after(rest, "event message for node"); ok {
		s.emitNodeEvent(h, r, k, name)
	}
}

func (s *session) emitNodeEvent(h *hostState, r *record, k *klogLine, name []byte) {
	n := &event.NodeState{Value: s.intern(name)}
	switch string(name) {
	case "NodeNotReady":
		n.Code = event.NodeNotReady
	case "NodeReady":
		n.Code = event.NodeReady
	case "NodeHasInsufficientMemory", "NodeHasDiskPressure", "NodeHasInsufficientPID":
		n.Code = event.NodeEviction
	case "Rebooted":
		n.Code = event.NodeReboot
	default:
		return
	}
	s.emit(h, r, k.time(s, h, r), k.pid, n)
}

// readSysOOM reads "Got sys oom event" event=&{Pid:… ProcessName:java
// VictimContainerName:/kubepods/…/pod<uid>/<container> …}.
func readSysOOM(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	v := s.text(ps, "event")
	n := &event.NodeState{Code: event.NodeOOM, Message: clip(v, maxMessage), Value: s.intern(plegField(v, "ProcessName"))}
	n.Pod.UID = s.intern(cgroupPodUID(plegField(v, "VictimContainerName")))
	s.emit(h, r, k.time(s, h, r), k.pid, n)
}

// cgroupPodUID finds the pod UID in a cgroup path: ".../pod<uid>/…", or with the
// systemd driver "…-pod<uid with underscores>.slice/…".
func cgroupPodUID(path []byte) []byte {
	for {
		i := bytes.Index(path, []byte("pod"))
		if i < 0 {
			return nil
		}
		path = path[i+3:]
		n := 0
		for n < len(path) && (isHex(path[n]) || path[n] == '-' || path[n] == '_') {
			n++
		}
		if n == 36 || n == 32 {
			return bytes.ReplaceAll(path[:n], []byte("_"), []byte("-"))
		}
	}
}

// oldVersion reads "Kubelet version: v1.20.15".
func oldVersion(s *session, h *hostState, r *record, k *klogLine) {
	v, _, _ := cutByte(k.rest, ' ')
	s.emit(h, r, k.time(s, h, r), k.pid, &event.NodeState{Code: event.NodeKubeletStarted, Value: s.intern(v)})
}

// oldEvicted reads "eviction manager: pod p_ns(uid) is evicted successfully".
func oldEvicted(s *session, h *hostState, r *record, k *klogLine) {
	pod, rest, ok := s.oldPod(k.rest)
	if !ok || !bytes.Contains(rest, []byte("evicted successfully")) {
		return
	}
	s.emit(h, r, k.time(s, h, r), k.pid, &event.NodeState{Code: event.NodeEviction, Pod: pod, Message: clip(k.whole, maxMessage)})
}

// oldThrottled reads client-go's "Throttling request took 1.2s, request: GET:…"
// and "Waited for 1.2s due to client-side throttling, not priority and fairness".
func oldThrottled(s *session, h *hostState, r *record, k *klogLine) {
	took, _, _ := bytes.Cut(k.rest, []byte(" "))
	took = bytes.TrimSuffix(took, []byte(","))
	if duration(took) == 0 || bytes.Contains(k.rest, []byte("priority and fairness, not")) {
		return
	}
	s.emit(h, r, k.time(s, h, r), k.pid, &event.NodeState{Code: event.NodeThrottled, Value: s.intern(took)})
}
