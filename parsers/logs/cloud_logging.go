package logs

import (
	"bytes"
	"context"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name:   "cloud-logging",
	Doc:    "an export of Google Cloud Logging: entries with insertId and jsonPayload (the journal's fields) or textPayload, one a line or in an array, often newest first",
	Detect: detectCloudLogging,
	Parse:  parseCloudLogging,
})

func detectCloudLogging(head []byte, _ string) int {
	b := skipSpace(bytes.TrimPrefix(skipSpace(head), []byte("[")))
	if len(b) == 0 || b[0] != '{' || !bytes.Contains(head, []byte(`"insertId"`)) {
		return 0
	}
	if bytes.Contains(head, []byte(`"jsonPayload"`)) || bytes.Contains(head, []byte(`"textPayload"`)) {
		return 93
	}
	return 0
}

// cloudEntry turns one entry into a record.
type cloudEntry struct {
	s     *session
	arena []byte
}

func parseCloudLogging(ctx context.Context, in *Input) error {
	c := &cloudEntry{s: newSession(in)}
	l := newLineReader(ctx, in)
	(&jsonEntries{s: c.s, l: l, mark: `"MESSAGE"`, entry: c.entry}).run()
	return c.s.finish(l, nil)
}

func (c *cloudEntry) entry(object []byte, ref event.Ref) {
	var fields journalFields
	c.arena = c.arena[:0]
	r := record{ref: ref}
	var node []byte
	f := newFlatJSON(object)
	for {
		key, raw, ok := f.next()
		if !ok {
			break
		}
		switch string(key) {
		case "timestamp":
			r.stamp, _, _ = isoStamp(bytes.Trim(raw, `"`))
		case "textPayload":
			fields.set([]byte("MESSAGE"), c.text(raw))
		case "jsonPayload":
			c.payload(raw, &fields)
		case "resource":
			node, _ = betweenJSON(raw, `"node_name"`)
		}
	}
	if f.bad {
		c.s.reject(ref, "bad-json", "a log entry is not valid JSON")
		return
	}
	if !fields.hasMessage {
		return // an entry of another kind: audit, metrics
	}
	st := r.stamp
	fields.record(&r)
	if r.stamp.IsZero() {
		r.stamp = st
	}
	if len(r.host) == 0 {
		r.host = node
	}
	c.s.handle(&r)
}

// payload reads the journal's fields out of jsonPayload. Some agents write the
// message in lower case.
func (c *cloudEntry) payload(object []byte, fields *journalFields) {
	f := newFlatJSON(object)
	for {
		key, raw, ok := f.next()
		if !ok {
			return
		}
		if string(key) == "message" || string(key) == "log" {
			key = []byte("MESSAGE")
		}
		if wantedField(key) {
			if text := c.text(raw); text != nil {
				fields.set(key, text)
			}
		}
	}
}

// text appends a value to the arena and returns it, nil for null and objects.
func (c *cloudEntry) text(raw []byte) []byte {
	at := len(c.arena)
	text, ok := jsonText(c.arena, raw)
	if !ok {
		return nil
	}
	c.arena = text
	return c.arena[at:len(c.arena):len(c.arena)]
}

// betweenJSON returns the string value of a key anywhere in b.
func betweenJSON(b []byte, key string) ([]byte, bool) {
	_, rest, ok := bytes.Cut(b, []byte(key))
	if !ok {
		return nil, false
	}
	rest = skipSpace(rest)
	if len(rest) == 0 || rest[0] != ':' {
		return nil, false
	}
	rest = skipSpace(rest[1:])
	if len(rest) == 0 || rest[0] != '"' {
		return nil, false
	}
	v, _, ok := cutByte(rest[1:], '"')
	return v, ok
}
