// Package escape makes text from inputs harmless in the place where a report
// shows it.
//
// A log line can hold anything: terminal sequences, characters that reverse the
// reading direction or take no width, Markdown, HTML, mentions. Each target has
// a string type of its own (MD, Mermaid, Plain). Constants of the source
// convert to it by themselves, variables of type string don't: they have to
// pass through this package, and the compiler sees to it.
package escape

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain is text without characters that are obeyed instead of shown; it may
// still hold the markup of any target. It is what terminals get, and what
// html/template escapes further.
type Plain string

// Visible returns s on one line with everything invisible written out: ESC as
// \x1b, a line feed as \n, a right-to-left override as \u202e, bytes that are
// not UTF-8 as \xff.
func Visible(s string) Plain { return Plain(visible(s, false)) }

// Lines is Visible for text of several lines: line feeds stay, a carriage
// return before one goes, tabs become spaces.
func Lines(s string) Plain { return Plain(visible(s, true)) }

// Cut is Visible shortened to at most n characters, the last one an ellipsis
// ("..." in ASCII) where something was left out.
func Cut(s string, n int) Plain {
	v := string(Visible(s))
	if utf8.RuneCountInString(v) <= n {
		return Plain(v)
	}
	runes := []rune(v)
	return Plain(string(runes[:max(n-3, 0)]) + "...")
}

func visible(s string, lines bool) string {
	if printable(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteString(`\x`)
			b.WriteString(hex(uint64(s[i]), 2))
		case lines && r == '\n':
			b.WriteByte('\n')
		case lines && r == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case lines && r == '\t':
			b.WriteString("    ")
		case shown(r):
			b.WriteString(s[i : i+n])
		default:
			writeEscape(&b, r)
		}
		i += n
	}
	return b.String()
}

// printable is the fast path: ASCII without control characters.
func printable(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			return false
		}
	}
	return true
}

// shown reports whether a character is seen as itself: letters, digits, marks,
// punctuation, symbols and the ASCII space. Everything else is a control or
// format character, a space that looks like another one, or unassigned.
func shown(r rune) bool { return unicode.IsPrint(r) && !blank(r) }

// blank holds the printable characters by category that take no ink or change
// their neighbours silently: fillers, variation selectors, the grapheme joiner.
func blank(r rune) bool {
	switch {
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x2800, r == 0x3164, r == 0xffa0, r == 0xfffc:
		return true
	case r >= 0x180b && r <= 0x180f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

func writeEscape(b *strings.Builder, r rune) {
	switch r {
	case '\n':
		b.WriteString(`\n`)
	case '\r':
		b.WriteString(`\r`)
	case '\t':
		b.WriteString(`\t`)
	default:
		switch {
		case r < 0x80:
			b.WriteString(`\x`)
			b.WriteString(hex(uint64(r), 2))
		case r < 0x10000:
			b.WriteString(`\u`)
			b.WriteString(hex(uint64(r), 4))
		default:
			b.WriteString(`\U`)
			b.WriteString(hex(uint64(r), 8))
		}
	}
}

func hex(v uint64, width int) string {
	s := strconv.FormatUint(v, 16)
	return strings.Repeat("0", max(width-len(s), 0)) + s
}

// ASCII replaces what is left beyond ASCII by escapes, for terminals that are
// not UTF-8.
func ASCII(p Plain) Plain {
	if printable(string(p)) {
		return p
	}
	var b strings.Builder
	for _, r := range string(p) {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			writeEscape(&b, r)
		}
	}
	return Plain(b.String())
}

// JSON replaces the invisible characters of encoded JSON by its own \u escapes,
// so that showing a JSON file at a terminal is harmless, and the replacement
// character, which encoding/json writes both ways. JSON has such characters
// inside strings only.
func JSON(b []byte) []byte {
	clean := true
	for _, c := range b {
		if c >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return b
	}
	out := make([]byte, 0, len(b)+len(b)/16)
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r < 0x7f || shown(r) && r != utf8.RuneError:
			out = append(out, b[i:i+n]...)
		case r >= 0x10000:
			r -= 0x10000
			out = append(out, `\u`+hex(uint64(0xd800+r>>10), 4)+`\u`+hex(uint64(0xdc00+r&0x3ff), 4)...)
		default:
			out = append(out, `\u`+hex(uint64(r), 4)...)
		}
		i += n
	}
	return out
}
