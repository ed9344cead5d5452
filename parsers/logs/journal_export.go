package logs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strconv"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name:   "journal-export",
	Doc:    "journalctl -o export: FIELD=value lines and length-prefixed binary fields, an empty line after each entry; systemd's JOURNAL_EXPORT_FORMATS",
	Detect: detectExport,
	Parse:  parseExport,
})

func detectExport(head []byte, _ string) int {
	head = bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
	for _, p := range [...]string{"__CURSOR=", "__REALTIME_TIMESTAMP=", "_BOOT_ID="} {
		if bytes.HasPrefix(head, []byte(p)) {
			return 98
		}
	}
	// An export that was cut at its front begins inside an entry.
	if bytes.Contains(head, []byte("\n\n__CURSOR=")) {
		return 85
	}
	return 0
}

// maxField bounds one binary field; journald's own limit for a line is 48 KiB,
// core dumps are larger and of no interest.
const maxField = 1 << 20

// maxEntry bounds the fields of one entry that are held together.
const maxEntry = 4 << 20

// exportReader reads the export format: the lines of lineReader, and binary
// fields out of the middle of it.
type exportReader struct {
	s      *session
	l      *lineReader
	fields journalFields
	// arena holds the values of the current entry, which outlive their line.
	arena []byte
	ref   event.Ref
	any   bool
	full  bool // the entry reached maxEntry
}

func parseExport(ctx context.Context, in *Input) error {
	e := &exportReader{s: newSession(in), l: newLineReader(ctx, in)}
	for {
		line, ok := e.l.next()
		if !ok {
			break
		}
		e.line(line)
	}
	e.entry()
	return e.s.finish(e.l, nil)
}

func (e *exportReader) line(line []byte) {
	if len(line) == 0 {
		e.entry()
		return
	}
	here := event.Ref{Line: e.l.number, Offset: e.l.offset}
	name, value, text := cutByte(line, '=')
	if !fieldName(name) {
		e.s.reject(here, "bad-field", "a line of a journal export is no field: it has no upper-case name")
		return
	}
	if !text {
		var err error
		if value, err = e.binary(); err != nil {
			e.s.problem(here, "truncated", "binary field "+string(name)+": "+err.Error())
			return
		}
	}
	if !e.any {
		e.ref, e.any = here, true
	}
	at := len(e.arena)
	if at+len(value) > maxEntry {
		if !e.full {
			e.full = true
			e.s.problem(here, "entry-too-large", "the fields of a journal entry exceed "+strconv.Itoa(maxEntry)+" bytes; the rest of it is left out")
		}
		return
	}
	e.arena = append(e.arena, value...)
	if e.fields.set(name, e.arena[at:len(e.arena):len(e.arena)]) {
		if string(name) == "MESSAGE" {
			e.ref = here
		}
	} else {
		e.arena = e.arena[:at]
	}
}

// fieldName reports whether b could be the name of a journal field.
func fieldName(b []byte) bool {
	if len(b) == 0 || len(b) > 64 {
		return false
	}
	for _, c := range b {
		if (c < 'A' || c > 'Z') && c != '_' && !isDigit(c) {
			return false
		}
	}
	return true
}

// binary reads a field written as a 64-bit length and as many bytes.
func (e *exportReader) binary() ([]byte, error) {
	var size [8]byte
	if err := e.l.read(size[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > 1<<30 {
		return nil, errors.New("its length " + strconv.FormatUint(n, 10) + " is beyond all limits")
	}
	value := make([]byte, min(n, maxField))
	if err := e.l.read(value); err != nil {
		return nil, err
	}
	if err := e.l.skip(int64(n) - int64(len(value))); err != nil {
		return nil, err
	}
	var nl [1]byte
	if err := e.l.read(nl[:]); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return value, nil
}

// entry hands over the entry collected so far.
func (e *exportReader) entry() {
	if e.any {
		r := record{ref: e.ref}
		e.fields.record(&r)
		e.s.handle(&r)
	}
	e.fields, e.arena, e.any, e.full = journalFields{}, e.arena[:0], false, false
}
