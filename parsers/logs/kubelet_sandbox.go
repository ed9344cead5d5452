package logs

import (
	"bytes"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// sandboxMessages are the kubelet's lines about sandboxes and containers.
var sandboxMessages = messageTable{
	"No sandbox for pod can be found. Need to start a new one":           {level: 2, read: sandboxLine(event.SandboxNeeded, "none")},
	"No ready sandbox for pod can be found. Need to start a new one":     {level: 2, read: sandboxLine(event.SandboxLost, "not-ready")},
	"Multiple sandboxes are ready for Pod. Need to reconcile them":       {level: 2, read: sandboxLine(event.SandboxLost, "multiple")},
	"Sandbox for pod has changed. Need to start a new one":               {level: 2, read: sandboxLine(event.SandboxLost, "changed")},
	"Sandbox for pod has no IP address. Need to start a new one":         {level: 2, read: sandboxLine(event.SandboxLost, "no-ip")},
	"Created PodSandbox for pod":                                         {level: 4, read: sandboxLine(event.SandboxCreated, "")},
	"Creating PodSandbox for pod":                                        {level: 4},
	"Stopping PodSandbox for pod, will start new one":                    {level: 4},
	"Stopping PodSandbox for pod, because all other containers are dead": {level: 4},
	"Removing sandbox": {level: 4},
	"Pod Sandbox status doesn't have network information, cannot report IPs": {level: 0, read: sandboxLine(event.SandboxNoIP, "")},
	"Determined the ip for pod after sandbox changed":                        {level: 4, read: readDeterminedIP},
	"Creating hosts mount for container":                                     {level: 4, read: readHostsMount},

	"RunPodSandbox from runtime service failed":  {level: 0, read: sandboxFailed},
	"Failed to create sandbox for pod":           {level: 0, read: sandboxFailed},
	"CreatePodSandbox for pod failed":            {level: 0, read: sandboxFailed},
	"StopPodSandbox from runtime service failed": {level: 0, read: readStopFailed},

	"Message for Container of pod":                   {level: 2, read: readContainerMessage},
	"Killing container with a grace period":          {level: 2, read: readKilling},
	"Killing container with a grace period override": {level: 2, read: readKilling},
	"ExecSync cmd from runtime service failed":       {level: 0, read: readExecFailed},
	"Error syncing pod, skipping":                    {level: 0, read: readSyncError},
	"Creating container in pod":                      {level: 4},
	"RemoveContainer":                                {level: 2},
	"Removing container":                             {level: 4},
}

var sandboxFree = []freeMessage{
	{"No sandbox for pod ", message{level: 2, read: oldSandbox(event.SandboxNeeded, "none")}},
	{"No ready sandbox for pod ", message{level: 2, read: oldSandbox(event.SandboxLost, "not-ready")}},
	{"Multiple sandboxes are ready for Pod ", message{level: 2, read: oldSandbox(event.SandboxLost, "multiple")}},
	{"Sandbox for pod ", message{level: 2, read: oldSandboxReason}},
	{"Created PodSandbox ", message{level: 4, read: oldSandboxCreated}},
	{"Determined the ip ", message{level: 4, read: oldDeterminedIP}},
	{"Pod Sandbox status doesn't have network information", message{level: 0, read: oldSandboxNoIP}},
	{"RunPodSandbox from runtime service failed: ", message{level: 0, read: oldSandboxFailed}},
	{"CreatePodSandbox for pod ", message{level: 0, read: oldSandboxFailed}},
	{"createPodSandbox for pod ", message{level: 0, read: oldSandboxFailed}},
	{"StopPodSandbox ", message{level: 0, read: oldStopFailed}},
	{"Container ", message{level: 2, read: oldContainerMessage}},
	{"Killing container ", message{level: 2, read: oldKilling}},
	{"ExecSync ", message{level: 0, read: oldExecFailed}},
	{"Error syncing pod ", message{level: 0, read: oldSyncError}},
}

// sandboxLine reads a line that says one thing about the sandbox of a pod. For
// a pod that is new, "No sandbox for pod can be found" is the normal beginning.
func sandboxLine(op event.SandboxOp, reason string) func(*session, *hostState, *record, *klogLine) {
	return func(s *session, h *hostState, r *record, k *klogLine) {
		ps := k.fields(s)
		pod, ok := s.podOf(ps)
		if !ok && op != event.SandboxNoIP {
			s.cutLine(r)
			return
		}
		s.emit(h, r, k.time(s, h, r), k.pid, &event.SandboxChange{Pod: pod, Op: op, Reason: reason, Attempt: -1,
			SandboxID: s.name(ps, "podSandboxID")})
	}
}

// readDeterminedIP reads IPs= pod= (V4): the addresses that syncPod knows.
func readDeterminedIP(s *session, h *hostState, r *record, k *klogLine) {
	s.emitPodIPs(h, r, k, "IPs", "kubelet-ip")
}

// readHostsMount reads podIPs= pod= containerName= (V4): a container is about to
// start with these addresses in its hosts file.
func readHostsMount(s *session, h *hostState, r *record, k *klogLine) {
	s.emitPodIPs(h, r, k, "podIPs", "kubelet-hosts")
}

func (s *session) emitPodIPs(h *hostState, r *record, k *klogLine, key, via string) {
	ps := k.fields(s)
	pod, ok := s.podOf(ps)
	list := get(ps, key)
	if !ok || list == nil || list.cut {
		s.cutLine(r)
		return
	}
	ip := &event.PodIP{Pod: pod, Fact: event.IPObserved, Via: via}
	for item := range listItems(s.unescape(list)) {
		if a, ok := ipAddr(item); ok {
			ip.IPs = append(ip.IPs, a)
		}
	}
	if len(ip.IPs) > 0 {
		s.emit(h, r, k.time(s, h, r), k.pid, ip)
	}
}

// sandboxFailed reads the three lines that one failure prints: err= alone, then
// err= with pod= twice. One event comes of them: the first that names the pod.
func sandboxFailed(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	pod, _ := s.podOf(ps)
	s.emitSandboxFailed(h, r, k, pod, s.text(ps, "err"))
}

func (s *session) emitSandboxFailed(h *hostState, r *record, k *klogLine, pod event.PodRef, err []byte) {
	c := &event.SandboxChange{Pod: pod, Op: event.SandboxFailed, Attempt: -1, Message: clip(err, maxMessage)}
	named, id, attempt := s.sandboxOfError(err)
	if c.Pod.Name == "" {
		c.Pod = named
	}
	if c.Pod.UID == "" && c.Pod.Name == named.Name {
		c.Pod.UID = named.UID
	}
	c.SandboxID, c.Attempt = id, attempt
	at := k.time(s, h, r)
	if c.Pod.Name == "" || h.lastFailure.same(c, at) {
		return
	}
	h.lastFailure = sandboxFailure{pod: c.Pod.Name, message: c.Message, at: at.At}
	s.emit(h, r, at, k.pid, c)
}

// sandboxFailure remembers a failure to recognise its repetition.
type sandboxFailure struct {
	pod, message string
	at           event.Nanos
}

// repeatWithin is how close together the lines of one failure are.
const repeatWithin = time.Second

func (f *sandboxFailure) same(c *event.SandboxChange, at event.Stamp) bool {
	return f.pod == c.Pod.Name && f.message == c.Message && at.At.Sub(f.at).Abs() < repeatWithin
}

// sandboxOfError finds what an error text of the runtime says about the sandbox
// it concerns: `sandbox "ID"` (containerd), `k8s_POD_NS_UID_ATTEMPT(ID)` (CRI-O),
// `sandbox container "ID" network for pod "P"` (dockershim).
func (s *session) sandboxOfError(err []byte) (pod event.PodRef, id string, attempt int) {
	attempt = -1
	if _, rest, ok := bytes.Cut(err, []byte("pod network sandbox k8s_")); ok {
		if name, rest, ok := cutByte(rest, '('); ok {
			if hex, _, ok := cutByte(rest, ')'); ok {
				id = s.intern(hex)
			}
			parts := bytes.Split(name, []byte("_"))
			if n := len(parts); n >= 4 {
				pod = event.PodRef{Name: s.intern(parts[0]), Namespace: s.intern(parts[1]), UID: s.intern(parts[2])}
				if a, ok := allDigits(parts[3]); ok {
					attempt = int(min(a, 1<<30))
				}
			}
		}
		return pod, id, attempt
	}
	for _, mark := range [...]string{`for sandbox "`, `sandbox container "`, `sandbox "`} {
		if hex, ok := between(err, mark, `"`); ok && len(hex) == 64 {
			return pod, s.intern(hex), attempt
		}
	}
	return pod, "", attempt
}

// readStopFailed reads a failed tear-down: the sandbox and its address may leak.
func readStopFailed(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	err := s.text(ps, "err")
	c := &event.SandboxChange{Op: event.SandboxStopped, Reason: "failed", Attempt: -1, Message: clip(err, maxMessage)}
	c.Pod, _, c.Attempt = s.sandboxOfError(err)
	c.SandboxID = s.name(ps, "podSandboxID")
	s.emit(h, r, k.time(s, h, r), k.pid, c)
}

// readContainerMessage reads the kubelet's decision to restart a container.
func readContainerMessage(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	pod, ok := s.podOf(ps)
	if !ok {
		s.cutLine(r)
		return
	}
	c := &event.ContainerState{Pod: pod, Container: s.name(ps, "containerName"), Op: event.ContainerUnhealthy, Attempt: -1, ExitCode: -1}
	if p := get(ps, "containerStatusID"); p != nil && !p.cut {
		c.ID = s.intern(plegField(s.unescape(p), "ID"))
	}
	s.emitRestart(h, r, k, c, s.text(ps, "containerMessage"))
}

// emitRestart emits the decision to restart a container; unless a probe is the
// reason, it is a kill like any other.
func (s *session) emitRestart(h *hostState, r *record, k *klogLine, c *event.ContainerState, text []byte) {
	c.Probe, c.Message = probeInMessage(text), clip(text, maxMessage)
	if c.Probe == event.ProbeUnknown {
		c.Op, c.Reason = event.ContainerKilling, "restart"
	}
	s.emit(h, r, k.time(s, h, r), k.pid, c)
}

// probeInMessage finds which probe "Container c failed liveness probe, …" means.
func probeInMessage(b []byte) event.ProbeType {
	word, _ := between(b, " failed ", " probe")
	return probeType(word)
}

// readKilling reads the start of a kill: gracePeriod is in seconds.
func readKilling(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	pod, ok := s.podOf(ps)
	if !ok {
		s.cutLine(r)
		return
	}
	c := &event.ContainerState{Pod: pod, Container: s.name(ps, "containerName"), Op: event.ContainerKilling, Attempt: -1, ExitCode: -1,
		ID: s.intern(withoutScheme(s.text(ps, "containerID")))}
	if n, ok := allDigits(s.text(ps, "gracePeriod")); ok {
		c.Grace = time.Duration(min(n, 1<<31)) * time.Second
	}
	s.emit(h, r, k.time(s, h, r), k.pid, c)
}

// withoutScheme drops "containerd://" from a container id.
func withoutScheme(b []byte) []byte {
	if _, id, ok := bytes.Cut(b, []byte("://")); ok {
		return id
	}
	return b
}

// readExecFailed reads a failed ExecSync: an exec probe that could not be run,
// or ran into its timeout.
func readExecFailed(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	s.emit(h, r, k.time(s, h, r), k.pid, &event.ContainerState{ID: s.name(ps, "containerID"), Op: event.ContainerExecFailed,
		Attempt: -1, ExitCode: -1, Message: clip(s.text(ps, "err"), maxMessage)})
}

// readSyncError reads "Error syncing pod, skipping": a crash loop's back-off,
// and the line that carries the UID when little else does.
func readSyncError(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	pod, ok := s.podOf(ps)
	if !ok {
		s.cutLine(r)
		return
	}
	s.emitSyncError(h, r, k, pod, s.text(ps, "err"))
}

// emitSyncError tells a back-off apart. Errors of sandboxes have lines of their
// own and are not repeated.
func (s *session) emitSyncError(h *hostState, r *record, k *klogLine, pod event.PodRef, err []byte) {
	_, rest, ok := bytes.Cut(err, []byte("CrashLoopBackOff"))
	if !ok {
		if bytes.Contains(err, []byte("network is not ready")) || bytes.Contains(err, []byte("NetworkPluginNotReady")) {
			s.emit(h, r, k.time(s, h, r), k.pid, &event.NodeState{Code: event.NodeNetworkNotReady, Pod: pod, Message: clip(err, maxMessage)})
		}
		return
	}
	c := &event.ContainerState{Pod: pod, Op: event.ContainerBackOff, Attempt: -1, ExitCode: -1, Reason: "CrashLoopBackOff", Message: clip(err, maxMessage)}
	if name, ok := between(rest, "container=", " "); ok {
		c.Container = s.intern(name)
	}
	if wait, ok := between(rest, "back-off ", " "); ok {
		c.Grace = duration(wait)
	}
	s.emit(h, r, k.time(s, h, r), k.pid, c)
}
