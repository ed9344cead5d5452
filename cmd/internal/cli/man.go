package cli

import (
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// writeMan writes the manual page from the grammar, in man(7) macros. The page
// is committed (docs/man) and a test keeps it in step: packages and people
// without the tool read it too.
func writeMan(w io.Writer, app *kong.Application) error {
	s := &scriptWriter{w: w}
	s.line(`.\" Generated from the command line's grammar by the tests of cmd/internal/cli.`)
	s.line(`.TH PROBE\-FORENSICS 1 "" "" "User Commands"`)
	s.line(".SH NAME\nprobe\\-forensics \\- explain why Kubernetes probes failed")
	s.line(".SH SYNOPSIS")
	for _, verb := range app.Children {
		if !verb.Hidden {
			s.line(".B %s %s\n%s\n.br", roff(programName), roff(verb.Name), roff(argumentSummary(verb)))
		}
	}
	s.line(".SH DESCRIPTION")
	s.line("%s", roff(app.Help))
	s.line("It reads files, directories and archives without unpacking them, needs no network and changes nothing but the directory it writes its reports to.")
	s.line(".SH COMMANDS")
	for _, verb := range app.Children {
		if verb.Hidden {
			continue
		}
		s.line(".SS %s", roff(verb.Name))
		s.line("%s", roff(verb.Help))
		s.paragraphs(verb.Detail)
		for _, f := range verb.Flags {
			s.manFlag(f)
		}
	}
	s.line(".SH OPTIONS OF EVERY COMMAND")
	for _, f := range app.Flags {
		s.manFlag(f)
	}
	s.line(".SH EXIT STATUS")
	for _, code := range exitCodes {
		s.line(".TP\n.B %d\n%s", code.code, roff(code.meaning))
	}
	s.line(".SH ENVIRONMENT")
	s.line(".TP\n.B PROBE_FORENSICS_\\fIFLAG\\fP\nThe value of a flag that is not given: upper case, with underscores for dashes.")
	s.line(".TP\n.B NO_COLOR, CLICOLOR_FORCE, TERM\nDecide on colour as long as \\-\\-color is auto.")
	s.line(".TP\n.B TMPDIR\nWhere kept events go when they exceed the memory limit.")
	s.line(".SH FILES")
	s.line(".TP\n.I ./%s\nSettings of the directory: flags by their long names.", roff(projectFile))
	s.line(".TP\n.I $XDG_CONFIG_HOME/%s/%s\nSettings of the user; those of the directory win.", roff(programName), roff(userFile))
	return s.err
}

// exitCodes is the table of CONTRACT: code and meaning.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{ExitDone, "The work was done, with or without findings."},
	{ExitFailed, "Nothing was readable in any input, or an output could not be written."},
	{ExitUsage, "The command line or the configuration is wrong."},
	{ExitFailOn, "A cause named by --fail-on was found."},
	{ExitDamaged, "With --strict: an input was damaged or partly unreadable."},
	{ExitInterrupted, "Interrupted by a signal."},
}

func argumentSummary(verb *kong.Node) string {
	var parts []string
	for _, p := range verb.Positional {
		parts = append(parts, p.Summary())
	}
	if len(verb.Flags) > 0 {
		parts = append(parts, "[flags]")
	}
	return strings.Join(parts, " ")
}

func (s *scriptWriter) manFlag(f *kong.Flag) {
	if f.Hidden {
		return
	}
	s.line(".TP\n.B %s\n%s", roff(f.String()), roff(f.Help))
}

// paragraphs writes a help text; indented lines are shown as they are.
func (s *scriptWriter) paragraphs(text string) {
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		switch {
		case block == "":
		case strings.HasPrefix(block, "    "):
			s.line(".PP\n.nf\n.RS\n%s\n.RE\n.fi", roff(strings.ReplaceAll(strings.TrimPrefix(block, "    "), "\n    ", "\n")))
		default:
			s.line(".PP\n%s", roff(block))
		}
	}
}

// roff escapes text: backslashes, dashes that must stay dashes, and lines that
// begin like a macro.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
