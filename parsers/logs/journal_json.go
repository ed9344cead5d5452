package logs

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name:   "journal-json",
	Doc:    "journalctl -o json, json-pretty, json-sse and json-seq: one object an entry with the journal's field names; systemd's manual page journalctl(1)",
	Detect: detectJournalJSON,
	Parse:  parseJournalJSON,
})

// detectJournalJSON looks for the field that every entry has.
func detectJournalJSON(head []byte, _ string) int {
	b := entryStart(head)
	if len(b) == 0 || b[0] != '{' {
		return 0
	}
	if bytes.Contains(head, []byte(`"__REALTIME_TIMESTAMP"`)) && bytes.Contains(head, []byte(`"_BOOT_ID"`)) {
		return 97
	}
	return 0
}

// entryStart drops what stands before the object of an entry: the record
// separator of json-seq, the "data: " of server-sent events.
func entryStart(b []byte) []byte {
	b = bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))
	if len(b) > 0 && b[0] == 0x1E {
		b = b[1:]
	}
	b = skipSpace(b)
	return skipSpace(bytes.TrimPrefix(b, []byte("data: ")))
}

// maxObject bounds one entry printed over several lines.
const maxObject = 4 << 20

// jsonEntries reads a stream of JSON objects, one a line or printed over several
// lines, and hands each to entry.
type jsonEntries struct {
	s      *session
	l      *lineReader
	object []byte
	// mark is the key whose line is what a reference points to, e.g. `"MESSAGE"`.
	mark  string
	entry func(object []byte, ref event.Ref)
}

func (j *jsonEntries) run() {
	for {
		line, ok := j.l.next()
		if !ok {
			return
		}
		ref := event.Ref{Line: j.l.number, Offset: j.l.offset}
		b := bytes.TrimRight(entryStart(line), " ,")
		switch {
		case len(b) == 0 || len(b) == 1 && (b[0] == '[' || b[0] == ']'):
		case len(b) == 1 && b[0] == '{':
			j.pretty(line, ref)
		case b[0] == '{' && b[len(b)-1] == '}':
			j.entry(b, ref)
		case b[0] == '[' && b[len(b)-1] == ']':
			j.array(b[1:], ref)
		case j.l.torn:
			j.s.problem(ref, "truncated", "the last JSON object does not end")
		default:
			j.s.reject(ref, "bad-json", "a line is no JSON object")
		}
	}
}

// array reads objects that stand in a list on one line.
func (j *jsonEntries) array(b []byte, ref event.Ref) {
	for {
		b = bytes.TrimLeft(b, ", \t")
		n := jsonValueLen(b)
		if n <= 0 || b[0] != '{' {
			return
		}
		j.entry(b[:n], ref)
		b = b[n:]
	}
}

// pretty collects an object that is printed over several lines: it ends at the
// closing brace that stands as far in as its opening one.
func (j *jsonEntries) pretty(line []byte, ref event.Ref) {
	b := entryStart(line)
	closing := append(bytes.Clone(line[:len(line)-len(skipBlanks(line))]), '}')
	closing = bytes.TrimPrefix(closing, []byte("data: "))
	if len(closing) > 0 && closing[0] == 0x1E {
		closing = closing[1:]
	}
	j.object = append(j.object[:0], b...)
	for {
		next, ok := j.l.next()
		if !ok {
			j.s.problem(ref, "truncated", "the last JSON object does not end")
			return
		}
		if len(j.object)+len(next) > maxObject {
			j.s.reject(ref, "long-entry", "a JSON object is larger than 4 MiB")
			return
		}
		if bytes.HasPrefix(skipBlanks(next), []byte(j.mark)) {
			ref = event.Ref{Line: j.l.number, Offset: j.l.offset}
		}
		j.object = append(append(j.object, '\n'), next...)
		if bytes.Equal(bytes.TrimRight(next, ", "), closing) {
			break
		}
	}
	j.entry(bytes.TrimRight(j.object, " ,"), ref)
}

// journalJSON turns objects into records.
type journalJSON struct {
	s     *session
	arena []byte
}

func parseJournalJSON(ctx context.Context, in *Input) error {
	j := &journalJSON{s: newSession(in)}
	l := newLineReader(ctx, in)
	(&jsonEntries{s: j.s, l: l, mark: `"MESSAGE"`, entry: j.entry}).run()
	return j.s.finish(l, nil)
}

func (j *journalJSON) entry(object []byte, ref event.Ref) {
	var fields journalFields
	j.arena = j.arena[:0]
	f := newFlatJSON(object)
	null := false
	for {
		key, raw, ok := f.next()
		if !ok {
			break
		}
		if !wantedField(key) {
			continue
		}
		null = j.take(&fields, key, raw) || null
	}
	if f.bad {
		if !j.slow(object, &fields) {
			j.s.reject(ref, "bad-json", "a journal entry is not valid JSON")
			return
		}
	}
	if len(fields.realtime) == 0 {
		j.s.reject(ref, "bad-record", "a JSON object is no journal entry: it has no __REALTIME_TIMESTAMP")
		return
	}
	if null {
		j.s.problem(ref, "field-left-out", "an entry has null for its message: journalctl leaves out long fields without --all")
	}
	r := record{ref: ref}
	fields.record(&r)
	j.s.handle(&r)
}

// take sets one field from its raw value; it reports a message that is null.
func (j *journalJSON) take(fields *journalFields, key, raw []byte) (null bool) {
	if len(raw) > 1 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		fields.set(key, raw[1:len(raw)-1])
		return false
	}
	at := len(j.arena)
	text, ok := jsonText(j.arena, raw)
	if !ok {
		return string(key) == "MESSAGE"
	}
	j.arena = text
	fields.set(key, j.arena[at:len(j.arena):len(j.arena)])
	return false
}

// wantedField tells the fields that journalFields keeps by length and letter,
// before they are compared.
func wantedField(key []byte) bool {
	switch len(key) {
	case 4, 5, 7, 8, 9, 10, 13, 17, 20, 21:
		return true
	}
	return false
}

// slow reads an object that the flat scanner could not follow.
func (j *journalJSON) slow(object []byte, fields *journalFields) bool {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil {
		return false
	}
	*fields = journalFields{}
	for _, name := range [...]string{"MESSAGE", "_HOSTNAME", "SYSLOG_IDENTIFIER", "_COMM", "_SYSTEMD_UNIT", "_PID",
		"SYSLOG_PID", "_TRANSPORT", "_BOOT_ID", "__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP"} {
		if raw, ok := all[name]; ok {
			j.take(fields, []byte(name), raw)
		}
	}
	return true
}
