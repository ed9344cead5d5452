package logs

import (
	"bytes"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// message is an entry of the catalogue of kubelet lines: its verbosity level
// (the line proves that the kubelet ran at that level or above) and what reads
// it; nil where only the level is of use.
type message struct {
	level int8
	read  func(s *session, h *hostState, r *record, k *klogLine)
	// agent is set for the lines of agents that run in pods: they are read in
	// container logs too, where the kubelet's words mean other things.
	agent bool
}

// messageTable maps the constant text of structured lines (kubelet >= 1.19 to
// 1.21) to what they mean. The source file and line of the header are never
// used: they change with every version, the texts hardly do.
type messageTable map[string]message

// structured is the whole catalogue. textMask holds, per length of the text,
// which first letters occur: most lines are dropped by this alone.
var (
	structured = mergeMessages(probeMessages, syncMessages, sandboxMessages, statusMessages, nodeMessages, ovnMessages)
	textMask   = maskOf(structured)
)

const maxText = 128

func mergeMessages(tables ...messageTable) messageTable {
	all := make(messageTable)
	for _, t := range tables {
		for text, m := range t {
			if _, dup := all[text]; dup {
				panic("logs: two entries for kubelet message " + text)
			}
			all[text] = m
		}
	}
	return all
}

func maskOf(t messageTable) (mask [maxText]uint64) {
	for text := range t {
		mask[len(text)] |= 1 << (text[0] & 63)
	}
	return mask
}

// freeMessage is a line of the time before structured logging (kubelet <= 1.20,
// and what was never converted), known by how it begins. read gets the text
// behind the prefix in k.rest.
type freeMessage struct {
	prefix string
	message
}

var freeText = indexFree(probeFree, syncFree, sandboxFree, statusFree, nodeFree, ovnFree)

func indexFree(tables ...[]freeMessage) (idx [256][]freeMessage) {
	for _, t := range tables {
		for _, m := range t {
			idx[m.prefix[0]] = append(idx[m.prefix[0]], m)
		}
	}
	return idx
}

var _ = registerDialect(dialect{name: "klog", starts: "IWEF", read: readKlog})

// readKlog reads a line with a klog header.
func readKlog(s *session, h *hostState, r *record) bool {
	k := &s.klog
	if !parseKlog(r.msg, k) {
		return false
	}
	if r.stamp.IsZero() {
		s.see(k.when.inPlaceholder(time.Microsecond))
	}
	s.readKlogMessage(h, r, k)
	return true
}

// readKlogMessage dispatches on the text of a klog line.
func (s *session) readKlogMessage(h *hostState, r *record, k *klogLine) {
	m, known := k.lookup()
	if s.container != nil && !m.agent {
		return
	}
	if n := len(r.msg); r.msg[n-1] == '<' && n > 1 && r.msg[n-2] == '=' && k.text != nil {
		// Even a line of no interest opens its block: its closing " >" must not be
		// taken for the beginning of a newest-first one.
		if s.openBlock(h, r, known && m.read != nil) {
			return
		}
	}
	if !known {
		return
	}
	if m.read != nil {
		if s.canWait && k.text != nil && s.endsInside(k) {
			s.waiting = true
			return
		}
		m.read(s, h, r, k)
	}
	// The prefix of free text may be that of another line too: it proves the level
	// only if it could be read.
	if m.read == nil || k.text != nil || s.emitted {
		s.prove(r, m.level)
	}
}

// endsInside reports whether a line ends inside a quoted or bracketed value.
func (s *session) endsInside(k *klogLine) bool {
	if n := len(k.rest); n == 0 || k.rest[n-1] == '"' || k.rest[n-1] == ']' || k.rest[n-1] == '}' {
		return false
	}
	ps := k.fields(s)
	return len(ps) > 0 && ps[len(ps)-1].cut && ps[len(ps)-1].kind != block
}

// lookup finds the catalogue entry of a line.
func (k *klogLine) lookup() (message, bool) {
	if k.text != nil {
		if n := len(k.text); n >= maxText || textMask[n]&(1<<(k.text[0]&63)) == 0 {
			return message{}, false
		}
		m, ok := structured[string(k.text)]
		return m, ok
	}
	if len(k.rest) == 0 {
		return message{}, false
	}
	k.whole = k.rest
	for i := range freeText[k.rest[0]] {
		f := &freeText[k.rest[0]][i]
		if rest, ok := after(k.rest, f.prefix); ok {
			k.rest = rest
			return f.message, true
		}
	}
	return message{}, false
}

// podRef reads "namespace/name". The slash is missing for static pods of old
// kubelets; then only the name is known.
func (s *session) podRef(b []byte) event.PodRef {
	ns, name, ok := cutByte(b, '/')
	if !ok {
		return event.PodRef{Name: s.intern(b)}
	}
	return event.PodRef{Namespace: s.intern(ns), Name: s.intern(name)}
}

// podOf reads the keys pod and podUID. It fails when the line was cut inside
// them.
func (s *session) podOf(ps []pair) (event.PodRef, bool) {
	p := get(ps, "pod")
	if p == nil || p.cut {
		return event.PodRef{}, false
	}
	pod := s.podRef(s.unescape(p))
	pod.UID = s.uid(ps, "podUID")
	return pod, pod.Name != ""
}

// uid reads a UID. Some versions print a pointer for mirror pods; that is none.
func (s *session) uid(ps []pair, key string) string {
	p := get(ps, key)
	if p == nil || p.cut {
		return ""
	}
	v := s.unescape(p)
	if _, pointer := after(v, "0x"); pointer {
		return ""
	}
	return s.intern(v)
}

// oldPod reads "name_namespace(uid)" at the front of b, as kubelets up to 1.20
// print pods.
func (s *session) oldPod(b []byte) (pod event.PodRef, rest []byte, ok bool) {
	open := bytes.IndexByte(b, '(')
	if open <= 0 {
		return pod, b, false
	}
	end := bytes.IndexByte(b[open:], ')')
	under := bytes.LastIndexByte(b[:open], '_')
	if end < 0 || under <= 0 {
		return pod, b, false
	}
	return event.PodRef{Namespace: s.intern(b[under+1 : open]), Name: s.intern(b[:under]),
		UID: s.intern(b[open+1 : open+end])}, b[open+end+1:], true
}

// cutLine notes that a catalogued line is incomplete: cut, or edited.
func (s *session) cutLine(r *record) {
	s.reject(r.ref, "incomplete-line", "a kubelet line lacks a value that is needed; its end may have been cut by a pager or a terminal")
}

// limits of the texts that events carry.
const (
	maxOutput  = 1 << 10
	maxMessage = 512
)
