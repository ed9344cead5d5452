package logs

import (
	"bytes"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// crioMessages are CRI-O's lines. It logs no address at info level, but, unlike
// containerd, names the pod in most of them.
var crioMessages = []logrusMessage{
	{"Running pod sandbox: ", readCrioRunning},
	{"Got pod network &{", readCrioNetwork},
	{"Ran pod sandbox ", readCrioRan},
	{"Stopping pod sandbox: ", crioSandbox(event.SandboxStopped, "stop-requested")},
	{"Stopped pod sandbox: ", crioSandbox(event.SandboxStopped, "stopped")},
	{"Removed pod sandbox: ", crioSandbox(event.SandboxRemoved, "removed")},
	{"Created container ", crioContainer(event.ContainerCreated)},
	{"Started container", crioContainer(event.ContainerStarted)},
	{"Stopped container ", crioContainer(event.ContainerDied)},
	{"Removed container ", crioContainer(event.ContainerRemoved)},
	{"Stopping container: ", readCrioStopping},
	{"CNI plugin not ready. Waiting to create ", readCrioNotReady},
	{"Starting CRI-O, version: ", readBooted},
}

// readCrioRunning reads "Running pod sandbox: NS/POD/POD".
func readCrioRunning(s *session, h *hostState, r *record, l *logrusLine) {
	pod, _ := s.crioName(l.text(s)[len("Running pod sandbox: "):])
	if pod.Name != "" {
		s.emit(h, r, l.stamp, 0, &event.SandboxChange{Pod: pod, Op: event.SandboxRequested, Attempt: -1})
	}
}

// crioName reads "namespace/pod/container"; the container of a sandbox is POD.
func (s *session) crioName(b []byte) (event.PodRef, string) {
	b, _, _ = cutByte(b, ' ')
	ns, rest, ok := cutByte(b, '/')
	pod, ctr, ok2 := cutByte(rest, '/')
	if !ok || !ok2 {
		return event.PodRef{}, ""
	}
	return event.PodRef{Namespace: s.intern(ns), Name: s.intern(pod)}, s.intern(ctr)
}

// readCrioNetwork remembers which UID a sandbox belongs to: "Got pod network
// &{Name:P Namespace:N ID:SANDBOX UID:U NetNS:… …}". It is printed when the
// network is set up and again when it is torn down, so it is no event itself.
func readCrioNetwork(s *session, h *hostState, r *record, l *logrusLine) {
	text := l.text(s)
	id, _ := betweenAny(text, " ID:", " }")
	uid, _ := betweenAny(text, " UID:", " }")
	if len(id) > 0 && len(uid) > 0 {
		h.sandboxPod(s.intern(id), event.PodRef{UID: s.intern(uid)})
	}
}

// sandboxPod remembers the pod of a sandbox for later lines that name only one
// of them.
func (h *hostState) sandboxPod(id string, pod event.PodRef) {
	if h.sandboxes == nil {
		h.sandboxes = make(map[string]event.PodRef)
	}
	if len(h.sandboxes) < maxNames {
		h.sandboxes[id] = pod
	}
}

// readCrioRan reads "Ran pod sandbox ID with infra container: NS/POD/POD".
func readCrioRan(s *session, h *hostState, r *record, l *logrusLine) {
	text := l.text(s)
	id, rest := s.hexID(text[len("Ran pod sandbox "):])
	_, name, ok := bytes.Cut(rest, []byte("infra container: "))
	if id == "" || !ok {
		return
	}
	pod, _ := s.crioName(name)
	pod.UID = h.sandboxes[id].UID
	s.emit(h, r, l.stamp, 0, &event.SandboxChange{Pod: pod, SandboxID: id, Op: event.SandboxCreated, Attempt: -1})
}

// crioSandbox reads "Stopped pod sandbox: ID"; "(already stopped)" is no step.
func crioSandbox(op event.SandboxOp, reason string) func(*session, *hostState, *record, *logrusLine) {
	return func(s *session, h *hostState, r *record, l *logrusLine) {
		_, rest, _ := bytes.Cut(l.text(s), []byte(": "))
		if id, _ := s.hexID(rest); id != "" {
			s.emit(h, r, l.stamp, 0, &event.SandboxChange{SandboxID: id, Pod: h.sandboxes[id], Op: op, Reason: reason, Attempt: -1})
		}
	}
}

// crioContainer reads "Created container ID: NS/POD/C", and since 1.22
// `Started container` PID=… containerID=ID description=NS/POD/C sandboxID=SB.
func crioContainer(op event.ContainerOp) func(*session, *hostState, *record, *logrusLine) {
	return func(s *session, h *hostState, r *record, l *logrusLine) {
		c := &event.ContainerState{Op: op, Attempt: -1, ExitCode: -1}
		text := l.text(s)
		if i := bytes.Index(text, []byte(" container ")); i > 0 {
			var rest []byte
			c.ID, rest = s.hexID(text[i+len(" container "):])
			if name, ok := after(rest, ": "); ok {
				c.Pod, c.Container = s.crioName(name)
			}
		} else {
			ps := s.fields(l.rest)
			c.ID, c.SandboxID = s.name(ps, "containerID"), s.name(ps, "sandboxID")
			c.Pod, c.Container = s.crioName(s.text(ps, "description"))
		}
		if c.ID != "" {
			s.emit(h, r, l.stamp, 0, c)
		}
	}
}

// readCrioStopping reads "Stopping container: ID (timeout: 30s)".
func readCrioStopping(s *session, h *hostState, r *record, l *logrusLine) {
	text := l.text(s)
	id, rest := s.hexID(text[len("Stopping container: "):])
	if id == "" {
		return
	}
	c := &event.ContainerState{ID: id, Op: event.ContainerKilling, Attempt: -1, ExitCode: -1}
	if d, ok := between(rest, "timeout: ", ")"); ok {
		c.Grace = duration(d)
	}
	c.Grace = min(max(c.Grace, 0), 1<<31*time.Second)
	s.emit(h, r, l.stamp, 0, c)
}

func readCrioNotReady(s *session, h *hostState, r *record, l *logrusLine) {
	s.emit(h, r, l.stamp, 0, &event.NodeState{Code: event.NodeNetworkNotReady, Message: clip(l.text(s), maxMessage)})
}
