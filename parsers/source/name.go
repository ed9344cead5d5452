package source

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// memberName turns the name a container gives to a member into a clean relative
// path, or reports why the member must not be touched. An absolute name becomes
// one relative to the archive, as every unpacker makes it.
func memberName(name string) (clean, refuse string) {
	if !strings.Contains(name, "/") && strings.Contains(name, `\`) {
		name = strings.ReplaceAll(name, `\`, "/") // zip files written by old Windows tools
	}
	parts := strings.Split(name, "/")
	kept := parts[:0]
	for _, p := range parts {
		switch p {
		case "", ".":
		case "..":
			return "", "its name climbs out of the archive: " + printable(name)
		default:
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		return "", "it has no name"
	}
	return printable(strings.Join(kept, "/")), ""
}

// maxName bounds how much of a member's name is kept.
const maxName = 4096

// printable escapes what could do harm on a terminal or deceive a reader:
// control characters, bidirectional overrides, invalid UTF-8.
func printable(s string) string {
	clean := len(s) <= maxName
	for i := 0; clean && i < len(s); i++ {
		clean = s[i] >= ' ' && s[i] < 0x7f
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < maxName; {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// displayNames names the inputs by their base names, with as much of the path in
// front as it takes to tell equal ones apart, and a number where nothing does.
// So outputs do not depend on where a bundle lies.
func displayNames(inputs []string) []string {
	parts := make([][]string, len(inputs))
	for i, in := range inputs {
		if in == "-" {
			parts[i] = []string{"stdin"}
			continue
		}
		if abs, err := filepath.Abs(in); err == nil && (in == "." || in == ".." || strings.HasSuffix(in, "..")) {
			in = abs
		}
		parts[i] = strings.FieldsFunc(filepath.ToSlash(filepath.Clean(in)), func(r rune) bool { return r == '/' })
		if len(parts[i]) == 0 {
			parts[i] = []string{"root"}
		}
	}
	tail := func(i, n int) string { return strings.Join(parts[i][max(0, len(parts[i])-n):], "/") }
	names := make([]string, len(inputs))
	used := make(map[string]int)
	for i := range inputs {
		n := 1
		for ; n < len(parts[i]); n++ {
			alone := true
			for j := range inputs {
				alone = alone && (i == j || tail(i, n) != tail(j, n))
			}
			if alone {
				break
			}
		}
		name := printable(tail(i, n))
		used[name]++
		if used[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, used[name])
		}
		names[i] = name
	}
	return names
}
