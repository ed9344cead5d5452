package logs

import (
	"bytes"
	"context"
	"fmt"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name: "kube-yaml",
	Doc: "Kubernetes objects in YAML: one object, a List, a typed list whose items carry no kind, several documents, " +
		"as kubectl, must-gather, oc adm inspect and cluster-info dump print them.",
	Detect: detectKubeYAML,
	Parse: func(ctx context.Context, in *Input) error {
		o := newObjectStream(ctx, in)
		return o.finish(splitYAML(o))
	},
})

func detectKubeYAML(head []byte, _ string) int {
	score := 0
	for n := 0; len(head) > 0 && n < 64; n++ {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		line = bytes.TrimPrefix(bytes.TrimRight(line, " \r"), []byte("\xef\xbb\xbf"))
		switch {
		case len(line) == 0 || line[0] == '#' || line[0] == ' ' || line[0] == '$' || documentMark(line):
		case bytes.HasPrefix(line, []byte("apiVersion: ")):
			return 90
		case bytes.HasPrefix(line, []byte("- apiVersion: ")):
			return 80
		case bytes.HasPrefix(line, []byte("kind: ")), string(line) == "items:", string(line) == "metadata:":
			score = max(score, 60)
		case !topLevelKey(line):
			return score
		}
	}
	return score
}

// topLevelKey reports whether a line at the left margin is a mapping key.
func topLevelKey(line []byte) bool {
	i := 0
	for i < len(line) && (line[i] >= 'a' && line[i] <= 'z' || line[i] >= 'A' && line[i] <= 'Z') {
		i++
	}
	return i > 0 && i < len(line) && line[i] == ':' && (i+1 == len(line) || line[i+1] == ' ')
}

// splitYAML cuts the stream into objects. Items of a list are cut by their
// indentation, so a list of any length needs the memory of its largest item.
func splitYAML(o *objectStream) error {
	y := &yamlSplitter{o: o}
	y.restart()
	lines := newTextLines(o.in, maxObjectBytes)
	for lines.scan() {
		if lines.n&0xfff == 0 && o.ctx.Err() != nil {
			return o.ctx.Err()
		}
		o.lines++
		y.line(lines)
	}
	y.endDocument()
	return lines.err
}

// yamlSplitter collects the lines of one object at a time.
type yamlSplitter struct {
	o        *objectStream
	buf      []byte // lines of the object
	at       place  // where it starts
	over     bool   // the object outgrew maxObjectBytes
	mode     yamlMode
	dash     int    // column of the items' dashes, -1 before the first
	listKind string // kind of the list, where it stands before the items
	logs     containerLogs
}

// place is where an object starts in the stream.
type place struct{ line, offset int64 }

type yamlMode uint8

const (
	yamlDocument yamlMode = iota // a document whose form is open or that is one object
	yamlItems                    // inside a list's items
	yamlRest                     // after a list's items
	yamlLogs                     // inside a container log of cluster-info dump
)

func (y *yamlSplitter) restart() {
	y.buf, y.over, y.mode, y.dash, y.listKind = y.buf[:0], false, yamlDocument, -1, ""
}

