package logs

import (
	"bytes"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// The lines of kubelet <= 1.20 about sandboxes and containers: free text with
// pods printed as "name_namespace(uid)".

// quotedPod reads `"p_ns(uid)"` at the front of b.
func (s *session) quotedPod(b []byte) (event.PodRef, []byte, bool) {
	pod, rest, ok := s.oldPod(bytes.TrimPrefix(b, []byte(`"`)))
	return pod, bytes.TrimPrefix(rest, []byte(`"`)), ok
}

func oldSandbox(op event.SandboxOp, reason string) func(*session, *hostState, *record, *klogLine) {
	return func(s *session, h *hostState, r *record, k *klogLine) {
		pod, _, ok := s.quotedPod(k.rest)
		if !ok {
			s.cutLine(r)
			return
		}
		s.emit(h, r, k.time(s, h, r), k.pid, &event.SandboxChange{Pod: pod, Op: op, Reason: reason, Attempt: -1})
	}
}

// oldSandboxReason reads `Sandbox for pod "…" has changed|has no IP address. …`.
func oldSandboxReason(s *session, h *hostState, r *record, k *klogLine) {
	pod, rest, ok := s.quotedPod(k.rest)
	if !ok {
		s.cutLine(r)
		return
	}
	reason := "changed"
	if bytes.Contains(rest, []byte("no IP address")) {
		reason = "no-ip"
	}
	s.emit(h, r, k.time(s, h, r), k.pid, &event.SandboxChange{Pod: pod, Op: event.SandboxLost, Reason: reason, Attempt: -1})
}

// oldSandboxCreated reads `Created PodSandbox "ID" for pod "…"`.
func oldSandboxCreated(s *session, h *hostState, r *record, k *klogLine) {
	id, rest, ok := cutByte(bytes.TrimPrefix(k.rest, []byte(`"`)), '"')
	if !ok {
		return
	}
	pod, _, ok := s.quotedPod(bytes.TrimPrefix(rest, []byte(" for pod ")))
	if !ok {
		s.cutLine(r)
		return
	}
	s.emit(h, r, k.time(s, h, r), k.pid, &event.SandboxChange{Pod: pod, SandboxID: s.intern(id), Op: event.SandboxCreated, Attempt: -1})
}

// oldDeterminedIP reads `Determined the ip [10.1.2.3] for pod "…" after sandbox
// changed`; before 1.16 the address stands in quotes.
func oldDeterminedIP(s *session, h *hostState, r *record, k *klogLine) {
	list, rest, ok := bytes.Cut(k.rest, []byte(" for pod "))
	if !ok {
		return
	}
	pod, _, ok := s.quotedPod(rest)
	if !ok {
		s.cutLine(r)
		return
	}
	ip := &event.PodIP{Pod: pod, Fact: event.IPObserved, Via: "kubelet-ip"}
	for item := range listItems(list) {
		if a, ok := ipAddr(item); ok {
			ip.IPs = append(ip.IPs, a)
		}
	}
	if len(ip.IPs) > 0 {
		s.emit(h, r, k.time(s, h, r), k.pid, ip)
	}
}

func oldSandboxNoIP(s *session, h *hostState, r *record, k *klogLine) {
	s.emit(h, r, k.time(s, h, r), k.pid, &event.SandboxChange{Op: event.SandboxNoIP, Attempt: -1})
}

// oldSandboxFailed reads both "RunPodSandbox from runtime service failed: ERR"
// and `CreatePodSandbox for pod "p_ns(uid)" failed: ERR`.
func oldSandboxFailed(s *session, h *hostState, r *record, k *klogLine) {
	pod, rest, ok := event.PodRef{}, k.rest, false
	if _, quote := after(rest, `"`); quote {
		if pod, rest, ok = s.quotedPod(rest); ok {
			rest = bytes.TrimPrefix(rest, []byte(" failed: "))
		}
	}
	s.emitSandboxFailed(h, r, k, pod, rest)
}

// oldStopFailed reads `StopPodSandbox "ID" from runtime service failed: ERR`.
func oldStopFailed(s *session, h *hostState, r *record, k *klogLine) {
	id, rest, ok := cutByte(bytes.TrimPrefix(k.rest, []byte(`"`)), '"')
	err, failed := after(rest, " from runtime service failed: ")
	if !ok || !failed {
		return
	}
	c := &event.SandboxChange{SandboxID: s.intern(id), Op: event.SandboxStopped, Reason: "failed", Attempt: -1, Message: clip(err, maxMessage)}
	c.Pod, _, c.Attempt = s.sandboxOfError(err)
	s.emit(h, r, k.time(s, h, r), k.pid, c)
}

// oldContainerMessage reads `Container "c" ({"docker" "ID"}) of pod p_ns(uid):
// Container c failed liveness probe, will be restarted`.
func oldContainerMessage(s *session, h *hostState, r *record, k *klogLine) {
	name, rest, ok := cutByte(bytes.TrimPrefix(k.rest, []byte(`"`)), '"')
	_, tail, of := bytes.Cut(rest, []byte(") of pod "))
	if !ok || !of {
		return
	}
	pod, text, ok := s.oldPod(tail)
	if !ok {
		s.cutLine(r)
		return
	}
	text = bytes.TrimPrefix(text, []byte(": "))
	c := &event.ContainerState{Pod: pod, Container: s.intern(name), Op: event.ContainerUnhealthy, Attempt: -1, ExitCode: -1}
	if id, ok := between(rest, `" "`, `"`); ok {
		c.ID = s.intern(id)
	}
	s.emitRestart(h, r, k, c, text)
}

// oldKilling reads `Killing container "docker://ID" with 30 second grace period`.
func oldKilling(s *session, h *hostState, r *record, k *klogLine) {
	id, rest, ok := cutByte(bytes.TrimPrefix(k.rest, []byte(`"`)), '"')
	if !ok {
		return
	}
	c := &event.ContainerState{ID: s.intern(withoutScheme(id)), Op: event.ContainerKilling, Attempt: -1, ExitCode: -1}
	if secs, ok := between(rest, " with ", " second"); ok {
		n, _ := allDigits(secs)
		c.Grace = time.Duration(min(n, 1<<31)) * time.Second
	}
	s.emit(h, r, k.time(s, h, r), k.pid, c)
}

// oldExecFailed reads `ExecSync ID 'CMD' from runtime service failed: ERR`.
func oldExecFailed(s *session, h *hostState, r *record, k *klogLine) {
	id, rest, _ := cutByte(k.rest, ' ')
	_, err, ok := bytes.Cut(rest, []byte("from runtime service failed: "))
	if !ok {
		return
	}
	s.emit(h, r, k.time(s, h, r), k.pid, &event.ContainerState{ID: s.intern(id), Op: event.ContainerExecFailed,
		Attempt: -1, ExitCode: -1, Message: clip(err, maxMessage)})
}

// oldSyncError reads `Error syncing pod UID ("p_ns(uid)"), skipping: ERR`.
func oldSyncError(s *session, h *hostState, r *record, k *klogLine) {
	_, rest, ok := bytes.Cut(k.rest, []byte(` ("`))
	if !ok {
		return
	}
	pod, rest, ok := s.oldPod(rest)
	if !ok {
		s.cutLine(r)
		return
	}
	_, err, _ := bytes.Cut(rest, []byte("skipping: "))
	s.emitSyncError(h, r, k, pod, err)
}
