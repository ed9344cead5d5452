package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/charmbracelet/x/term"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/report"
	"github.com/probe-forensics/probe-forensics/report/manifest"
	"github.com/probe-forensics/probe-forensics/report/redact"
	reportterm "github.com/probe-forensics/probe-forensics/report/term"
)

// outputFlags say what is written where.
type outputFlags struct {
	Output    string   `short:"o" group:"output" placeholder:"DIR" complete:"dirs" help:"Write the reports to DIR, which may exist (default: ./INPUT.probe-forensics, after the first input)."`
	Format    []string `short:"f" group:"output" placeholder:"LIST" complete:"words ${formats}" help:"Of ${formats} (default: ${defaultFormats})."`
	Flavor    string   `group:"output" enum:"github,gitlab,plain" default:"github" placeholder:"FLAVOR" help:"Markdown for github, gitlab or plain."`
	Redact    bool     `group:"output" help:"Replace names, addresses and MACs in every output, each always by the same pseudonym."`
	RedactMap string   `group:"output" placeholder:"FILE" complete:"files" help:"With --redact: write originals and pseudonyms to FILE, which undoes the redaction: keep it apart from the reports."`
}

// formatVars fills ${formats} and ${defaultFormats} from the registry.
func formatVars() kong.Vars {
	return kong.Vars{
		"formats":        strings.Join(report.Formats(), " "),
		"defaultFormats": strings.Join(report.DefaultFormats(), ","),
	}
}

// formats checks the list of formats; empty means the default.
func (f *outputFlags) formats() ([]string, error) {
	if len(f.Format) == 0 {
		return report.DefaultFormats(), nil
	}
	for _, name := range f.Format {
		if _, err := report.Lookup(name); err != nil {
			e := usagef("--format: unknown format %q", name)
			if near := nearest(name, report.Formats()); near != "" {
				return nil, e.try("did you mean %q?", near)
			}
			return nil, e.try("one of %s", strings.Join(report.Formats(), ", "))
		}
	}
	return f.Format, nil
}

// reportSuffix ends the name of the default report directory. Directories with
// this ending are never read as input, so that a second run over the same
// directory gives the same result.
const reportSuffix = source.ReportSuffix

// redacted replaces what identifies people's clusters, and writes the map.
func (f *outputFlags) redacted(rt *session, res *model.Result, settings []manifest.Setting) (*model.Result, []manifest.Setting, error) {
	if !f.Redact {
		return res, settings, nil
	}
	out, names, err := redact.Apply(rt.ctx, res)
	if err != nil {
		return nil, nil, err
	}
	for i := range settings {
		settings[i].Value = names.Text(settings[i].Value)
	}
	settings = append(settings, manifest.Setting{Key: "redact", Value: "true"})
	if f.RedactMap != "" {
		err = store.WriteFile(f.RedactMap, 0o600, names.Write)
	}
	return out, settings, err
}

// checkRedaction refuses a map inside the directory that is handed on.
func (f *outputFlags) checkRedaction(dir string) error {
	if f.RedactMap == "" {
		return nil
	}
	if !f.Redact {
		return usagef("--redact-map without --redact: there is nothing to map").try("--redact --redact-map %s", f.RedactMap)
	}
	if store.IsURL(f.RedactMap) {
		return usagef("--redact-map %s: the map undoes the redaction and is written to a file only", f.RedactMap)
	}
	absMap, errMap := filepath.Abs(f.RedactMap)
	absDir, errDir := filepath.Abs(dir)
	if rel, err := filepath.Rel(absDir, absMap); errMap == nil && errDir == nil && err == nil && filepath.IsLocal(rel) {
		return usagef("--redact-map %s lies in the directory of the reports: it would be handed on with them", f.RedactMap)
	}
	return nil
}

// dir is the directory of the reports. It must not be an input: a report in the
// place of what it was made from would destroy evidence.
func (f *outputFlags) dir(rt *session, inputs []string) (string, error) {
	dir := f.Output
	if dir == "" {
		return defaultDir(inputs[0])
	}
	if store.IsURL(dir) {
		for _, in := range inputs {
			if rel, ok := store.Within(in, dir); ok && rel == "." {
				return "", usagef("--output %s is an input: reports would lie among the evidence", dir).try("another prefix")
			}
		}
		_, err := rt.storeOf(dir)
		return dir, err
	}
	for _, in := range inputs {
		if sameFile(in, dir) {
			return "", usagef("--output %s is an input: reports would lie among the evidence", dir).try("another directory")
		}
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "", usagef("--output %s is a file, not a directory", dir)
	}
	return dir, nil
}

// sameFile reports whether two names lead to one file or directory.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// defaultDir names the directory after the first input, in the current
// directory.
func defaultDir(input string) (string, error) {
	if input == "-" {
		return "stdin" + reportSuffix, nil
	}
	abs, err := filepath.Abs(input) // "." and ".." have no name of their own
	if err != nil {
		return "", failf("%s: %w", input, err)
	}
	base := filepath.Base(abs)
	if base == string(filepath.Separator) {
		base = "root"
	}
	return base + reportSuffix, nil
}

// terminal describes standard output to the terminal summary.
func (rt *session) terminal() reportterm.Options {
	o := reportterm.Options{
		Color: rt.colorful(), ForceColor: rt.color == "always" || rt.color != "never" && rt.env("NO_COLOR") == "" && rt.env("CLICOLOR_FORCE") != "" && rt.env("CLICOLOR_FORCE") != "0",
		TTY: isTerminal(rt.stdout), Unicode: rt.unicode(),
	}
	if f, ok := rt.stdout.(*os.File); ok && o.TTY {
		if width, _, err := term.GetSize(f.Fd()); err == nil {
			o.Width = width
		}
	}
	return o
}

// unicode reports whether the locale is one of UTF-8.
func (rt *session) unicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToUpper(rt.env(name)); v != "" {
			return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
		}
	}
	return false
}

// writesFiles reports whether any of the formats writes to the directory.
func writesFiles(formats []string, o report.Options) bool {
	return slices.ContainsFunc(formats, func(name string) bool {
		r, err := report.Lookup(name)
		return err == nil && len(r.Files(o)) > 0
	})
}
