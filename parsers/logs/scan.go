package logs

import (
	"bytes"
	"unicode/utf8"
)

// cut returns what stands before and after the first occurrence of sep.
func cutByte(b []byte, sep byte) (before, after []byte, found bool) {
	if i := bytes.IndexByte(b, sep); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, false
}

// after returns what follows prefix, and whether b begins with it.
func after(b []byte, prefix string) ([]byte, bool) {
	if len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix {
		return b[len(prefix):], true
	}
	return b, false
}

// between returns what stands between the first open and the next closing text.
func between(b []byte, open, closing string) ([]byte, bool) {
	i := bytes.Index(b, []byte(open))
	if i < 0 {
		return nil, false
	}
	b = b[i+len(open):]
	j := bytes.Index(b, []byte(closing))
	if j < 0 {
		return nil, false
	}
	return b[:j], true
}

// leadingUint reads the decimal digits that b begins with, at most 18 of them.
func leadingUint(b []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for i < len(b) && i < 18 && isDigit(b[i]) {
		n = n*10 + int64(b[i]-'0')
		i++
	}
	return n, b[i:], i > 0
}

// allDigits reads b as a decimal number; false when anything else is in it.
func allDigits(b []byte) (int64, bool) {
	n, rest, ok := leadingUint(b)
	return n, ok && len(rest) == 0
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func isHex(c byte) bool { return c-'0' <= 9 || (c|0x20)-'a' <= 5 }

// two reads two digits, or -1.
func two(b []byte) int {
	if isDigit(b[0]) && isDigit(b[1]) {
		return int(b[0]-'0')*10 + int(b[1]-'0')
	}
	return -1
}

// twoPadded reads two digits of which the first may be a blank, or -1.
func twoPadded(b []byte) int {
	if b[0] == ' ' && isDigit(b[1]) {
		return int(b[1] - '0')
	}
	return two(b)
}

// clip makes a string of at most limit bytes out of b, cut between characters;
// bytes that are not UTF-8 become U+FFFD.
func clip(b []byte, limit int) string {
	if len(b) > limit {
		b = b[:limit]
		for i := 0; i < utf8.UTFMax-1 && len(b) > 0; i++ {
			if r, n := utf8.DecodeLastRune(b); r != utf8.RuneError || n != 1 {
				break
			}
			b = b[:len(b)-1]
		}
	}
	if utf8.Valid(b) {
		return string(b)
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD")))
}

// skipBlanks drops leading blanks and tabs.
func skipBlanks(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}
