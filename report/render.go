// Package report turns a result into what people and machines read: Markdown,
// HTML, JSON, Parquet, SARIF, JUnit, Timesketch and a terminal summary.
//
// Every renderer reads *model.Result alone. Text from inputs is hostile:
// renderers pass it through package escape, never around it. Output is
// deterministic: equal results and options give equal bytes.
package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/manifest"
	"github.com/probe-forensics/probe-forensics/report/parquetout"
	"github.com/probe-forensics/probe-forensics/report/term"
)

// Options chooses how a result is rendered, never what it says. The zero value
// renders for GitHub, plain text on the terminal.
type Options struct {
	// Flavor of Markdown, FlavorGitHub when empty.
	Flavor Flavor
	// Terminal describes the terminal that term writes to. The caller decides about
	// colour (NO_COLOR, CLICOLOR_FORCE, --color): this package reads no environment.
	Terminal term.Options
	// Settings are the options of the analysis that can change its result; the
	// manifest lists them and the run id depends on them.
	Settings []manifest.Setting
}

// runID identifies a result: equal inputs, settings, rules and version give
// equal ids.
func (o Options) runID(res *model.Result) string { return manifest.RunID(res, o.Settings) }

// Renderer writes one format. Render must not change the result and must stop
// with ctx.Err() when ctx is done; on an error the caller discards what was
// written.
type Renderer interface {
	// Name is the word of --format.
	Name() string
	// Files lists what Render creates: names under the report directory, or the
	// directory that holds them; none for a renderer of standard output.
	Files(Options) []string
	Render(context.Context, *model.Result, Output, Options) error
}

// Renderers of packages that need a third party, one line each.
var (
	_ = register(renderer{"parquet", files("tables"), func(ctx context.Context, r *model.Result, o Output, opt Options) error {
		return parquetout.Write(ctx, r, opt.runID(r), o)
	}})
	_ = register(renderer{"term", files(), func(ctx context.Context, r *model.Result, o Output, opt Options) error {
		return term.Write(ctx, o.Stdout(), r, opt.Terminal)
	}})
)

// renderer is a Renderer made of functions.
type renderer struct {
	name   string
	files  func(Options) []string
	render func(context.Context, *model.Result, Output, Options) error
}

func (r renderer) Name() string             { return r.name }
func (r renderer) Files(o Options) []string { return r.files(o) }
func (r renderer) Render(ctx context.Context, res *model.Result, out Output, o Options) error {
	return r.render(ctx, res, out, o)
}

// files is the file list of a renderer that always writes the same files.
func files(names ...string) func(Options) []string {
	return func(Options) []string { return names }
}

var registry []Renderer

// register adds a renderer; it returns a value so that a renderer registers
// itself in a var declaration of its own file.
func register(r Renderer) struct{} {
	if slices.ContainsFunc(registry, func(o Renderer) bool { return o.Name() == r.Name() }) {
		panic("report: renderer " + r.Name() + " registered twice")
	}
	registry = append(registry, r)
	slices.SortFunc(registry, func(a, b Renderer) int { return strings.Compare(a.Name(), b.Name()) })
	return struct{}{}
}

// DefaultFormats are rendered when nothing is chosen.
func DefaultFormats() []string { return []string{"term", "md", "html", "json", "parquet"} }

// Formats lists the names of all renderers, sorted.
func Formats() []string {
	names := make([]string, len(registry))
	for i, r := range registry {
		names[i] = r.Name()
	}
	return names
}

// Lookup returns the renderer of a format.
func Lookup(name string) (Renderer, error) {
	for _, r := range registry {
		if r.Name() == name {
			return r, nil
		}
	}
	return nil, fmt.Errorf("unknown format %q: want one of %s", name, strings.Join(Formats(), ", "))
}

// Render writes the formats and, when any of them writes files, the manifest,
// to out. Either all files appear or none: on an error everything is discarded.
// The terminal summary comes last, so that it can name the files. An empty list
// means DefaultFormats; a format given twice is rendered once.
func Render(ctx context.Context, res *model.Result, out Sink, o Options, formats ...string) (err error) {
	if len(formats) == 0 {
		formats = DefaultFormats()
	}
	var filed, shown []Renderer
	for _, r := range registry {
		if !slices.Contains(formats, r.Name()) {
			continue
		}
		if len(r.Files(o)) > 0 {
			filed = append(filed, r)
		} else {
			shown = append(shown, r)
		}
	}
	for _, name := range formats {
		if _, err := Lookup(name); err != nil {
			return err
		}
	}
	if err := renderFiles(ctx, res, out, o, filed); err != nil {
		return err
	}
	if d, ok := out.(interface{ Path() string }); ok && len(filed) > 0 {
		o.Terminal.Dir = d.Path()
	}
	for _, f := range out.Written() {
		o.Terminal.Written = append(o.Terminal.Written, term.File{Name: f.Name, Bytes: f.Bytes})
	}
	for _, r := range shown {
		if err := r.Render(ctx, res, out, o); err != nil {
			return fmt.Errorf("%s: %w", r.Name(), err)
		}
	}
	return nil
}

func renderFiles(ctx context.Context, res *model.Result, out Sink, o Options, rs []Renderer) (err error) {
	if len(rs) == 0 {
		return nil
	}
	defer func() {
		if err != nil {
			out.Discard()
		}
	}()
	for _, r := range rs {
		if err := r.Render(ctx, res, out, o); err != nil {
			return fmt.Errorf("%s: %w", r.Name(), err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	w, err := out.Create(manifest.FileName)
	if err != nil {
		return err
	}
	if err := manifest.New(res, o.Settings, out.Written()).Write(w); err != nil {
		w.Close()
		return fmt.Errorf("%s: %w", manifest.FileName, err)
	}
	if err := w.Close(); err != nil {
		return err
	}
	return out.Commit()
}
