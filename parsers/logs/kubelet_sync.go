package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// syncMessages are the lines of the kubelet's sync loop and of PLEG.
var syncMessages = messageTable{
	"SyncLoop ADD":                           {level: 2, read: syncLine(event.SyncAdd)},
	"SyncLoop UPDATE":                        {level: 2, read: syncLine(event.SyncUpdate)},
	"SyncLoop DELETE":                        {level: 2, read: syncLine(event.SyncDelete)},
	"SyncLoop REMOVE":                        {level: 2, read: syncLine(event.SyncRemove)},
	"SyncLoop RECONCILE":                     {level: 4, read: syncLine(event.SyncReconcile)},
	"SyncLoop (PLEG): event for pod":         {level: 2, read: readPLEG},
	"Generic (PLEG): container finished":     {level: 2, read: readPLEGFinished},
	"Skipping pod synchronization":           {level: 0, read: readSkip},
	"Housekeeping took longer than usual":    {level: 0, read: readSlowHousekeeping},
	"Housekeeping took longer than expected": {level: 0, read: readSlowHousekeeping},
	"SyncLoop (housekeeping)":                {level: 4},
	"SyncLoop (housekeeping) end":            {level: 4},
	"SyncLoop (SYNC) pods":                   {level: 4},
	"GenericPLEG":                            {level: 4},
	"Generating pod status":                  {level: 3},
	"SyncPod enter":                          {level: 4},
	"SyncTerminatingPod enter":               {level: 4},
}

var syncFree = []freeMessage{
	{`SyncLoop (ADD, "`, message{level: 2, read: oldSync(event.SyncAdd)}},
	{`SyncLoop (UPDATE, "`, message{level: 2, read: oldSync(event.SyncUpdate)}},
	{`SyncLoop (DELETE, "`, message{level: 2, read: oldSync(event.SyncDelete)}},
	{`SyncLoop (REMOVE, "`, message{level: 2, read: oldSync(event.SyncRemove)}},
	{`SyncLoop (RECONCILE, "`, message{level: 4, read: oldSync(event.SyncReconcile)}},
	{`SyncLoop (PLEG): "`, message{level: 2, read: oldPLEG}},
	{"SyncLoop (housekeeping", message{level: 4}},
	{"skipping pod synchronization - ", message{level: 0, read: oldSkip}},
	{"Skipping pod synchronization - ", message{level: 0, read: oldSkip}},
}

// syncLine reads "SyncLoop OP" source= pods=[…], one event a pod. The list is
// bare ([ns/p ns/q]), one quoted string ("[ns/p ns/q]"), JSON strings, or JSON
// objects, by klog generation.
func syncLine(op event.SyncOp) func(*session, *hostState, *record, *klogLine) {
	return func(s *session, h *hostState, r *record, k *klogLine) {
		ps := k.fields(s)
		source := s.name(ps, "source")
		p := get(ps, "pods")
		if p == nil {
			s.cutLine(r)
			return
		}
		at := k.time(s, h, r)
		for item := range listItems(s.unescape(p)) {
			pod := s.listedPod(item)
			if pod.Name == "" {
				continue
			}
			s.emit(h, r, at, k.pid, &event.PodSync{Op: op, Source: source, Pod: pod})
		}
		if p.cut {
			s.cutLine(r)
		}
	}
}

// listedPod reads one item of a pod list: ns/name, or a JSON object.
func (s *session) listedPod(item []byte) event.PodRef {
	if _, object := after(item, "{"); !object {
		return s.podRef(item)
	}
	name, _ := between(item, `"name":"`, `"`)
	ns, _ := between(item, `"namespace":"`, `"`)
	return event.PodRef{Namespace: s.intern(ns), Name: s.intern(name)}
}

// listItems yields the items of "[a b]", `["a","b"]`, `[{…},{…}]` or a bare
// word, without quotes.
func listItems(b []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		b := bytes.TrimSuffix(bytes.TrimPrefix(b, []byte("[")), []byte("]"))
		for len(b) > 0 {
			var item []byte
			switch b[0] {
			case ' ', ',':
				b = b[1:]
				continue
			case '"':
				end := closingQuote(b)
				if end < 0 {
					return
				}
				item, b = b[1:end], b[end+1:]
			case '{':
				end := closingBracket(b)
				if end < 0 {
					return
				}
				item, b = b[:end], b[end:]
			default:
				if i := bytes.IndexAny(b, " ,"); i >= 0 {
					item, b = b[:i], b[i:]
				} else {
					item, b = b, nil
				}
			}
			if !yield(item) {
				return
			}
		}
	}
}

// oldSync reads `SyncLoop (ADD, "api"): "p_ns(uid), q_ns(uid)"`; an UPDATE adds
// ":DeletionTimestamp=…" to a pod.
func oldSync(op event.SyncOp) func(*session, *hostState, *record, *klogLine) {
	return func(s *session, h *hostState, r *record, k *klogLine) {
		source, rest, ok := cutByte(k.rest, '"')
		if !ok {
			return
		}
		_, rest, _ = bytes.Cut(rest, []byte(": "))
		rest = bytes.TrimPrefix(rest, []byte(`"`))
		src := s.intern(source)
		at := k.time(s, h, r)
		for len(rest) > 0 {
			pod, more, ok := s.oldPod(rest)
			if !ok {
				break
			}
			s.emit(h, r, at, k.pid, &event.PodSync{Op: op, Source: src, Pod: pod})
			_, rest, _ = bytes.Cut(more, []byte(", "))
		}
	}
}