func (y *yamlSplitter) line(l *textLines) {
	raw := l.raw
	if l.offset == 0 {
		raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	}
	if y.mode == yamlLogs {
		if !y.logs.line(y.o, l.text(), place{l.n, l.offset}) {
			y.restart()
		}
		return
	}
	if len(raw) == 0 {
		return
	}
	indent := 0
	for indent < len(raw) && raw[indent] == ' ' {
		indent++
	}
	if y.mode == yamlItems && y.dash >= 0 && indent > y.dash { // most lines: the inside of an item
		y.add(raw, place{l.n, l.offset})
		return
	}
	text := bytes.TrimRight(raw[indent:], " \r\n")
	if indent == 0 && len(text) > 0 {
		switch {
		case documentMark(text):
			y.endDocument()
			if len(text) > 4 && text[0] == '-' {
				y.add(append([]byte("   "), raw[3:]...), place{l.n, l.offset})
			}
			return
		case text[0] == '$': // a pasted prompt
			y.endDocument()
			return
		case bytes.HasPrefix(text, []byte("Error from server")), bytes.HasPrefix(text, []byte("error: ")):
			y.endDocument()
			y.o.at = place{l.n, l.offset}
			y.o.emit(event.Stamp{}, "", &event.Notice{Code: "collector-error", Message: clip(text, maxMessage)})
			return
		case bytes.HasPrefix(text, []byte(logsStart)):
			y.endDocument()
			y.mode = yamlLogs
			y.logs.start(y.o, text)
			return
		}
	}
	if y.mode == yamlItems && len(text) > 0 {
		dash := text[0] == '-' && (len(text) == 1 || text[1] == ' ')
		switch {
		case y.dash < 0 && dash, indent == y.dash && dash:
			y.flush()
			y.dash = indent
			y.add(raw, place{l.n, l.offset})
			if !y.over {
				y.buf[indent] = ' '
			}
			return
		case text[0] == '#':
		case indent <= y.dash || y.dash < 0:
			y.flush()
			y.mode = yamlRest
		}
	}
	switch y.mode {
	case yamlDocument:
		if indent == 0 && string(text) == "items:" {
			y.listKind = topKind(y.buf, 0)
			y.buf, y.over, y.mode = y.buf[:0], false, yamlItems
			return
		}
		if len(y.buf) == 0 && (len(text) == 0 || text[0] == '#') {
			return
		}
		y.add(raw, place{l.n, l.offset})
	case yamlItems:
		if y.dash >= 0 {
			y.add(raw, place{l.n, l.offset})
		}
	}
}

// documentMark reports "---" or "...", alone or before content.
func documentMark(text []byte) bool {
	return len(text) >= 3 && (string(text[:3]) == "---" || string(text) == "...") && (len(text) == 3 || text[3] == ' ')
}

func (y *yamlSplitter) add(raw []byte, at place) {
	if len(y.buf) == 0 && !y.over {
		y.at = at
	}
	if y.over || len(y.buf)+len(raw) > maxObjectBytes {
		y.over, y.buf = true, y.buf[:0]
		return
	}
	y.buf = append(y.buf, raw...)
}

// flush hands over the object collected so far.
func (y *yamlSplitter) flush() {
	switch {
	case y.over:
		y.o.problem(y.at, "object-too-large", fmt.Sprintf("an object is larger than %d bytes: left out", maxObjectBytes))
	case len(y.buf) > 0:
		y.o.yaml(y.buf, y.at, y.listKind)
	}
	y.buf, y.over = y.buf[:0], false
	if cap(y.buf) > 1<<20 {
		y.buf = nil
	}
}

func (y *yamlSplitter) endDocument() {
	if y.mode == yamlDocument || y.mode == yamlItems {
		y.flush()
	}
	y.restart()
}

// topKind finds the kind that stands at the given indentation of an object,
// without parsing it; "" if there is none.
func topKind(src []byte, indent int) string {
	pattern := append(append([]byte("\n"), bytes.Repeat([]byte(" "), indent)...), "kind: "...)
	i := 0
	if !bytes.HasPrefix(src, pattern[1:]) {
		if i = bytes.Index(src, pattern); i < 0 {
			return ""
		}
		i++
	}
	line, _, _ := bytes.Cut(src[i+len(pattern)-1:], []byte("\n"))
	return string(bytes.Trim(line, "\"' \r"))
}

// yaml reads one object from its text.
func (o *objectStream) yaml(src []byte, at place, listKind string) {
	indent := 0
	for indent < len(src) && src[indent] == ' ' {
		indent++
	}
	if kind := topKind(src, indent); kind != "" && !readable(kind) {
		o.in.Info.Records++
		return
	}
	f, err := parseYAML(src, &o.tree)
	if err != nil {
		o.in.Info.Records++
		o.in.Info.Rejected++
		o.problem(at, "bad-yaml", "an object can't be read as yaml: "+err.Error())
		return
	}
	if f.ok() {
		o.read(f, at, listKind)
	}
}
