package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerDialect(dialect{name: "systemd", order: 2, read: readSystemd})

// readSystemd reads what systemd and journald say of the units that matter here,
// and of gaps in the journal. These programs are known by their identifier.
func readSystemd(s *session, h *hostState, r *record) bool {
	if len(r.ident) < 7 || r.ident[0] != 's' {
		return false
	}
	switch string(r.ident) {
	case "systemd":
		s.unitLine(h, r)
	case "systemd-journald", "systemd-journal":
		s.journaldLine(h, r)
	case "systemd-timesyncd":
		s.clockLine(h, r)
	default:
		return false
	}
	return true
}

// unitNames are words in a unit's name or description that tell what it is.
var unitNames = []struct {
	word             string
	started, stopped string
}{
	{"kubelet", event.NodeKubeletStarted, event.NodeKubeletStopped},
	{"kubernetes node", event.NodeKubeletStarted, event.NodeKubeletStopped},
	{"lightweight kubernetes", event.NodeKubeletStarted, event.NodeKubeletStopped},
	{"k3s", event.NodeKubeletStarted, event.NodeKubeletStopped},
	{"rke2", event.NodeKubeletStarted, event.NodeKubeletStopped},
	{"containerd", event.NodeRuntimeStarted, event.NodeRuntimeStopped},
	{"cri-o", event.NodeRuntimeStarted, event.NodeRuntimeStopped},
	{"crio.service", event.NodeRuntimeStarted, event.NodeRuntimeStopped},
	{"open container initiative daemon", event.NodeRuntimeStarted, event.NodeRuntimeStopped},
	{"docker application container engine", event.NodeRuntimeStarted, event.NodeRuntimeStopped},
	{"docker.service", event.NodeRuntimeStarted, event.NodeRuntimeStopped},
}

// unitLine reads "Started kubelet.service - Kubernetes Kubelet." and the like;
// "Starting" and "Stopping" say nothing that their sequel does not.
func (s *session) unitLine(h *hostState, r *record) {
	if _, ok := after(r.msg, "Time has been changed"); ok {
		s.clockLine(h, r)
		return
	}
	up, down := false, false
	for _, p := range [...]string{"Started ", "Stopped ", "Failed to start "} {
		if bytes.HasPrefix(r.msg, []byte(p)) {
			up, down = p == "Started ", p != "Started "
		}
	}
	// "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION"
	exited := bytes.Contains(r.msg, []byte(".service: Main process exited"))
	if !up && !down && !exited {
		return
	}
	lower := bytes.ToLower(r.msg)
	// Every container has a scope named after the runtime, and every volume a mount
	// under the kubelet's directory.
	if bytes.Contains(lower, []byte(".scope")) || bytes.Contains(lower, []byte("mount")) {
		return
	}
	for _, u := range unitNames {
		if !bytes.Contains(lower, []byte(u.word)) {
			continue
		}
		code := u.stopped
		if up {
			code = u.started
		}
		s.emit(h, r, event.Stamp{}, 0, &event.NodeState{Code: code, Message: clip(r.msg, maxMessage)})
		return
	}
}

// journaldLine reads gaps: "Suppressed 1234 messages from kubelet.service",
// "Missed 17 kernel messages". Absence of a line proves nothing then.
func (s *session) journaldLine(h *hostState, r *record) {
	code := ""
	var n int64
	if rest, ok := after(r.msg, "Suppressed "); ok {
		code = "suppressed"
		n, _, _ = leadingUint(rest)
	} else if rest, ok := after(r.msg, "Missed "); ok {
		code = "missed"
		n, _, _ = leadingUint(rest)
	} else if _, ok := after(r.msg, "Forwarding to syslog missed "); ok {
		return
	}
	if code != "" {
		s.emit(h, r, event.Stamp{}, 0, &event.Notice{Code: code, Message: clip(r.msg, maxMessage), Value: n})
	}
}

// clockLine notes that the wall clock was set.
func (s *session) clockLine(h *hostState, r *record) {
	for _, p := range [...]string{"Time has been changed", "System clock time unset or jumped backwards", "Initial clock synchronization", "Contacted time server"} {
		if bytes.HasPrefix(r.msg, []byte(p)) {
			if p == "Contacted time server" {
				return
			}
			s.emit(h, r, event.Stamp{}, 0, &event.NodeState{Code: event.NodeTimeChanged, Message: clip(r.msg, maxMessage)})
			return
		}
	}
}
