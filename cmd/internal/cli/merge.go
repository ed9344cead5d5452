package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
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
			prefix = baseName(dir) + "/"
			if slices.IndexFunc(c.Dir, func(d string) bool { return baseName(d) == baseName(dir) }) < i {
				prefix = bundleName(dir) + "/"
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
	s, err := rt.storeOf(dir)
	if err != nil {
		return 0, err
	}
	finished := map[string]bool{} // directories with a manifest
	var files []source.Listed
	err = s.List(rt.ctx, dir, func(rel string, o source.Object) error {
		parent, base := path.Split(rel)
		switch {
		case base == manifest.FileName:
			finished[parent] = true
		case base == "report.json", path.Base(parent) == "runs" && strings.HasSuffix(base, ".json"):
			files = append(files, source.Listed{Rel: rel, Object: o})
		}
		return nil
	})
	if err != nil {
		if !interrupted(err) {
			err = failf("%w", err)
		}
		return 0, err
	}
	slices.SortFunc(files, func(a, b source.Listed) int { return strings.Compare(a.Rel, b.Rel) })
	for _, f := range files {
		if err := rt.ctx.Err(); err != nil {
			return reports, err
		}
		parent, base := path.Split(f.Rel)
		if base != "report.json" {
			row, err := rt.readRow(s, f.Object)
			if err != nil {
				return reports, err
			}
			if row != nil && row.Status == statusFailed {
				b.Fail(cmp.Or(row.Bundle, row.Case), row.Error)
			}
			continue
		}
		if !finished[parent] {
			continue // unfinished, or out of date
		}
		name := prefix + strings.TrimSuffix(parent, "/")
		if parent == "" {
			name = prefix + baseName(dir)
		}
		reports++
		res, err := rt.decodeReport(s, f.Object)
		if failed, ok := errors.AsType[*store.Error](err); ok {
			return reports, failf("%w", failed) // a fleet report must not depend on the connection
		}
		if err != nil {
			rt.log.Warn("a report could not be read", "path", f.Name, "why", err)
			b.Fail(name, "its report could not be read: "+reasonOf(err))
			continue
		}
		b.Add(name, res)
	}
	return reports, nil
}

// baseName is the last part of the name of a file, a directory or a URL.
func baseName(name string) string {
	if abs, err := filepath.Abs(name); err == nil && !store.IsURL(name) {
		name = abs // "." and ".." have no name of their own
	}
	return path.Base(bundleName(name))
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
func (rt *session) readRow(s store.Store, o source.Object) (*runRow, error) {
	data, err := source.ReadObject(rt.ctx, s, o, maxContent)
	if failed, ok := errors.AsType[*store.Error](err); ok {
		return nil, failf("%w", failed)
	}
	row := new(runRow)
	if err != nil || json.Unmarshal(data, row) != nil {
		return nil, nil
	}
	return row, nil
}

// write writes the chosen formats.
func (c *mergeCmd) write(rt *session, r *fleet.Report, formats []string) error {
	dir := c.Output
	if dir == "" {
		dir = mergedDir
	}
	if _, err := rt.storeOf(dir); err != nil {
		return err
	}
	out := rt.sink(dir)
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
