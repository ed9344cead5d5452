package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// nodeMessages are the kubelet's lines about the node and about itself.
var nodeMessages = messageTable{
	"Kubelet version":                                 {0, nodeLine(event.NodeKubeletStarted, "kubeletVersion")},
	"Started kubelet":                                 {0, nodeLine(event.NodeKubeletStarted, "")},
	"Starting kubelet main sync loop":                 {0, nodeLine(event.NodeKubeletStarted, "")},
	"Container runtime network not ready":             {0, nodeLine(event.NodeNetworkNotReady, "networkReady")},
	"Container runtime not ready":                     {0, nodeLine(event.NodeRuntimeDown, "runtimeState")},
	"Container runtime sanity check failed":           {0, nodeLine(event.NodeRuntimeDown, "err")},
	"Node became not ready":                           {0, nodeLine(event.NodeNotReady, "condition")},
	"Recording event message for node":                {2, readNodeEvent},
	"Error updating node status, will retry":          {0, nodeLine(event.NodeStatusFailed, "err")},
	"Unable to update node status":                    {0, nodeLine(event.NodeStatusFailed, "err")},
	"Failed to ensure lease exists, will retry":       {0, nodeLine(event.NodeStatusFailed, "err")},
	"Failed to update lease":                          {0, nodeLine(event.NodeStatusFailed, "err")},
	"Failed to update lease, optimistic update error": {0, nodeLine(event.NodeStatusFailed, "err")},
	"Got sys oom event":                               {0, readSysOOM},
	"Eviction manager: attempting to reclaim":         {0, nodeLine(event.NodeEviction, "resourceName")},
	"Eviction manager: must evict pod(s) to reclaim":  {0, nodeLine(event.NodeEviction, "resourceName")},
	"Eviction manager: pod is evicted successfully":   {0, nodeLine(event.NodeEviction, "")},
	"Waited before sending request":                   {0, nodeLine(event.NodeThrottled, "delay")},
	"Observed a panic":                                {0, nil},
	"Label not found":                                 {4, nil},
	"HTTP":                                            {3, nil},
}

var nodeFree = []freeMessage{
	{"Started kubelet", message{0, oldNode(event.NodeKubeletStarted)}},
	{"Starting kubelet main sync loop", message{0, oldNode(event.NodeKubeletStarted)}},
	{"Kubelet version: ", message{0, oldVersion}},
	{"Container runtime network not ready: ", message{0, oldNode(event.NodeNetworkNotReady)}},
	{"Unable to update cni config: ", message{0, oldNode(event.NodeNetworkNotReady)}},
	{"Container runtime not ready: ", message{0, oldNode(event.NodeRuntimeDown)}},
	{"Container runtime sanity check failed: ", message{0, oldNode(event.NodeRuntimeDown)}},
	{"Node became not ready: ", message{0, oldNode(event.NodeNotReady)}},
	{"Recording ", message{2, oldNodeEvent}},
	{"Error updating node status, will retry: ", message{0, oldNode(event.NodeStatusFailed)}},
	{"failed to update lease, error: ", message{0, oldNode(event.NodeStatusFailed)}},
	{"failed to ensure node lease exists, will retry", message{0, oldNode(event.NodeStatusFailed)}},
	{"failed to ensure lease exists, will retry", message{0, oldNode(event.NodeStatusFailed)}},
	{"Got sys oom event", message{0, oldNode(event.NodeOOM)}},
	{"eviction manager: attempting to reclaim ", message{0, oldNode(event.NodeEviction)}},
	{"eviction manager: must evict pod(s) to reclaim ", message{0, oldNode(event.NodeEviction)}},
	{"eviction manager: pod ", message{0, oldEvicted}},
	{"Throttling request took ", message{0, oldThrottled}},
	{"Waited for ", message{0, oldThrottled}},
}

// nodeLine reads a line that is a fact about the node; key names the value it
// carries. What is printed whole goes into the message.
func nodeLine(code, key string) func(*session, *hostState, *record, *klogLine) {
	return func(s *session, h *hostState, r *record, k *klogLine) {
		ps := s.fields(k.rest)
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
		s.emit(h, r, k.time(s, h, r), k.pid, &event.NodeState{Code: code, Message: clip(k.rest, maxMessage)})
	}
}

// readNodeEvent reads a change of the node's conditions.
func readNodeEvent(s *session, h *hostState, r *record, k *klogLine) {
	ps := s.fields(k.rest)
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
	ps := s.fields(k.rest)
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
	s.emit(h, r, k.time(s, h, r), k.pid, &event.NodeState{Code: event.NodeEviction, Pod: pod, Message: clip(k.rest, maxMessage)})
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
