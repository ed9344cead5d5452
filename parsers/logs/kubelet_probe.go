package logs

import (
	"bytes"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// probeMessages are the lines of the kubelet's prober package.
var probeMessages = messageTable{
	"Probe failed":                   {level: 1, read: probeLine(event.OutcomeFailed, "output")},
	"Probe errored":                  {level: 1, read: probeLine(event.OutcomeErrored, "err")},
	"Probe unknown without error":    {level: 1, read: probeLine(event.OutcomeUnknown, "output")},
	"Unsupported probe result":       {level: 1, read: probeLine(event.OutcomeUnknown, "output")},
	"Probe succeeded":                {level: 3, read: probeLine(event.OutcomeSucceeded, "output")},
	"Probe succeeded with a warning": {level: 3, read: probeLine(event.OutcomeWarning, "output")},

	"HTTP-Probe Host":     {level: 4, read: probeTarget("")},
	"HTTP-Probe":          {level: 4, read: probeTarget("")},
	"TCP-Probe Host":      {level: 4, read: probeTarget("tcp")},
	"TCP-Probe":           {level: 4, read: probeTarget("tcp")},
	"GRPC-Probe":          {level: 4, read: probeTarget("grpc")},
	"Exec-Probe runProbe": {level: 4, read: probeTarget("exec")},
	"SyncLoop (probe)":    {level: 1, read: readProbeState},
	"No status for pod":   {level: 3},
	"HTTP-Probe Headers":  {level: 4},
	"Pod is terminated, exiting probe worker":                   {level: 3},
	"Probe target container not found":                          {level: 3},
	"Non-running container probed":                              {level: 3},
	"Pod deletion requested, setting probe result to success":   {level: 3},
	"Pod deletion requested before container has fully started": {level: 0},
	"Triggerd Probe by manual run":                              {level: 4},
	"Triggered Probe by manual run":                             {level: 4},
	"Readiness probe already exists for container":              {level: 8},
	"Liveness probe already exists for container":               {level: 8},
	"Startup probe already exists for container":                {level: 8},
	"Container readiness changed before pod has synced":         {level: 0},
	"Container readiness changed for unknown container":         {level: 0},
	"Container startup changed before pod has synced":           {level: 0},
	"Container startup changed for unknown container":           {level: 0},
	"Unable to write all bytes from execInContainer":            {level: 0},
}

// probeFree are the prober's lines up to 1.20, and OpenShift's own line.
var probeFree = []freeMessage{
	{"Readiness probe for ", message{level: 1, read: oldProbe(event.Readiness)}},
	{"Liveness probe for ", message{level: 1, read: oldProbe(event.Liveness)}},
	{"Startup probe for ", message{level: 1, read: oldProbe(event.Startup)}},
	{"TCP-Probe Host: ", message{level: 4, read: oldTCPTarget}},
	{"HTTP-Probe Host: ", message{level: 4, read: oldHTTPTarget}},
	{"Exec-Probe Pod: ", message{level: 4, read: oldExecTarget}},
	{"SyncLoop (container unhealthy): ", message{level: 1, read: oldProbeState(event.ProbeUnknown, "unhealthy")}},
	{"SyncLoop (container ready): ", message{level: 1, read: oldProbeState(event.Readiness, "ready")}},
	{"SyncLoop (container started): ", message{level: 1, read: oldProbeState(event.Startup, "started")}},
	{"Probe failed for ", message{level: 4}},
	{"Probe succeeded for ", message{level: 4}},
	{"Probe terminated redirects for ", message{level: 4}},
	{"interesting pod/", message{level: 0, read: patchProber}},
}

// probeTypes are spelled with a capital in the keys.
func probeType(b []byte) event.ProbeType {
	switch string(b) {
	case "Readiness", "readiness":
		return event.Readiness
	case "Liveness", "liveness":
		return event.Liveness
	case "Startup", "startup":
		return event.Startup
	}
	return event.ProbeUnknown
}

// probeLine reads one attempt of kubelet >= 1.21; key names the key that holds
// the output or error.
func probeLine(o event.Outcome, key string) func(*session, *hostState, *record, *klogLine) {
	return func(s *session, h *hostState, r *record, k *klogLine) {
		ps := k.fields(s)
		pod, ok := s.podOf(ps)
		if !ok {
			s.cutLine(r)
			return
		}
		p := &event.ProbeResult{Pod: pod, Container: s.name(ps, "containerName"),
			Probe: probeType(s.text(ps, "probeType")), Outcome: o}
		p.Output, p.OutputBytes = output(s.text(ps, key))
		if out := get(ps, key); out != nil && out.cut && out.kind == quoted {
			// A half address must not be taken for a whole one.
			p.Output = strings.TrimRight(p.Output, ">.…") + "…"
		}
		if o == event.OutcomeFailed {
			h.dropDuplicate(r.pid, p)
		}
		s.emit(h, r, k.time(s, h, r), k.pid, p)
	}
}

// output cuts the text of an attempt to what an event may carry. The line break
// at its end is lost in some versions of klog, so it goes in all.
func output(b []byte) (string, int) {
	b = bytes.TrimRight(b, "\n")
	return clip(b, maxOutput), len(b)
}

// oldProbe reads one attempt of kubelet <= 1.20:
//
//	Readiness probe for "pod_ns(uid):container" failed (failure): OUTPUT
func oldProbe(t event.ProbeType) func(*session, *hostState, *record, *klogLine) {
	return func(s *session, h *hostState, r *record, k *klogLine) {
		b, ok := after(k.rest, `"`)
		if !ok {
			return
		}
		pod, b, ok := s.oldPod(b)
		if !ok {
			s.cutLine(r)
			return
		}
		ctr, b, ok := cutByte(bytes.TrimPrefix(b, []byte(":")), '"')
		if !ok {
			s.cutLine(r)
			return
		}
		p := &event.ProbeResult{Pod: pod, Container: s.intern(ctr), Probe: t}
		var text []byte
		switch {
		case hasText(b, " failed (", &text):
			p.Outcome = event.OutcomeFailed
			if _, rest, ok := bytes.Cut(text, []byte("): ")); ok {
				text = rest
			} else {
				text = nil
			}
		case hasText(b, " errored: ", &text):
			p.Outcome = event.OutcomeErrored
		case hasText(b, " succeeded with a warning: ", &text):
			p.Outcome = event.OutcomeWarning
			s.prove(r, 3)
		case hasText(b, " succeeded", &text):
			p.Outcome, text = event.OutcomeSucceeded, nil
			s.prove(r, 3)
		default:
			s.cutLine(r)
			return
		}
		if p.Outcome != event.OutcomeSucceeded && s.openRaw(h, r) {
			return
		}
		p.Output, p.OutputBytes = output(text)
		if p.Outcome == event.OutcomeFailed {
			h.dropDuplicate(r.pid, p)
		}
		s.emit(h, r, k.time(s, h, r), k.pid, p)
	}
}

// hasText is after with the remainder as an out parameter, for switches.
func hasText(b []byte, prefix string, rest *[]byte) bool {
	t, ok := after(b, prefix)
	if ok {
		*rest = t
	}
	return ok
}

// probeTarget reads the V(4) line that announces the target of the attempt that
// follows. It names no pod, except for exec.
func probeTarget(scheme string) func(*session, *hostState, *record, *klogLine) {
	return func(s *session, h *hostState, r *record, k *klogLine) {
		ps := k.fields(s)
		p := &event.ProbeTarget{Scheme: scheme, Host: s.name(ps, "host"), Container: s.name(ps, "containerName"),
			Probe: probeType(s.text(ps, "probeType"))}
		if scheme == "" {
			p.Scheme = s.intern(bytes.ToLower(s.text(ps, "scheme")))
		}
		if port, ok := allDigits(s.text(ps, "port")); ok {
			p.Port = int(min(port, 1<<16))
		}
		p.Path = clip(s.text(ps, "path"), maxMessage)
		p.Timeout = duration(s.text(ps, "timeout"))
		if scheme == "exec" {
			p.Path = clip(s.text(ps, "execCommand"), maxMessage)
			p.Pod, _ = s.podOf(ps)
		}
		s.emit(h, r, k.time(s, h, r), k.pid, p)
	}
}

// duration reads a Go duration, or a bare number of seconds; zero when it is
// neither.
func duration(b []byte) time.Duration {
	if n, ok := allDigits(b); ok {
		return time.Duration(min(n, 1<<31)) * time.Second
	}
	d, err := time.ParseDuration(string(b))
	if err != nil {
		return 0
	}
	return d
}

// readProbeState reads "SyncLoop (probe)": a threshold was crossed. Until 1.31
// a pod that became unready is printed with an empty status.
func readProbeState(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	pod, ok := s.podOf(ps)
	if !ok {
		s.cutLine(r)
		return
	}
	p := &event.ProbeState{Pod: pod, Probe: probeType(s.text(ps, "probe")), Status: s.name(ps, "status")}
	if p.Status == "" {
		p.Status = "not ready"
	}
	s.emit(h, r, k.time(s, h, r), k.pid, p)
}

// oldProbeState reads `SyncLoop (container unhealthy): "pod_ns(uid)"`; it does
// not say which probe (liveness or startup).
func oldProbeState(t event.ProbeType, status string) func(*session, *hostState, *record, *klogLine) {
	return func(s *session, h *hostState, r *record, k *klogLine) {
		pod, _, ok := s.oldPod(bytes.TrimPrefix(k.rest, []byte(`"`)))
		if !ok {
			s.cutLine(r)
			return
		}
		s.emit(h, r, k.time(s, h, r), k.pid, &event.ProbeState{Pod: pod, Probe: t, Status: status})
	}
}

// oldTCPTarget reads "TCP-Probe Host: 10.1.2.3, Port: 8080, Timeout: 1s".
func oldTCPTarget(s *session, h *hostState, r *record, k *klogLine) {
	host, rest, _ := bytes.Cut(k.rest, []byte(", Port: "))
	port, rest, _ := leadingUint(rest)
	p := &event.ProbeTarget{Scheme: "tcp", Host: s.intern(host), Port: int(min(port, 1<<16))}
	if t, ok := after(rest, ", Timeout: "); ok {
		p.Timeout = duration(t)
	}
	s.emit(h, r, k.time(s, h, r), k.pid, p)
}

// oldHTTPTarget reads "HTTP-Probe Host: http://10.1.2.3, Port: 8080, Path: /x".
func oldHTTPTarget(s *session, h *hostState, r *record, k *klogLine) {
	host, rest, _ := bytes.Cut(k.rest, []byte(", Port: "))
	port, rest, _ := leadingUint(rest)
	p := &event.ProbeTarget{Scheme: "http", Port: int(min(port, 1<<16))}
	if scheme, h, ok := bytes.Cut(host, []byte("://")); ok {
		p.Scheme, host = s.intern(bytes.ToLower(scheme)), h
	}
	p.Host = s.intern(host)
	if path, ok := after(rest, ", Path: "); ok {
		p.Path = clip(path, maxMessage)
	}
	s.emit(h, r, k.time(s, h, r), k.pid, p)
}

// oldExecTarget reads "Exec-Probe Pod: name_ns(uid), Container: {...}, Command:
// [cat /tmp/health]"; the container is printed whole by some versions.
func oldExecTarget(s *session, h *hostState, r *record, k *klogLine) {
	p := &event.ProbeTarget{Scheme: "exec"}
	b := k.rest
	if pod, rest, ok := s.oldPod(b); ok {
		p.Pod, b = pod, rest
	} else if name, rest, ok := cutByte(b, ','); ok {
		p.Pod, b = event.PodRef{Name: s.intern(name)}, rest
	}
	if _, c, ok := bytes.Cut(b, []byte("Container: ")); ok {
		if i := bytes.IndexAny(c, ", {"); i > 0 {
			p.Container = s.intern(c[:i])
		}
	}
	if i := bytes.LastIndex(b, []byte("Command: ")); i >= 0 {
		p.Path = clip(b[i+len("Command: "):], maxMessage)
	}
	s.emit(h, r, k.time(s, h, r), k.pid, p)
}
