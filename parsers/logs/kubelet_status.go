package logs

import (
	"bytes"
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// statusMessages are the lines of the kubelet's status manager and its events.
var statusMessages = messageTable{
	"Patch status for pod":                                       {level: 3, read: readStatusPatch},
	"Status for pod updated successfully":                        {level: 3, read: readStatusWritten},
	"Ignoring same status for pod":                               {level: 3},
	"Status for pod is up-to-date":                               {level: 3},
	"Failed to update status for pod":                            {level: 0, read: readStatusFailed},
	"Failed to get status for pod":                               {level: 0, read: readStatusFailed},
	"Pod was deleted and then recreated, skipping status update": {level: 2, read: readRecreated},
	"Event occurred":                                             {level: 3, read: readEventOccurred},
	"Observed pod startup duration":                              {level: 0, read: readStartupDuration},
}

var statusFree = []freeMessage{
	{"Patch status for pod ", message{level: 3, read: oldStatusPatch}},
	{"Status for pod ", message{level: 3, read: oldStatusWritten}},
	{"Failed to update status for pod ", message{level: 0, read: oldStatusFailed}},
	{"Failed to get status for pod ", message{level: 0, read: oldStatusFailed}},
	{"Pod ", message{level: 2, read: oldRecreated}},
	{"Event(v1.ObjectReference{", message{level: 3, read: oldEventOccurred}},
}

// ipAddr reads an address, dropping quotes and a prefix length.
func ipAddr(b []byte) (netip.Addr, bool) {
	b = bytes.Trim(b, `"'[] `)
	if i := bytes.IndexByte(b, '/'); i >= 0 {
		b = b[:i]
	}
	if len(b) < 2 || len(b) > 64 {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(string(b))
	if err != nil {
		return netip.Addr{}, false
	}
	return a.Unmap().WithZone(""), true
}

// readStatusPatch reads the strategic merge patch that the kubelet sends for a
// pod's status: podIP and podIPs where they changed.
func readStatusPatch(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	pod, ok := s.podOf(ps)
	if !ok {
		s.cutLine(r)
		return
	}
	patch := s.text(ps, "patch")
	s.emitStatusIPs(h, r, k, pod, patch)
	s.emitStatusWrite(h, r, k, pod, patch)
}

// emitStatusWrite emits that the API took a patch of a pod's status. The line is
// written once the answer is there, so it follows the API server's own record.
func (s *session) emitStatusWrite(h *hostState, r *record, k *klogLine, pod event.PodRef, patch []byte) {
	s.emit(h, r, k.time(s, h, r), k.pid, &event.PodSync{Op: event.SyncStatus, Source: "status-patch", Pod: pod, Newest: newestIn(patch)})
}

// newestIn is the latest time that the kubelet put into a status: when a
// condition changed, and when it took the pod.
func newestIn(status []byte) event.Nanos {
	var newest event.Nanos
	for _, key := range [...]string{`"lastTransitionTime":"`, `"startTime":"`} {
		for rest := status; ; {
			_, after, ok := bytes.Cut(rest, []byte(key))
			if !ok {
				break
			}
			if st, _, ok := isoStamp(after); ok && st.Missing == 0 {
				newest = max(newest, st.At)
			}
			rest = after
		}
	}
	return newest
}

// readStatusWritten reads the whole status, JSON since 1.26, a Go struct before.
func readStatusWritten(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	pod, ok := s.podOf(ps)
	if !ok {
		s.cutLine(r)
		return
	}
	s.emitStatusIPs(h, r, k, pod, s.text(ps, "status"))
}

// oldStatusPatch reads `Patch status for pod "p_ns(uid)" with "JSON"`.
func oldStatusPatch(s *session, h *hostState, r *record, k *klogLine) {
	if pod, status := s.oldStatus(h, r, k); status != nil {
		s.emitStatusWrite(h, r, k, pod, status)
	}
}

// oldStatusWritten reads `Status for pod "p_ns(uid)" updated successfully: (3,
// {Phase:Running … PodIP:10.1.2.3 PodIPs:[{IP:10.1.2.3}] …})`.
func oldStatusWritten(s *session, h *hostState, r *record, k *klogLine) {
	s.oldStatus(h, r, k)
}

// oldStatus returns the pod and the status as text, nil for a line that was cut.
func (s *session) oldStatus(h *hostState, r *record, k *klogLine) (event.PodRef, []byte) {
	pod, rest, ok := s.quotedPod(k.rest)
	if !ok {
		s.cutLine(r)
		return pod, nil
	}
	if bytes.Contains(rest, []byte(`\"podIP`)) || bytes.Contains(rest, []byte(`Time\":`)) {
		s.scratch = appendUnquoted(s.scratch[:0], rest)
		rest = s.scratch
	}
	s.emitStatusIPs(h, r, k, pod, rest)
	return pod, rest
}

// emitStatusIPs emits the addresses of a pod status or of a patch to one.
func (s *session) emitStatusIPs(h *hostState, r *record, k *klogLine, pod event.PodRef, status []byte) {
	ips := statusIPs(status)
	if len(ips) > 0 {
		s.emit(h, r, k.time(s, h, r), k.pid, &event.PodIP{Pod: pod, IPs: ips, Fact: event.IPObserved, Via: "status-patch"})
	}
}

// statusIPs finds podIP and podIPs in a status in JSON, in a merge patch, or as
// a printed Go struct. Addresses that the patch deletes are left out.
func statusIPs(b []byte) []netip.Addr {
	var ips []netip.Addr
	add := func(v []byte) {
		if a, ok := ipAddr(v); ok {
			for _, have := range ips {
				if have == a {
					return
				}
			}
			ips = append(ips, a)
		}
	}
	if ip, ok := between(b, `"podIP":"`, `"`); ok {
		add(ip)
	} else if ip, ok := between(b, " PodIP:", " "); ok {
		add(ip)
	}
	list := b
	if _, rest, ok := bytes.Cut(b, []byte(`"podIPs":[`)); ok {
		list = rest
	} else if _, rest, ok := bytes.Cut(b, []byte(" PodIPs:[")); ok {
		list = rest
	} else {
		return ips
	}
	for len(list) > 0 && (list[0] == '{' || list[0] == ',' || list[0] == ' ') {
		if list[0] != '{' {
			list = list[1:]
			continue
		}
		end := closingBracket(list)
		if end < 0 {
			break
		}
		item := list[:end]
		list = list[end:]
		if bytes.Contains(item, []byte(`"$patch":"delete"`)) {
			continue
		}
		if ip, ok := between(item, `"ip":"`, `"`); ok {
			add(ip)
		} else if ip, ok := after(item, "{IP:"); ok {
			add(bytes.TrimSuffix(ip, []byte("}")))
		}
	}
	return ips
}

// readStatusFailed notes that the kubelet could not reach the API server for a
// pod's status: what the API shows is then late.
func readStatusFailed(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	pod, _ := s.podOf(ps)
	err := s.text(ps, "err")
	if err == nil {
		err = s.text(ps, "error")
	}
	// The patch itself is quoted first; the reason stands at the end.
	s.emit(h, r, k.time(s, h, r), k.pid, &event.NodeState{Code: event.NodeStatusFailed, Pod: pod, Message: clipTail(err, maxMessage)})
}

// oldStatusFailed reads `Failed to update status for pod "p_ns(uid)": ERR`.
func oldStatusFailed(s *session, h *hostState, r *record, k *klogLine) {
	pod, rest, _ := s.quotedPod(k.rest)
	s.emit(h, r, k.time(s, h, r), k.pid, &event.NodeState{Code: event.NodeStatusFailed, Pod: pod,
		Message: clipTail(bytes.TrimPrefix(rest, []byte(": ")), maxMessage)})
}

// clipTail keeps the end of b where it is too long.
func clipTail(b []byte, limit int) string {
	if len(b) > limit {
		b = b[len(b)-limit:]
		for len(b) > 0 && b[0]&0xC0 == 0x80 {
			b = b[1:]
		}
	}
	return clip(b, limit)
}

// readRecreated reads a pod of the same name with another UID (static pods,
// StatefulSets).
func readRecreated(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	pod, ok := s.podOf(ps)
	if !ok {
		s.cutLine(r)
		return
	}
	s.emit(h, r, k.time(s, h, r), k.pid, &event.PodSync{Op: event.SyncRecreated, Pod: pod, OldUID: s.uid(ps, "oldPodUID")})
}

// oldRecreated reads `Pod "name" was deleted and then recreated, skipping status
// update; old UID "…", new UID "…"`, where the name may have its namespace.
func oldRecreated(s *session, h *hostState, r *record, k *klogLine) {
	name, rest, ok := cutByte(bytes.TrimPrefix(k.rest, []byte(`"`)), '"')
	if _, recreated := after(rest, " was deleted and then recreated"); !ok || !recreated {
		return
	}
	pod := s.podRef(name)
	if p, _, ok := s.oldPod(name); ok {
		pod = p
	}
	c := &event.PodSync{Op: event.SyncRecreated}
	if old, ok := between(rest, `old UID "`, `"`); ok {
		c.OldUID = s.intern(old)
	}
	if uid, ok := between(rest, `new UID "`, `"`); ok {
		pod.UID = s.intern(uid)
	}
	c.Pod = pod
	s.emit(h, r, k.time(s, h, r), k.pid, c)
}

// readStartupDuration reads the one kubelet line whose values carry whole times
// (since 1.26): watchObservedRunningTime is when the line was written. It dates
// a log whose lines have neither year nor zone.
func readStartupDuration(s *session, h *hostState, r *record, k *klogLine) {
	whole, rest, ok := isoStamp(s.text(k.fields(s), "watchObservedRunningTime"))
	off, _, zoned := isoOffset(skipBlanks(rest))
	if !ok || !zoned {
		return
	}
	at := event.Known(whole.At.Add(-off), whole.Precision)
	s.emit(h, &record{ref: r.ref, stamp: k.time(s, h, r), pid: r.pid}, at, k.pid,
		&event.Notice{Code: "time-anchor", Message: "a line of the log states its own time in full"})
}
