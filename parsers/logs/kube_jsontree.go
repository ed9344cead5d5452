package logs

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

var errJSONEnd = errors.New("ends inside a value")

// jsonObject reads one JSON value into an objectTree.
type jsonObject struct {
	src   []byte
	pos   int
	depth int
	t     *objectTree
}

// parseJSON reads one JSON value that fills src into t and returns its root.
func parseJSON(src []byte, t *objectTree) (field, error) {
	t.reset()
	j := &jsonObject{src: src, t: t}
	root, err := j.value(nil)
	if err == nil {
		if j.space(); j.pos < len(j.src) {
			err = fmt.Errorf("byte %d: text after the value", j.pos)
		}
	}
	if err != nil {
		return field{}, err
	}
	return field{t, root}, nil
}

func (j *jsonObject) space() {
	for j.pos < len(j.src) && (j.src[j.pos] == ' ' || j.src[j.pos] == '\n' || j.src[j.pos] == '\t' || j.src[j.pos] == '\r') {
		j.pos++
	}
}

// peek skips blanks and returns the next byte, 0 at the end.
func (j *jsonObject) peek() byte {
	if j.space(); j.pos < len(j.src) {
		return j.src[j.pos]
	}
	return 0
}

func (j *jsonObject) value(key []byte) (int32, error) {
	switch c := j.peek(); {
	case c == '{':
		return j.collection(key, nodeMap, '}')
	case c == '[':
		return j.collection(key, nodeList, ']')
	case c == '"':
		text, err := j.str()
		if err != nil {
			return 0, err
		}
		return j.t.add(treeNode{kind: nodeScalar, key: key, text: text, quoted: true})
	case c == 0:
		return 0, errJSONEnd
	}
	start := j.pos
	for j.pos < len(j.src) && jsonWord[j.src[j.pos]] {
		j.pos++
	}
	text := j.src[start:j.pos]
	if len(text) == 0 {
		return 0, fmt.Errorf("byte %d: %q is no value", start, j.src[start])
	}
	if string(text) == "null" {
		return j.t.add(treeNode{kind: nodeNull, key: key})
	}
	return j.t.add(treeNode{kind: nodeScalar, key: key, text: text})
}

// jsonWord holds the bytes of numbers and literals.
var jsonWord = func() (t [256]bool) {
	for _, c := range "+-.0123456789abcdefghijklmnopqrstuvwxyzE" {
		t[c] = true
	}
	return t
}()

func (j *jsonObject) collection(key []byte, kind nodeKind, closer byte) (int32, error) {
	if j.depth++; j.depth > maxObjectDepth {
		return 0, errTooDeep
	}
	defer func() { j.depth-- }()
	id, err := j.t.add(treeNode{kind: kind, key: key})
	if err != nil {
		return 0, err
	}
	j.pos++
	last := int32(0)
	for first := true; ; first = false {
		c := j.peek()
		if c == closer {
			j.pos++
			return id, nil
		}
		if !first {
			if c != ',' {
				return 0, j.unexpected(c)
			}
			j.pos++
			c = j.peek()
		}
		var k []byte
		if kind == nodeMap {
			if c != '"' {
				return 0, j.unexpected(c)
			}
			if k, err = j.str(); err != nil {
				return 0, err
			}
			if c = j.peek(); c != ':' {
				return 0, j.unexpected(c)
			}
			j.pos++
			if unreadKey(k) {
				if err := j.skip(); err != nil {
					return 0, err
				}
				continue
			}
		}
		child, err := j.value(k)
		if err != nil {
			return 0, err
		}
		last = j.t.link(id, last, child)
	}
}

func (j *jsonObject) unexpected(c byte) error {
	if c == 0 {
		return errJSONEnd
	}
	return fmt.Errorf("byte %d: unexpected %q", j.pos, c)
}

// skip leaves one value unread, by its brackets alone.
func (j *jsonObject) skip() error {
	depth := 0
	for ; ; j.pos++ {
		switch c := j.peek(); c {
		case 0:
			return errJSONEnd
		case '"':
			n := jsonStringLen(j.src[j.pos:])
			if n < 0 {
				return errJSONEnd
			}
			j.pos += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return nil // the end of the object around it
			}
		case ',':
			if depth == 0 {
				return nil
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			j.pos++
			return nil
		}
	}
}

// jsonStringLen returns the length of the string at the start of b, quotes
// included, -1 if it does not end.
func jsonStringLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return -1
}

// str reads the string at pos. Without escapes it is a slice of the source.
func (j *jsonObject) str() ([]byte, error) {
	n := jsonStringLen(j.src[j.pos:])
	if n < 0 {
		return nil, errJSONEnd
	}
	raw := j.src[j.pos+1 : j.pos+n-1]
	j.pos += n
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, nil
	}
	if cap(j.t.store)-len(j.t.store) < len(raw)+utf8.UTFMax {
		j.t.store = make([]byte, 0, max(16<<10, 2*len(raw)))
	}
	start := len(j.t.store)
	j.t.store = appendJSONString(j.t.store, raw)
	return j.t.store[start:], nil
}
