package cli

import (
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/report"
	"github.com/probe-forensics/probe-forensics/report/fleet"
	"github.com/probe-forensics/probe-forensics/report/manifest"
)

type mergeCmd struct {
	Dir    []string `arg:"" name:"dir" complete:"dirs" help:"Directory with reports in or below it."`
	Output string   `short:"o" group:"output" placeholder:"DIR" complete:"dirs" help:"Write fleet.md, fleet.html and fleet.json to DIR (default: ./merged.probe-forensics)."`
	Format []string `short:"f" group:"output" placeholder:"LIST" complete:"words term md html json" help:"Of term md html json (default: all)."`
	Since  string   `group:"select" placeholder:"TIME" help:"List what is new since TIME: RFC 3339, a day, or a duration back from the last failed attempt (7d)."`
}

// Help says what is summed up.
func (*mergeCmd) Help() string {
	return `Sums up the reports of many cases: causes by cluster, node, namespace, owner and day, what recurs, and what is new since a date. It takes every report.json that has its manifest.json beside it, and tells which bundles have no report. A bundle with two reports counts once, by the one of the later DIR; an incident that two bundles of a cluster hold counts once as well.

    probe-forensics merge fleet --since 7d
    probe-forensics merge shard-0 shard-1 shard-2 -o monthly`
}

// mergedDir is where the fleet report goes by default.
const mergedDir = "merged" + reportSuffix

var mergeFormats = []string{"term", "md", "html", "json"}

// Run reads the reports and writes one about all.
func (c *mergeCmd) Run(rt *session) error {
	formats := c.Format
	if len(formats) == 0 {
		formats = mergeFormats
	}
	for _, f := range formats {
		if !slices.Contains(mergeFormats, f) {
			return usagef("--format: unknown format %q", f).try("one of %s", strings.Join(mergeFormats, ", "))
		}
	}
	since, err := parseSince(c.Since)
	if err != nil {
		return err
	}
	b := fleet.New()
	reports := 0
	for i, dir := range c.Dir {
		prefix := ""
		if len(c.Dir) > 1 {
			prefix = filepath.Base(filepath.Clean(dir)) + "/"
			if slices.IndexFunc(c.Dir, func(d string) bool { return filepath.Base(filepath.Clean(d)) == filepath.Base(filepath.Clean(dir)) }) < i {
				prefix = filepath.ToSlash(filepath.Clean(dir)) + "/"
			}
		}
		n, err := rt.collect(b, dir, prefix)
		if err != nil {
			return err
		}
		reports += n
	}
	if reports == 0 {
		return failf("%s: no report.json with a manifest.json beside it", strings.Join(c.Dir, ", ")).try("%s analyze --each -o DIR BUNDLE...", programName)
	}
	return c.write(rt, b.Report(since), formats)
}

// parseSince reads --since: as elsewhere, or a day.
func parseSince(text string) (fleet.Since, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return fleet.Since{At: event.FromTime(day)}, nil
	}
	at, ago, err := parseMoment("--since", text)
	return fleet.Since{At: at, Ago: ago}, err
}

// collect adds the reports below a directory, and the rows of bundles that have
// none. It returns how many reports there were.
func (rt *session) collect(b *fleet.Builder, dir, prefix string) (reports int, err error) {
	err = filepath.WalkDir(dir, func(path string, de fs.DirEntry, err error) error {
		if err == nil {
			err = rt.ctx.Err()
		}
		if err != nil || !de.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name := prefix + strings.TrimSuffix(filepath.ToSlash(filepath.Dir(rel)), "/")
		if rel == "report.json" {
			name = prefix + filepath.Base(filepath.Clean(dir))
		}
		switch {
		case de.Name() == "report.json":
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), manifest.FileName)); err != nil {
				return nil // unfinished, or out of date
			}
			reports++
			res, err := readReport(path)
			if err != nil {
				rt.log.Warn("a report could not be read", "path", path, "why", err)
				b.Fail(name, "its report could not be read: "+reasonOf(err))
				return nil
			}
			b.Add(name, res)
		case filepath.Base(filepath.Dir(path)) == "runs" && strings.HasSuffix(path, ".json"):
			if row := readRow(path); row != nil && row.Status == statusFailed {
				bundle := row.Bundle
				if bundle == "" {
					bundle = row.Case
				}
				b.Fail(bundle, row.Error)
			}
		}
		return nil
	})
	if err != nil && !interrupted(err) {
		err = failf("%w", err)
	}
	return reports, err
}

// reasonOf is an error's text without the place of the file, so that a fleet
// report does not depend on it.
func reasonOf(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}

// readRow reads a row of runs/, nil when the file is something else.
func readRow(path string) *runRow {
	data, err := os.ReadFile(path)
	row := new(runRow)
	if err != nil || json.Unmarshal(data, row) != nil {
		return nil
	}
	return row
}

// write writes the chosen formats.
func (c *mergeCmd) write(rt *session, r *fleet.Report, formats []string) error {
	dir := c.Output
	if dir == "" {
		dir = mergedDir
	}
	out := report.NewDir(dir, rt.stdout)
	for name, write := range map[string]func(io.Writer) error{"md": r.WriteMarkdown, "html": r.WriteHTML, "json": r.WriteJSON} {
		if !slices.Contains(formats, name) {
			continue
		}
		w, err := out.Create("fleet." + name)
		if err == nil {
			if err = write(w); err == nil {
				err = w.Close()
			}
		}
		if err != nil {
			_ = out.Discard()
			return wrapOutput(err, dir)
		}
	}
	wrote := len(out.Written()) > 0
	if wrote {
		if err := out.Commit(); err != nil {
			_ = out.Discard()
			return wrapOutput(err, dir)
		}
	}
	if slices.Contains(formats, "term") {
		if err := r.WriteText(rt.stdout); err != nil {
			return failf("%w", err)
		}
	}
	if wrote {
		rt.say("%s: wrote %s\n", programName, dir)
	}
	return nil
}
