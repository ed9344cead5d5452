package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Commands lists the commands that show the records an incident rests on, to be
// run where the inputs lie: those the analysis gave, else one per piece of
// evidence and a journalctl line for the node itself.
func (c *Case) Commands(in *Incident) []string {
	if len(in.Reproduce) > 0 {
		return in.Reproduce
	}
	var out []string
	add := func(cmd string) {
		if cmd != "" && !slices.Contains(out, cmd) {
			out = append(out, cmd)
		}
	}
	for _, role := range []string{model.RoleFor, model.RoleAgainst, model.RoleContext} {
		for _, e := range in.By(role) {
			if s := c.streams[e.Ref.Stream]; s.model != nil && s.model.Format == "journal-binary" && s.input.Path != "-" {
				if !e.Time.IsZero() {
					add(journalFile(s.model.Path, e.Time.Nanos))
				}
				continue
			}
			add(c.Command(e.Ref))
		}
	}
	if !in.Window.First.IsZero() {
		from, to := in.Span()
		cmd := "journalctl -u kubelet --utc" + between(from, to)
		if in.Node != "" {
			cmd += " # on " + quote(in.Node)
		}
		out = append(out, cmd)
	}
	return out
}

// between bounds what journalctl prints. Without the zone it would take the times
// for those of the machine's own.
func between(from, to event.Nanos) string {
	const layout = "2006-01-02 15:04:05 UTC"
	return fmt.Sprintf(" --since '%s' --until '%s'", from.Time().Format(layout), to.Add(time.Second).Time().Format(layout))
}

// journalFile shows the entries of a binary journal around a record: they have
// no numbers. journalctl reads files, not pipes, so a member of an archive is
// written to one first.
func journalFile(path string, at event.Nanos) string {
	show := " -o short-precise --utc" + between(at.Add(-time.Second), at.Add(time.Second))
	read := reader(path)
	if file, ok := strings.CutPrefix(read, "cat "); ok {
		return "journalctl --file " + file + show
	}
	return read + " > extracted.journal && journalctl --file extracted.journal" + show
}

// Lines that are shown of a record that has many.
const (
	objectLines  = 40
	verboseLines = 25
)

// Command shows one record with the tools of every node, "" when the record is
// not in a file or its place is not known.
func (c *Case) Command(r model.Ref) string {
	s, ok := c.streams[r.Stream]
	if !ok || s.input.Path == "-" || r.Line == 0 && r.Packet == 0 {
		return ""
	}
	read := reader(s.model.Path)
	if r.Packet > 0 && strings.HasPrefix(s.model.Format, "pcap") {
		filter := fmt.Sprintf("-Y 'frame.number == %d'", r.Packet)
		if file, ok := strings.CutPrefix(read, "cat "); ok {
			return "tshark -r " + file + " " + filter
		}
		return read + " | tshark -r - " + filter
	}
	// Printed packets are numbered by line.
	line := max(r.Line, r.Packet)
	script := fmt.Sprintf("sed -n '%dp'", line)
	switch s.model.Format {
	case "kube-yaml":
		script = fmt.Sprintf("sed -n '%d,%dp'", line, line+objectLines)
	case "journal-verbose":
		script = fmt.Sprintf("sed -n '%d,%dp'", line, line+verboseLines)
	case "journal-export":
		script = fmt.Sprintf("sed -n '%d,/^$/p'", line)
	}
	if file, ok := strings.CutPrefix(read, "cat "); ok {
		return script + " " + file
	}
	return read + " | " + script
}

// reader prints the pipeline that writes a file to standard output, following
// the "!/" of its path from archive to member.
func reader(path string) string {
	parts := strings.Split(path, "!/")
	if len(parts) == 1 {
		return "cat " + file(path)
	}
	var steps []string
	for i, archive := range parts[:len(parts)-1] {
		steps = append(steps, member(archive, parts[i+1], i == 0))
	}
	return strings.Join(steps, " | ")
}

// member writes one member of an archive, which is a file (outer) or standard
// input. A compressed file is an archive of one, whose name does not matter.
func member(archive, name string, outer bool) string {
	lower := strings.ToLower(archive)
	from := "-"
	if outer {
		from = file(archive)
	}
	tar := ""
	for suffix, flags := range map[string]string{".tar": "-xOf", ".tar.gz": "-xzOf", ".tgz": "-xzOf", ".tar.xz": "-xJOf", ".txz": "-xJOf",
		".tar.bz2": "-xjOf", ".tbz2": "-xjOf", ".tar.zst": "--zstd -xOf", ".tzst": "--zstd -xOf"} {
		if strings.HasSuffix(lower, suffix) {
			tar = flags
		}
	}
	if tar != "" {
		return "tar " + tar + " " + from + " " + entry(name)
	}
	for suffix, program := range map[string]string{".gz": "gzip", ".xz": "xz", ".zst": "zstd", ".bz2": "bzip2"} {
		if strings.HasSuffix(lower, suffix) {
			if outer {
				return program + " -dc " + from
			}
			return program + " -dc"
		}
	}
	if strings.HasSuffix(lower, ".zip") && outer {
		return "unzip -p " + from + " " + quote(name)
	}
	return "bsdtar -xOf " + from + " " + entry(name)
}

// file makes a word that no program takes for an option.
func file(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return quote(path)
}

// entry names a member of an archive, which can't be called by another path.
func entry(name string) string {
	if strings.HasPrefix(name, "-") {
		return "-- " + quote(name)
	}
	return quote(name)
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
	if plain {
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
