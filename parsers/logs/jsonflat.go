package logs

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// flatJSON steps through the members of one JSON object without building
// anything: journal entries have 20 fields of which 6 are of use. It checks no
// more than it needs; what it cannot follow it reports as bad, and the caller
// asks encoding/json.
type flatJSON struct {
	b   []byte
	bad bool
}

// newFlatJSON begins at the object that b holds.
func newFlatJSON(b []byte) flatJSON {
	b = skipSpace(b)
	if len(b) == 0 || b[0] != '{' {
		return flatJSON{bad: true}
	}
	return flatJSON{b: b[1:]}
}

// next returns the next key (still escaped) and the raw value: a string keeps
// its quotes. ok is false at the end of the object and where it is bad.
func (f *flatJSON) next() (key, val []byte, ok bool) {
	b := skipSpace(f.b)
	if len(b) > 0 && b[0] == ',' {
		b = skipSpace(b[1:])
	}
	if len(b) > 0 && b[0] == '}' {
		f.b = b[1:]
		return nil, nil, false
	}
	if len(b) == 0 || b[0] != '"' {
		return f.fail()
	}
	end := closingQuote(b)
	if end < 0 {
		return f.fail()
	}
	key, b = b[1:end], skipSpace(b[end+1:])
	if len(b) == 0 || b[0] != ':' {
		return f.fail()
	}
	b = skipSpace(b[1:])
	n := jsonValueLen(b)
	if n <= 0 {
		return f.fail()
	}
	f.b = b[n:]
	return key, b[:n], true
}

func (f *flatJSON) fail() (key, val []byte, ok bool) {
	f.bad, f.b = true, nil
	return nil, nil, false
}

// jsonValueLen is how many bytes the value at the front of b takes, -1 when it
// does not end.
func jsonValueLen(b []byte) int {
	if len(b) == 0 {
		return -1
	}
	switch b[0] {
	case '"':
		if end := closingQuote(b); end > 0 {
			return end + 1
		}
		return -1
	case '{', '[':
		return closingBracket(b)
	}
	if i := bytes.IndexAny(b, ",}] \t\r\n"); i >= 0 {
		return i
	}
	return -1
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// jsonText appends the plain text of a raw value to dst: a string without its
// escapes, an array of byte numbers as bytes, the first string of an array of
// strings, a number or word as it stands. ok is false for null and objects.
func jsonText(dst, raw []byte) (text []byte, ok bool) {
	if len(raw) == 0 {
		return dst, false
	}
	switch raw[0] {
	case '"':
		return appendJSONString(dst, raw[1:len(raw)-1]), true
	case '[':
		return jsonArrayText(dst, raw[1:len(raw)-1])
	case '{', 'n':
		return dst, false
	}
	return append(dst, raw...), true
}

// jsonArrayText reads what journalctl writes for a field that is not UTF-8 (an
// array of numbers) or that is repeated (an array of either).
func jsonArrayText(dst, b []byte) ([]byte, bool) {
	b = skipSpace(b)
	if len(b) == 0 {
		return dst, true
	}
	if b[0] == '"' || b[0] == '[' {
		if n := jsonValueLen(b); n > 0 {
			return jsonText(dst, b[:n])
		}
		return dst, false
	}
	for len(b) > 0 {
		n, rest, ok := leadingUint(b)
		if !ok || n > 255 {
			return dst, false
		}
		dst = append(dst, byte(n))
		b = skipSpace(rest)
		if len(b) > 0 {
			if b[0] != ',' {
				return dst, false
			}
			b = skipSpace(b[1:])
		}
	}
	return dst, true
}

// appendJSONString undoes the escapes of a JSON string.
func appendJSONString(dst, b []byte) []byte {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 || i+1 >= len(b) {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		c := b[i+1]
		b = b[i+2:]
		switch c {
		case 'n':
			dst = append(dst, '\n')
		case 't':
			dst = append(dst, '\t')
		case 'r':
			dst = append(dst, '\r')
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'u':
			r, ok := hexRune(b, 4)
			if !ok {
				dst = append(dst, '\\', 'u')
				continue
			}
			b = b[4:]
			if utf16.IsSurrogate(r) {
				low, ok := rune(0), false
				if len(b) >= 6 && b[0] == '\\' && b[1] == 'u' {
					low, ok = hexRune(b[2:], 4)
				}
				if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
					b = b[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
}
