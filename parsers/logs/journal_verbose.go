package logs

import (
	"bytes"
	"context"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name:   "journal-verbose",
	Doc:    "journalctl -o verbose: a line with the time and the cursor, then every field indented by four blanks; systemd's manual page journalctl(1)",
	Detect: detectVerbose,
	Parse:  parseVerbose,
})

func detectVerbose(head []byte, _ string) int {
	for n := 0; n < 8 && len(head) > 0; n++ {
		var line []byte
		line, head, _ = cutByte(head, '\n')
		if _, ok := verboseHead(line); ok && bytes.HasPrefix(head, []byte("    ")) {
			return 96
		}
	}
	return 0
}

// verboseHead reads "Tue 2021-08-03 09:13:20.000000 UTC [s=…;i=1;b=…;…]".
func verboseHead(line []byte) (event.Stamp, bool) {
	if len(line) < 40 || line[len(line)-1] != ']' || line[0] == ' ' {
		return event.Stamp{}, false
	}
	st, rest, ok := fullStamp(line)
	if !ok || !bytes.HasPrefix(rest, []byte("[s=")) {
		return event.Stamp{}, false
	}
	// The cursor has the time in full: t=<microseconds in hex>.
	if v, ok := betweenAny(rest, ";t=", ";]"); ok && len(v) < 16 {
		us := int64(0)
		for _, c := range v {
			d, ok := hexRune([]byte{c}, 1)
			if !ok {
				return st, true
			}
			us = us<<4 | int64(d)
		}
		st = realtime(us)
	}
	return st, true
}

// verboseReader collects the fields of one entry.
type verboseReader struct {
	s      *session
	fields journalFields
	text   []byte // of a message of several lines; amortizes their appending
	rec    record
	any    bool
	// message is set while the lines of a multi-line message follow.
	message bool
}

// continued is how far in the later lines of a multi-line value stand.
const continued = "            "

func parseVerbose(ctx context.Context, in *Input) error {
	v := &verboseReader{s: newSession(in)}
	l := newLineReader(ctx, in)
	for {
		line, ok := l.next()
		if !ok {
			break
		}
		v.line(line, event.Ref{Line: l.number, Offset: l.offset})
	}
	v.entry()
	return v.s.finish(l, nil)
}

func (v *verboseReader) line(line []byte, ref event.Ref) {
	if st, ok := verboseHead(line); ok {
		v.entry()
		v.any = true
		v.rec = record{stamp: st, ref: ref}
		return
	}
	if v.any {
		if more, ok := after(line, continued); ok {
			if v.message && len(v.text)+len(more) < maxField {
				// A block keeps its tab here, which the short forms print as blanks.
				v.text = append(append(v.text, '\n'), more...)
				v.fields.message = v.text
			}
			return
		}
		if field, ok := after(line, "    "); ok {
			v.field(field, ref)
			return
		}
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	v.entry()
	if v.s.boundary(line, ref) || isFiller(line) {
		return
	}
	v.s.reject(ref, "unknown-line", "a line is neither the head nor a field of a journal entry")
}

func (v *verboseReader) field(b []byte, ref event.Ref) {
	name, value, ok := cutByte(b, '=')
	if !ok || !fieldName(name) {
		return
	}
	v.message = false
	value = bytes.Clone(value)
	if v.fields.set(name, value) && string(name) == "MESSAGE" {
		v.message, v.rec.ref = true, ref
		v.text = append(v.text[:0], v.fields.message...)
	}
}

// entry hands over the entry collected so far.
func (v *verboseReader) entry() {
	if v.any {
		st := v.rec.stamp
		v.fields.record(&v.rec)
		v.rec.stamp = st
		v.s.handle(&v.rec)
	}
	v.fields, v.any, v.message = journalFields{}, false, false
}
