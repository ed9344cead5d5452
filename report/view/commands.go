package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// Commands lists the commands that show the records an incident rests on: those
// the analysis gave, else one per piece of evidence, and a journalctl line for
// the node itself.
func (c *Case) Commands(in *Incident) []string {
	out := slices.Clone(in.Reproduce)
	if len(out) == 0 {
		for _, role := range []string{model.RoleFor, model.RoleAgainst, model.RoleContext} {
			for _, e := range in.By(role) {
				if cmd := c.Command(e.Ref); cmd != "" {
					out = append(out, cmd)
				}
			}
		}
	}
	if !slices.ContainsFunc(out, func(s string) bool { return strings.HasPrefix(s, "journalctl") }) && !in.Window.First.IsZero() {
		from, to := in.Span()
		const layout = "2006-01-02 15:04:05"
		out = append(out, fmt.Sprintf("journalctl -u kubelet --utc --since '%s' --until '%s'",
			from.Time().Format(layout), to.Add(time.Second.Nanoseconds()*1).Time().Format(layout)))
	}
	var unique []string
	for _, s := range out {
		if !slices.Contains(unique, s) {
			unique = append(unique, s)
		}
	}
	return unique
}

// Command shows one record with the tools of every node, "" when the record is
// not in a file or its place is not known.
func (c *Case) Command(r model.Ref) string {
	s, ok := c.streams[r.Stream]
	if !ok || s.input.Path == "-" || r.Line == 0 && r.Packet == 0 {
		return ""
	}
	read := reader(s.model.Path)
	if read == "" {
		return ""
	}
	// Printed packets are numbered by line.
	if r.Packet > 0 && strings.HasPrefix(s.model.Format, "pcap") {
		return fmt.Sprintf("%s | tshark -r - -Y 'frame.number == %d'", read, r.Packet)
	}
	return fmt.Sprintf("%s | sed -n '%dp'", read, max(r.Line, r.Packet))
}

// reader prints the pipeline that writes a file or archive member to standard
// output, following the "!/" of its path.
func reader(path string) string {
	parts := strings.Split(path, "!/")
	var out strings.Builder
	for i, part := range parts {
		inner := i > 0
		outermost := i == len(parts)-1
		if inner {
			// the member was already named by the step that opened its archive
			part = ""
		}
		switch {
		case outermost && !inner:
			return unpack(parts[0])
		case outermost:
			if filter := decompressor(parts[i]); filter != "" {
				out.WriteString(" | " + filter)
			}
		case !inner:
			out.WriteString(member(parts[0], parts[1], quote(part)))
		default:
			out.WriteString(" | " + member(parts[i], parts[i+1], "-"))
		}
	}
	return out.String()
}

// unpack writes a plain or compressed file.
func unpack(name string) string {
	if f := decompressor(name); f != "" {
		return f + " " + quote(name)
	}
	return "cat " + quote(name)
}

func decompressor(name string) string {
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".gz"):
		return "gzip -dc"
	case strings.HasSuffix(lower, ".xz"):
		return "xz -dc"
	case strings.HasSuffix(lower, ".zst"):
		return "zstd -dc"
	case strings.HasSuffix(lower, ".bz2"):
		return "bzip2 -dc"
	}
	return ""
}

// member writes one member of an archive; from is the archive's quoted name or
// "-". A compressed file counts as an archive of one.
func member(archive, name, from string) string {
	lower := strings.ToLower(archive)
	tar := strings.Contains(lower, ".tar") || strings.HasSuffix(lower, ".tgz") || strings.HasSuffix(lower, ".txz")
	switch {
	case tar && from == "-" && strings.HasSuffix(lower, "gz"):
		return "tar -xzOf - " + quote(name)
	case tar:
		return "tar -xOf " + from + " " + quote(name)
	case strings.HasSuffix(lower, ".zip") && from != "-":
		return "unzip -p " + from + " " + quote(name)
	default:
		if f := decompressor(archive); f != "" && from != "-" {
			return f + " " + from
		} else if f != "" {
			return f
		}
		return "bsdtar -xOf " + from + " " + quote(name)
	}
}

// quote makes a word of the shell. Names with control characters use the form
// with escapes, so that the command can be shown as it is.
func quote(s string) string {
	plain := s != ""
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || c >= 0x7f {
			return ansiQuote(s)
		}
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_./:=,+@%", c) >= 0) {
			plain = false
		}
	}
	if plain && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func ansiQuote(s string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
