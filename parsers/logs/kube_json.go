package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

var _ = register(Format{
	Name: "kube-json",
	Doc: "Kubernetes objects in JSON: one object, a List, a typed list whose items carry no kind, an array, several values " +
		"after another, as kubectl, cluster-info dump and the troubleshoot collectors write them.",
	Detect: detectKubeJSON,
	Parse: func(ctx context.Context, in *Input) error {
		o := newObjectStream(ctx, in)
		return o.finish(newJSONSplitter(o).run())
	},
})

func detectKubeJSON(head []byte, _ string) int {
	b := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(b) == 0 {
		return 0
	}
	switch string(bytes.TrimSpace(b)) {
	case "{}", "[]", "null": // an empty answer of a collector
		return 20
	}
	if b[0] != '{' && b[0] != '[' || bytes.Contains(b, []byte(`"audit.k8s.io/`)) {
		return 0
	}
	kind, version := jsonKey(b, "kind"), jsonKey(b, "apiVersion")
	switch {
	case kind && version:
		return 85
	case version && jsonKey(b, "items"):
		return 80
	case jsonKey(b, "metadata") && (jsonKey(b, "spec") || jsonKey(b, "involvedObject")):
		return 40
	}
	return 0
}

// jsonKey reports whether b holds the key, in any depth.
func jsonKey(b []byte, key string) bool {
	q := []byte(`"` + key + `"`)
	for {
		i := bytes.Index(b, q)
		if i < 0 {
			return false
		}
		b = b[i+len(q):]
		if t := bytes.TrimLeft(b, " "); len(t) > 0 && t[0] == ':' {
			return true
		}
	}
}

// jsonSplitter cuts the stream into objects. The items of a list are read one
// at a time, so a list needs the memory of its largest item.
type jsonSplitter struct {
	o      *objectStream
	br     *bufio.Reader
	line   int64 // of the next byte, from 0
	offset int64 // of the next byte
	buf    []byte
	over   bool
}

func newJSONSplitter(o *objectStream) *jsonSplitter {
	return &jsonSplitter{o: o, br: bufio.NewReaderSize(o.in.R, 256<<10), line: firstLine(o.in), offset: o.in.FirstOffset}
}

