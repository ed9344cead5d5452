package escape

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mermaid is a label inside a Mermaid diagram. Characters with a meaning in any
// of its grammars stand as #NN; codes, which Mermaid decodes after parsing.
type Mermaid string

// Label turns text into a Mermaid label of at most n characters (before
// encoding).
func Label(s string, n int) Mermaid {
	p := string(Cut(s, n))
	var b strings.Builder
	for i, r := range p {
		switch {
		case r >= 0x80, r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case r == ' ', r == '/', r == '_', r == '(', r == ')':
			b.WriteRune(r)
		case r == '.' && i > 0 && !startsList(p[:i]), r == ',' && i > 0:
			// "1." at the start of a label would be a Markdown list to some versions
			b.WriteRune(r)
		case r == '-' && i > 0 && !strings.HasPrefix(p[i+1:], "-") && !strings.HasPrefix(p[i+1:], ">"):
			// a single dash inside a name is no arrow
			b.WriteRune(r)
		default:
			b.WriteByte('#')
			b.WriteString(strconv.Itoa(int(r)))
			b.WriteByte(';')
		}
	}
	if b.Len() == 0 {
		return "-"
	}
	return reserved(b.String())
}

// reserved keeps a label from being a keyword of the diagram grammars: "end"
// alone closes a block in a sequence diagram.
func reserved(s string) Mermaid {
	first, rest, _ := strings.Cut(s, " ")
	switch strings.ToLower(first) {
	case "end", "loop", "alt", "else", "opt", "par", "and", "rect", "note", "activate", "deactivate", "autonumber",
		"participant", "actor", "title", "section", "critical", "break", "option", "box", "create", "destroy", "links", "link",
		"properties", "details", "over", "accdescr", "acctitle", "click", "done", "active", "crit", "milestone", "vert", "after", "until":
		r, n := utf8.DecodeRuneInString(first)
		coded := "#" + strconv.Itoa(int(r)) + ";" + first[n:]
		if rest != "" {
			coded += " " + rest
		}
		return Mermaid(coded)
	}
	return Mermaid(s)
}

func startsList(before string) bool {
	return before != "" && !strings.ContainsFunc(before, func(r rune) bool { return !unicode.IsDigit(r) })
}