// plegEvent is the part of a pod lifecycle event that all spellings share.
type plegEvent struct{ id, kind, data []byte }

// parsePLEG reads an event in its three spellings: &{ID:u Type:t Data:d},
// &pleg.PodLifecycleEvent{ID:"u", Type:"t", Data:"d"}, {"ID":"u",…}.
func parsePLEG(b []byte) (e plegEvent) {
	e.id = plegField(b, "ID")
	e.kind = plegField(b, "Type")
	e.data = plegField(b, "Data")
	return e
}

func plegField(b []byte, name string) []byte {
	i := bytes.Index(b, []byte(name))
	if i < 0 {
		return nil
	}
	b = bytes.TrimLeft(b[i+len(name):], `":`)
	if j := bytes.IndexAny(b, `",}`); j >= 0 {
		b = b[:j]
	}
	if j := bytes.IndexByte(b, ' '); j >= 0 {
		if next := bytes.IndexByte(b[j:], ':'); next >= 0 {
			return b[:j] // Go syntax: the next field begins
		}
		// A hard-wrapped paste put blanks inside the token.
		return bytes.ReplaceAll(b, []byte(" "), nil)
	}
	return b
}

// readPLEG reads "SyncLoop (PLEG): event for pod".
func readPLEG(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	pod, ok := s.podOf(ps)
	p := get(ps, "event")
	if !ok || p == nil || p.cut {
		s.cutLine(r)
		return
	}
	s.emitPLEG(h, r, k, pod, parsePLEG(s.unescape(p)))
}

// oldPLEG reads `SyncLoop (PLEG): "p_ns(uid)", event: &pleg.PodLifecycleEvent{…}`.
func oldPLEG(s *session, h *hostState, r *record, k *klogLine) {
	pod, rest, ok := s.oldPod(k.rest)
	if !ok {
		s.cutLine(r)
		return
	}
	s.emitPLEG(h, r, k, pod, parsePLEG(rest))
}

// emitPLEG emits a lifecycle event. Data is the id of a container or of a
// sandbox: PLEG does not say which.
func (s *session) emitPLEG(h *hostState, r *record, k *klogLine, pod event.PodRef, e plegEvent) {
	c := &event.ContainerState{Pod: pod, ID: s.intern(e.data), IDMayBeSandbox: true, Attempt: -1, ExitCode: -1}
	if len(e.id) > 0 {
		c.Pod.UID = s.intern(e.id)
	}
	switch string(e.kind) {
	case "ContainerStarted":
		c.Op = event.ContainerStarted
	case "ContainerDied":
		c.Op = event.ContainerDied
	case "ContainerRemoved":
		c.Op = event.ContainerRemoved
	default: // ContainerChanged, PodSync: nothing happened to a container
		return
	}
	s.emit(h, r, k.time(s, h, r), k.pid, c)
}

// readPLEGFinished reads "Generic (PLEG): container finished": the only line at
// v=2 that has an exit code.
func readPLEGFinished(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	c := &event.ContainerState{Pod: event.PodRef{UID: s.uid(ps, "podID")}, ID: s.name(ps, "containerID"),
		IDMayBeSandbox: true, Op: event.ContainerFinished, Attempt: -1, ExitCode: exitCode(s.text(ps, "exitCode"))}
	if c.ID == "" {
		s.cutLine(r)
		return
	}
	s.emit(h, r, k.time(s, h, r), k.pid, c)
}

// exitCode reads an exit status, -1 when there is none.
func exitCode(b []byte) int {
	n, ok := allDigits(b)
	if !ok || n > 1<<16 {
		return -1
	}
	return int(n)
}

func readSkip(s *session, h *hostState, r *record, k *klogLine) {
	s.emitSkip(h, r, k, s.text(k.fields(s), "err"))
}

func oldSkip(s *session, h *hostState, r *record, k *klogLine) { s.emitSkip(h, r, k, k.rest) }

// emitSkip says why the sync loop stood still. What every kubelet prints while
// it starts ("status check may not have completed yet", "pleg has yet to be
// successful") is no fault and emits nothing.
func (s *session) emitSkip(h *hostState, r *record, k *klogLine, why []byte) {
	at := k.time(s, h, r)
	if ago, ok := between(why, "pleg was last seen active ", " ago"); ok {
		s.emit(h, r, at, k.pid, &event.NodeState{Code: event.NodePLEGUnhealthy, Value: s.intern(ago), Message: clip(why, maxMessage)})
	}
	if bytes.Contains(why, []byte("container runtime is down")) {
		s.emit(h, r, at, k.pid, &event.NodeState{Code: event.NodeRuntimeDown, Message: clip(why, maxMessage)})
	}
}

func readSlowHousekeeping(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	took := s.name(ps, "actual")
	if took == "" {
		took = s.name(ps, "seconds")
	}
	s.emit(h, r, k.time(s, h, r), k.pid, &event.NodeState{Code: event.NodeHousekeepingSlow, Value: took, Message: clip(k.rest, maxMessage)})
}