func (j *jsonSplitter) run() error {
	if bom, _ := j.br.Peek(3); string(bom) == "\xef\xbb\xbf" {
		j.drop(3)
	}
	for {
		if err := j.o.ctx.Err(); err != nil {
			return err
		}
		c, err := j.peek()
		if err != nil {
			j.o.lines = j.line - firstLine(j.o.in)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		at := j.place()
		switch c {
		case '{':
			err = j.object(at)
		case '[':
			err = j.items("")
		case ',', 0x1e: // between values: a pasted list, a JSON text sequence
			j.drop(1)
		case '=':
			err = j.logs()
		default:
			j.buf, j.over = j.buf[:0], false
			err = j.value(false)
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			j.o.problem(at, "truncated", "the json ends inside an object")
			j.o.lines = j.line + 1 - firstLine(j.o.in)
			return nil
		}
		var bad *jsonSyntax
		if !errors.As(err, &bad) {
			return err
		}
		j.o.in.Info.Rejected++
		j.o.problem(j.place(), "bad-json", err.Error())
		if err := j.resync(); err != nil {
			j.o.lines = j.line + 1 - firstLine(j.o.in)
			return nil
		}
	}
}

// jsonSyntax is text that is no JSON.
type jsonSyntax struct{ got, want string }

func (e *jsonSyntax) Error() string { return fmt.Sprintf("found %q where %s belongs", e.got, e.want) }

// resync goes on after damage at the next line that begins an object.
func (j *jsonSplitter) resync() error {
	for {
		b, err := j.br.ReadSlice('\n')
		j.pass(b)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if next, _ := j.br.Peek(1); err == nil && len(next) == 1 && (next[0] == '{' || next[0] == '[' || next[0] == '=') {
			return nil
		}
	}
}

func (j *jsonSplitter) place() place { return place{j.line + 1, j.offset} }

func (j *jsonSplitter) pass(b []byte) {
	j.offset += int64(len(b))
	j.line += int64(bytes.Count(b, []byte("\n")))
}

func (j *jsonSplitter) drop(n int) {
	_, _ = j.br.Discard(n)
	j.offset += int64(n)
}

// peek skips blanks and returns the next byte without consuming it.
func (j *jsonSplitter) peek() (byte, error) {
	for {
		c, err := j.br.ReadByte()
		if err != nil {
			return 0, err
		}
		switch c {
		case '\n':
			j.line++
			fallthrough
		case ' ', '\t', '\r':
			j.offset++
		default:
			return c, j.br.UnreadByte()
		}
	}
}

// keep appends b to the object being collected, up to the limit.
func (j *jsonSplitter) keep(b ...byte) {
	if j.over || len(j.buf)+len(b) > maxObjectBytes {
		j.over = true
		return
	}
	j.buf = append(j.buf, b...)
}

// object reads the object at the stream's top: its "items" one by one, anything
// else as one piece.
func (j *jsonSplitter) object(at place) error {
	j.drop(1)
	top := []byte{'{'} // the object without its items
	over, list, kind := false, false, ""
	for first := true; ; first = false {
		c, err := j.peek()
		if err != nil {
			return err
		}
		if c == '}' {
			j.drop(1)
			break
		}
		if !first {
			if c != ',' {
				return &jsonSyntax{string(c), "a comma"}
			}
			j.drop(1)
			if c, err = j.peek(); err != nil {
				return err
			}
		}
		if c != '"' {
			return &jsonSyntax{string(c), "a key"}
		}
		j.buf, j.over = j.buf[:0], false
		if err := j.value(true); err != nil {
			return err
		}
		key := string(j.buf)
		if c, err = j.peek(); err != nil {
			return err
		}
		if c != ':' {
			return &jsonSyntax{string(c), "a colon"}
		}
		j.drop(1)
		if c, err = j.peek(); err != nil {
			return err
		}
		if key == `"items"` && c == '[' {
			list = true
			if err := j.items(kind); err != nil {
				return err
			}
			continue
		}
		j.keep(':')
		if err := j.value(true); err != nil {
			return err
		}
		if key == `"kind"` && len(j.buf) > 9 && len(j.buf) < 80 {
			kind = string(j.buf[8 : len(j.buf)-1])
		}
		if over = over || j.over || len(top)+len(j.buf) > maxObjectBytes; !over {
			if len(top) > 1 {
				top = append(top, ',')
			}
			top = append(top, j.buf...)
		}
	}
	switch {
	case list:
	case over:
		j.o.problem(at, "object-too-large", fmt.Sprintf("an object is larger than %d bytes: left out", maxObjectBytes))
	case len(top) > 1:
		j.o.json(append(top, '}'), at, "")
	}
	return nil
}

// items reads the list at the stream's position, one object at a time.
func (j *jsonSplitter) items(kind string) error {
	j.drop(1)
	for n := 0; ; n++ {
		if n&0x3ff == 0 && j.o.ctx.Err() != nil {
			return j.o.ctx.Err()
		}
		c, err := j.peek()
		if err != nil {
			return err
		}
		if c == ',' {
			j.drop(1)
			if c, err = j.peek(); err != nil {
				return err
			}
		}
		if c == ']' {
			j.drop(1)
			return nil
		}
		at := j.place()
		j.buf, j.over = j.buf[:0], false
		if err := j.value(true); err != nil {
			return err
		}
		switch {
		case j.over:
			j.o.problem(at, "object-too-large", fmt.Sprintf("an object is larger than %d bytes: left out", maxObjectBytes))
		case j.buf[0] == '{':
			j.o.json(j.buf, at, kind)
		}
	}
}

// value consumes one value; with keep its text goes to buf. It checks brackets
// and strings only: the text is parsed later if it is wanted.
func (j *jsonSplitter) value(keep bool) error {
	var open [maxObjectDepth]byte
	depth, inString, escaped, taken := 0, false, false, false
	for done := false; !done; {
		if _, err := j.br.Peek(1); err != nil {
			if taken && depth == 0 && !inString {
				return nil // a number at the end of the stream
			}
			return err
		}
		block, _ := j.br.Peek(j.br.Buffered())
		i := 0
		for i < len(block) && !done {
			c := block[i]
			switch {
			case escaped:
				escaped = false
			case inString && c == '\\':
				escaped = true
			case inString && c == '"':
				inString, done = false, depth == 0
			case inString:
				for i+1 < len(block) && block[i+1] != '"' && block[i+1] != '\\' {
					i++
				}
			case c == '"' && (depth > 0 || !taken):
				inString = true
			case c == '{' || c == '[':
				if depth == maxObjectDepth {
					return &jsonSyntax{string(c), "an end to the nesting"}
				}
				open[depth] = c
				depth++
			case depth > 0 && (c == '}' || c == ']'):
				if depth--; open[depth] != c-2 {
					return &jsonSyntax{string(c), "the end of " + string(open[depth])}
				}
				done = depth == 0
			case depth == 0 && !jsonWord[c]:
				if !taken {
					return &jsonSyntax{string(c), "a value"}
				}
				done = true
				continue // the byte belongs to what follows
			}
			taken = true
			i++
		}
		if keep {
			j.keep(block[:i]...)
		}
		j.pass(block[:i])
		_, _ = j.br.Discard(i)
	}
	return nil
}

// logs reads a container log of cluster-info dump between objects.
func (j *jsonSplitter) logs() error {
	var l containerLogs
	for {
		at := j.place()
		b, err := j.br.ReadSlice('\n')
		j.pass(b)
		text := bytes.TrimRight(b, "\r\n")
		if l.open {
			if !l.line(j.o, text, at) {
				return nil
			}
		} else if !l.start(j.o, text) {
			return &jsonSyntax{clip(text, 40), "an object"}
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// json reads one object from its text.
func (o *objectStream) json(src []byte, at place, listKind string) {
	f, err := parseJSON(src, &o.tree)
	if err != nil {
		o.in.Info.Records++
		o.in.Info.Rejected++
		o.problem(at, "bad-json", "an object can't be read as json: "+err.Error())
		return
	}
	if f.ok() && f.node().kind == nodeMap {
		o.read(f, at, listKind)
	}
}
