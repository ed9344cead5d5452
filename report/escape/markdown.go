package escape

import (
	"strings"
	"unicode"
)

// MD is inline Markdown: safe in a paragraph, a list item, a heading, a table
// cell. A bar inside is already escaped.
type MD string

// Text turns a sentence into inline Markdown. Words that a forge would turn
// into a link, a mention, an issue or a formula become code spans, and so does
// what stands between two backticks; the rest is escaped character by
// character.
func Text(s string) MD {
	s = string(Visible(s))
	var b strings.Builder
	for s != "" {
		open := strings.IndexByte(s, '`')
		if open < 0 {
			break
		}
		length := strings.IndexByte(s[open+1:], '`')
		if length <= 0 {
			break
		}
		writeWords(&b, s[:open])
		b.WriteString(string(Code(s[open+1 : open+1+length])))
		s = s[open+length+2:]
	}
	writeWords(&b, s)
	return MD(b.String())
}

func writeWords(b *strings.Builder, s string) {
	for i := 0; i < len(s); {
		j := strings.IndexByte(s[i:], ' ')
		if j == 0 {
			b.WriteByte(' ')
			i++
			continue
		}
		if j < 0 {
			j = len(s) - i
		}
		writeWord(b, s[i:i+j], b.Len() == 0)
		i += j
	}
}

func writeWord(b *strings.Builder, w string, first bool) {
	if live(w) {
		// Punctuation around the word stays outside the span: it reads better.
		lead := len(w) - len(strings.TrimLeft(w, `"'([{`))
		tail := len(strings.TrimRight(w[lead:], `"')]},.;:`)) + lead
		escapeInto(b, w[:lead])
		b.WriteString(string(Code(w[lead:tail])))
		escapeInto(b, w[tail:])
		return
	}
	if first && startsBlock(w) {
		// The last character decides: "1." and "-" would start a list, "##" a heading.
		escapeInto(b, w[:len(w)-1])
		b.WriteByte('\\')
		w = w[len(w)-1:]
	}
	escapeInto(b, w)
}

// startsBlock reports whether a word at the start of a line would be read as the
// mark of a list, a heading or a rule.
func startsBlock(w string) bool {
	if strings.Trim(w, "#") == "" || strings.Trim(w, "-") == "" || strings.Trim(w, "=") == "" || w == "+" {
		return true
	}
	number := strings.TrimRight(w, ".)")
	return len(number) == len(w)-1 && strings.Trim(number, "0123456789") == ""
}

// escapeInto writes text with a backslash before each character that Markdown
// could read as markup.
func escapeInto(b *strings.Builder, s string) {
	for i := range len(s) {
		switch s[i] {
		case '\\', '`', '*', '_', '[', ']', '<', '>', '|', '~', '&', '$', '^':
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
}

// live reports whether a forge would give a word a meaning of its own: a URL,
// an e-mail address, a mention, a reference to an issue, a merge request, a
// label or a commit, an emoji, a formula.
func live(w string) bool {
	lower := strings.ToLower(w)
	if strings.Contains(lower, "://") || strings.Contains(lower, "www.") || strings.HasPrefix(lower, "mailto:") || strings.Contains(lower, "gh-") {
		return true
	}
	for i := range len(w) {
		switch w[i] {
		case '@', '$':
			return true
		case '#', '!', '%', '~', '&':
			if i+1 < len(w) && (alnum(w[i+1]) || w[i+1] == '"' || w[i+1] == '\'') {
				return true
			}
		case ':':
			if j := strings.IndexByte(w[i+1:], ':'); j > 0 && emoji(w[i+1:i+1+j]) {
				return true
			}
		}
	}
	return commit(w)
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func emoji(s string) bool {
	for i := range len(s) {
		if c := s[i]; !alnum(c) && c != '+' && c != '-' {
			return false
		}
	}
	return !strings.ContainsFunc(s[:1], unicode.IsDigit)
}

// commit reports whether a word looks like a commit id: 7 to 64 hex digits,
// letters and digits.
func commit(w string) bool {
	w = strings.Trim(w, `"'()[]{},.;:`)
	if len(w) < 7 || len(w) > 64 {
		return false
	}
	letters, digits := false, false
	for i := range len(w) {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digits = true
		case c >= 'a' && c <= 'f':
			letters = true
		default:
			return false
		}
	}
	return letters && digits
}

// Code quotes text as a code span, in which nothing is markup. A bar is set
// between two spans, because inside one it would still end a table cell.
func Code(s string) MD {
	s = string(Visible(s))
	if s == "" {
		return ""
	}
	parts := strings.Split(s, "|")
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(`\|`)
		}
		if p != "" {
			codeSpan(&b, p)
		}
	}
	return MD(b.String())
}

func codeSpan(b *strings.Builder, s string) {
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	b.WriteString(fence)
	pad := s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' && s[len(s)-1] == ' ' && strings.Trim(s, " ") != ""
	if pad {
		b.WriteByte(' ')
	}
	b.WriteString(s)
	if pad {
		b.WriteByte(' ')
	}
	b.WriteString(fence)
}

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] == c {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}

// Fence returns the marker for a code block around text: longer than any run of
// backticks inside.
func Fence(text Plain) string {
	return strings.Repeat("`", max(3, longestRun(string(text), '`')+1))
}

// Bold sets inline Markdown in bold.
func Bold(m MD) MD {
	if m == "" {
		return ""
	}
	return "**" + m + "**"
}

// Join joins inline Markdown.
func Join(parts []MD, sep MD) MD {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteString(string(sep))
		}
		b.WriteString(string(p))
	}
	return MD(b.String())
}
