package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// readEventOccurred reads "Event occurred" (V3): an Event as its source made it,
// before the API server's counting and rate limit.
func readEventOccurred(s *session, h *hostState, r *record, k *klogLine) {
	ps := k.fields(s)
	p := get(ps, "object")
	if p == nil || p.cut {
		s.cutLine(r)
		return
	}
	e := &event.K8sEvent{ObjectKind: s.name(ps, "kind"), FieldPath: s.name(ps, "fieldPath"),
		Type: s.name(ps, "type"), Reason: s.name(ps, "reason")}
	obj := s.podRef(s.unescape(p))
	e.Namespace, e.Name = obj.Namespace, obj.Name
	s.emitEvent(h, r, k, e, s.text(ps, "message"))
}

// oldEventOccurred reads `Event(v1.ObjectReference{Kind:"Pod", Namespace:"…",
// Name:"…", UID:"…", …, FieldPath:"…"}): type: 'Warning' reason: 'Unhealthy' TEXT`.
func oldEventOccurred(s *session, h *hostState, r *record, k *klogLine) {
	ref, rest, ok := bytes.Cut(k.rest, []byte("}): type: '"))
	if !ok {
		return
	}
	field := func(name string) string {
		v, _ := between(ref, name+`:"`, `"`)
		return s.intern(v)
	}
	e := &event.K8sEvent{ObjectKind: field("Kind"), Namespace: field("Namespace"), Name: field(" Name"),
		UID: field("UID"), FieldPath: field("FieldPath")}
	kind, rest, _ := cutByte(rest, '\'')
	e.Type = s.intern(kind)
	reason, text, ok := cutByte(bytes.TrimPrefix(rest, []byte(" reason: '")), '\'')
	if !ok {
		return
	}
	e.Reason = s.intern(reason)
	s.emitEvent(h, r, k, e, skipBlanks(text))
}

// emitEvent emits an Event, and the addresses that multus announces in one.
func (s *session) emitEvent(h *hostState, r *record, k *klogLine, e *event.K8sEvent, text []byte) {
	at := k.time(s, h, r)
	e.Message = clip(bytes.TrimRight(text, "\n"), maxOutput)
	e.Count, e.First, e.Last, e.FromLog = 1, at, at, true
	if c, ok := between([]byte(e.FieldPath), "{", "}"); ok {
		e.Container = s.intern(c)
	}
	e.Host = h.name
	if e.Host == "" {
		e.Host = s.in.Info.Node
	}
	s.emit(h, r, at, k.pid, e)
	if e.Reason == "AddedInterface" {
		if ip := addedInterface([]byte(e.Message)); ip != nil {
			ip.Pod = event.PodRef{Namespace: e.Namespace, Name: e.Name, UID: e.UID}
			s.emit(h, r, at, k.pid, ip)
		}
	}
}

// addedInterface reads multus' "Add eth0 [10.128.0.5/23 fd01::5/64] from NETWORK";
// nil when it is something else.
func addedInterface(text []byte) *event.PodIP {
	rest, ok := after(text, "Add ")
	if !ok {
		return nil
	}
	dev, rest, _ := cutByte(rest, ' ')
	list, ok := between(rest, "[", "]")
	if !ok {
		return nil
	}
	ip := &event.PodIP{Interface: string(dev), Fact: event.IPAllocated, Via: "event"}
	for item := range listItems(list) {
		if a, ok := ipAddr(item); ok {
			ip.IPs = append(ip.IPs, a)
		}
	}
	if len(ip.IPs) == 0 {
		return nil
	}
	return ip
}
