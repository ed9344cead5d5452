package logs

import (
	"bytes"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// containerdMessages are the lines of containerd's CRI plugin that tie sandbox,
// container, pod and time together. At info level it never logs an address.
var containerdMessages = []logrusMessage{
	{"RunPodSandbox for ", readRunSandbox},
	{`StopPodSandbox for \"`, stopSandbox("stop-requested", "stopped")},
	{`TearDown network for sandbox \"`, readTearDown},
	{`RemovePodSandbox \"`, stopSandbox("", "removed")},
	{`RemovePodSandbox for \"`, readNothing},
	{`CreateContainer within sandbox \"`, readCreateContainer},
	{`StartContainer for \"`, readStartContainer},
	{`StopContainer for \"`, readStopContainer},
	{`Kill container \"`, readKillContainer},
	{`ExecSync for \"`, readExecSync},
	{"TaskExit event ", readTaskExit},
	{"shim disconnected", readShimGone},
	{"received exit event ", readTaskExit},
	{"cni result: ", readContainerdCNI},
	{"containerd successfully booted", readBooted},
	{"Stop CRI service", readRuntimeStop},
}

func readNothing(*session, *hostState, *record, *logrusLine) {}

// readRunSandbox reads the call, its success and its failure:
//
//	RunPodSandbox for &PodSandboxMetadata{Name:N,Uid:U,Namespace:NS,Attempt:0,} [returns sandbox id "ID" | failed, error]
//	RunPodSandbox for name:"N" uid:"U" namespace:"NS" attempt:1 …           (containerd >= 2.2)
func readRunSandbox(s *session, h *hostState, r *record, l *logrusLine) {
	text := l.text(s)
	c := &event.SandboxChange{Op: event.SandboxRequested}
	meta, rest := text, text
	if i := bytes.IndexByte(text, '}'); i >= 0 {
		meta, rest = text[:i], text[i+1:]
	}
	c.Pod = event.PodRef{Name: s.intern(protoField(meta, "Name", "name")), UID: s.intern(protoField(meta, "Uid", "uid")),
		Namespace: s.intern(protoField(meta, "Namespace", "namespace"))}
	if c.Pod.Name == "" {
		return
	}
	if n, _, ok := leadingUint(protoField(meta, "Attempt", "attempt")); ok {
		c.Attempt = int(min(n, 1<<30))
	}
	if id, ok := between(rest, `returns sandbox id "`, `"`); ok {
		c.Op, c.SandboxID = event.SandboxCreated, s.intern(id)
	} else if bytes.Contains(rest, []byte("failed, error")) {
		c.Op = event.SandboxFailed
		err := s.text(s.fields(l.rest), "error")
		c.Message = clip(err, maxMessage)
		_, c.SandboxID, _ = s.sandboxOfError(err)
	}
	s.emit(h, r, l.stamp, 0, c)
}

// protoField reads a field of a protobuf message as Go prints it ("Name:x,") or
// as prototext (`name:"x"`).
func protoField(b []byte, goName, textName string) []byte {
	for _, sep := range [...]string{"{", ","} {
		if v, ok := betweenAny(b, sep+goName+":", ",}"); ok {
			return v
		}
	}
	for _, sep := range [...]string{" ", ""} {
		if _, rest, ok := bytes.Cut(b, []byte(sep+textName+":")); ok {
			if v, quote := after(rest, `"`); quote {
				v, _, _ = cutByte(v, '"')
				return v
			}
			if i := bytes.IndexAny(rest, " ,}"); i >= 0 {
				rest = rest[:i]
			}
			return rest
		}
	}
	return nil
}

// betweenAny returns what stands between open and any of the closing bytes.
func betweenAny(b []byte, open, closing string) ([]byte, bool) {
	_, rest, ok := bytes.Cut(b, []byte(open))
	if !ok {
		return nil, false
	}
	if i := bytes.IndexAny(rest, closing); i >= 0 {
		rest = rest[:i]
	}
	return rest, true
}

// quotedID reads the id in the first pair of (escaped) quotes of a message.
func (s *session) quotedID(l *logrusLine) (id string, rest []byte) {
	text := l.text(s)
	_, b, ok := cutByte(text, '"')
	if !ok {
		return "", nil
	}
	id, rest = s.hexID(b)
	return id, bytes.TrimPrefix(rest, []byte(`"`))
}

// stopSandbox reads a call (reason asked) and its return (reason done).
func stopSandbox(asked, done string) func(*session, *hostState, *record, *logrusLine) {
	return func(s *session, h *hostState, r *record, l *logrusLine) {
		id, rest := s.quotedID(l)
		if id == "" {
			return
		}
		c := &event.SandboxChange{SandboxID: id, Op: event.SandboxStopped, Reason: asked, Attempt: -1}
		switch {
		case bytes.Contains(rest, []byte("returns successfully")):
			c.Reason = done
		case bytes.Contains(rest, []byte("failed")):
			c.Reason, c.Message = "failed", clip(s.text(s.fields(l.rest), "error"), maxMessage)
		case asked == "":
			return
		}
		if c.Reason == "removed" {
			c.Op = event.SandboxRemoved
		}
		s.emit(h, r, l.stamp, 0, c)
	}
}

// readTearDown reads the moment at which a sandbox gives its address back.
func readTearDown(s *session, h *hostState, r *record, l *logrusLine) {
	if id, _ := s.quotedID(l); id != "" {
		s.emit(h, r, l.stamp, 0, &event.SandboxChange{SandboxID: id, Op: event.SandboxStopped, Reason: "network-torn-down", Attempt: -1})
	}
}

// readCreateContainer reads the return of CreateContainer: it ties a container
// to its sandbox; the call before says nothing more.
func readCreateContainer(s *session, h *hostState, r *record, l *logrusLine) {
	sandbox, rest := s.quotedID(l)
	id, ok := between(rest, `returns container id "`, `"`)
	if sandbox == "" || !ok {
		return
	}
	c := &event.ContainerState{SandboxID: sandbox, ID: s.intern(id), Op: event.ContainerCreated, ExitCode: -1,
		Container: s.intern(protoField(rest, "Name", "name"))}
	if n, _, ok := leadingUint(protoField(rest, "Attempt", "attempt")); ok {
		c.Attempt = int(min(n, 1<<30))
	}
	s.emit(h, r, l.stamp, 0, c)
}

func readStartContainer(s *session, h *hostState, r *record, l *logrusLine) {
	id, rest := s.quotedID(l)
	if id == "" || !bytes.Contains(rest, []byte("returns successfully")) {
		return
	}
	s.emit(h, r, l.stamp, 0, &event.ContainerState{ID: id, Op: event.ContainerStarted, Attempt: -1, ExitCode: -1})
}

// readStopContainer reads `StopContainer for "ID" with timeout 30 (s)`.
func readStopContainer(s *session, h *hostState, r *record, l *logrusLine) {
	id, rest := s.quotedID(l)
	secs, ok := after(skipBlanks(rest), "with timeout ")
	if id == "" || !ok {
		return
	}
	n, _, _ := leadingUint(secs)
	s.emit(h, r, l.stamp, 0, &event.ContainerState{ID: id, Op: event.ContainerKilling, Attempt: -1, ExitCode: -1,
		Grace: time.Duration(min(n, 1<<31)) * time.Second})
}

// readKillContainer reads the kill after the grace period ran out.
func readKillContainer(s *session, h *hostState, r *record, l *logrusLine) {
	if id, _ := s.quotedID(l); id != "" {
		s.emit(h, r, l.stamp, 0, &event.ContainerState{ID: id, Op: event.ContainerKilling, Attempt: -1, ExitCode: -1, Reason: "grace-over"})
	}
}

func readExecSync(s *session, h *hostState, r *record, l *logrusLine) {
	id, rest := s.quotedID(l)
	if id == "" || !bytes.Contains(rest, []byte("failed")) {
		return
	}
	s.emit(h, r, l.stamp, 0, &event.ContainerState{ID: id, Op: event.ContainerExecFailed, Attempt: -1, ExitCode: -1,
		Message: clip(s.text(s.fields(l.rest), "error"), maxMessage)})
}

// readTaskExit reads the end of a container's or sandbox's first process, in the
// spellings of containerd 1.4 to 2.x. An exec's exit (its own id) is not one.
func readTaskExit(s *session, h *hostState, r *record, l *logrusLine) {
	text := l.text(s)
	ctr := protoField(text, "ContainerID", "container_id")
	id := protoField(text, "ID", "id")
	if len(ctr) == 0 || string(ctr) != string(id) {
		return
	}
	c := &event.ContainerState{ID: s.intern(ctr), IDMayBeSandbox: true, Op: event.ContainerFinished, Attempt: -1}
	c.ExitCode = exitCode(protoField(text, "ExitStatus", "exit_status"))
	if c.ExitCode < 0 { // a zero field is not printed
		c.ExitCode = 0
	}
	s.emit(h, r, l.stamp, 0, c)
}

// readShimGone reads `shim disconnected` id=…: the process of a container or a
// sandbox is gone.
func readShimGone(s *session, h *hostState, r *record, l *logrusLine) {
	id := s.name(s.fields(l.rest), "id")
	if id == "" {
		return
	}
	s.emit(h, r, l.stamp, 0, &event.ContainerState{ID: id, IDMayBeSandbox: true, Op: event.ContainerDied, Attempt: -1, ExitCode: -1, Reason: "shim-disconnected"})
}

// readContainerdCNI reads the debug line with the CNI result.
func readContainerdCNI(s *session, h *hostState, r *record, l *logrusLine) {
	ps := s.fields(l.rest)
	ip := &event.PodIP{SandboxID: s.name(ps, "podsandboxid"), Fact: event.IPAllocated, Via: "cni-result"}
	cniResult(l.text(s), ip)
	if ip.SandboxID != "" && len(ip.IPs) > 0 {
		s.emit(h, r, l.stamp, 0, ip)
	}
}

func readBooted(s *session, h *hostState, r *record, l *logrusLine) {
	s.emit(h, r, l.stamp, 0, &event.NodeState{Code: event.NodeRuntimeStarted, Message: clip(l.text(s), maxMessage)})
}

func readRuntimeStop(s *session, h *hostState, r *record, l *logrusLine) {
	s.emit(h, r, l.stamp, 0, &event.NodeState{Code: event.NodeRuntimeStopped, Message: clip(l.text(s), maxMessage)})
}
