package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// logrusLine is a line of containerd, CRI-O or Cilium:
//
//	time="RFC 3339" level=info msg="…" error="…" key=value
//
// msg is still escaped; rest holds the keys behind it.
type logrusLine struct {
	stamp event.Stamp
	msg   []byte
	rest  []byte
}

// logrusMessage is a message of the catalogue, known by how it begins (as
// escaped in the log).
type logrusMessage struct {
	prefix string
	read   func(s *session, h *hostState, r *record, l *logrusLine)
}

var logrusText = indexLogrus(containerdMessages, crioMessages, ciliumMessages)

func indexLogrus(tables ...[]logrusMessage) (idx [256][]logrusMessage) {
	for _, t := range tables {
		for _, m := range t {
			idx[m.prefix[0]] = append(idx[m.prefix[0]], m)
		}
	}
	return idx
}

var _ = registerDialect(dialect{name: "logrus", starts: "tl", read: readLogrus})

// readLogrus reads a line that begins with time= (or, in Cilium's agent before
// 1.16, with level=).
func readLogrus(s *session, h *hostState, r *record) bool {
	l := &s.logrus
	*l = logrusLine{}
	raw, ok := l.parse(r.msg)
	if !ok {
		return false
	}
	if r.stamp.IsZero() {
		l.stamp, _, _ = isoStamp(raw)
		s.see(l.stamp)
	}
	if len(l.msg) == 0 {
		return true
	}
	for i := range logrusText[l.msg[0]] {
		m := &logrusText[l.msg[0]][i]
		if _, ok := after(l.msg, m.prefix); ok {
			l.stamp, _, _ = isoStamp(raw)
			m.read(s, h, r, l)
			if s.emitted {
				break
			}
		}
	}
	return true
}

// parse finds the message and the raw time of a line.
func (l *logrusLine) parse(b []byte) (raw []byte, ok bool) {
	if rest, ok := after(b, `time="`); ok {
		raw, b, ok = cutByte(rest, '"')
		if !ok {
			return nil, false
		}
		b = skipBlanks(b)
	}
	if rest, ok := after(b, "time="); ok { // slog does not quote it
		raw, b, _ = cutByte(rest, ' ')
	}
	b, ok = after(b, "level=")
	if !ok {
		return nil, false
	}
	_, b, _ = cutByte(b, ' ')
	msg, ok := after(b, "msg=")
	if !ok {
		// slog puts source=file.go:12 in between.
		i := bytes.Index(b[:min(len(b), 512)], []byte(" msg="))
		if i < 0 {
			return nil, false
		}
		msg = b[i+len(" msg="):]
	}
	if _, quote := after(msg, `"`); !quote {
		l.msg, l.rest, _ = cutByte(msg, ' ')
		return raw, true
	}
	end := closingQuote(msg)
	if end < 0 {
		l.msg = msg[1:]
		return raw, true
	}
	l.msg, l.rest = msg[1:end], msg[end+1:]
	return raw, true
}

// text returns the message without its escapes, valid until the next unescape.
func (l *logrusLine) text(s *session) []byte {
	if bytes.IndexByte(l.msg, '\\') < 0 {
		return l.msg
	}
	s.scratch = appendUnquoted(s.scratch[:0], l.msg)
	return s.scratch
}

// hexID reads the id that b begins with: at least 12 hexadecimal digits.
func (s *session) hexID(b []byte) (string, []byte) {
	n := 0
	for n < len(b) && isHex(b[n]) {
		n++
	}
	if n < 12 || n > 64 {
		return "", b
	}
	return s.intern(b[:n]), b[n:]
}
