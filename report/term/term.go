// Package term writes the summary that a person reads at the end of a run: the
// verdict, why, when, what else, and which files to open.
package term

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// Options describes the terminal. The zero value is a pipe: plain ASCII text
// without colour and without wrapping.
type Options struct {
	// Width in columns. When zero it is 80 on a TTY; text for a pipe isn't wrapped.
	Width int
	// TTY is set when people read the output at once; without it there is no colour.
	TTY bool
	// Color allows colour on a TTY, ForceColor on anything.
	Color, ForceColor bool
	// Unicode allows characters beyond ASCII.
	Unicode bool
	// Dir is where the report was written, Written are its files, for the footer.
	Dir     string
	Written []File
}

// File is a file that was written.
type File struct {
	Name  string
	Bytes int64
}

const asciiProfile = termenv.Ascii

// Limits keep the summary on one screen.
const (
	reasons      = 6
	reasonLength = 220 // characters
	incidentRows = 10
	defaultWidth = 80
)

// Write writes the summary.
func Write(ctx context.Context, w io.Writer, res *model.Result, o Options) error {
	p := newPrinter(w, o)
	p.write(view.Index(res))
	if p.err == nil {
		p.err = ctx.Err()
	}
	if err := p.out.Flush(); p.err == nil {
		p.err = err
	}
	return p.err
}

// printer writes lines; the first error ends it.
type printer struct {
	o       Options
	out     *bufio.Writer
	err     error
	width   int // 0: do not wrap
	style   *lipgloss.Renderer
	bold    lipgloss.Style
	faint   lipgloss.Style
	failed  lipgloss.Style
	good    lipgloss.Style
	caution lipgloss.Style
}

func newPrinter(w io.Writer, o Options) *printer {
	p := &printer{o: o, out: bufio.NewWriter(w), width: o.Width}
	if p.width == 0 && o.TTY {
		p.width = defaultWidth
	}
	if p.width > 0 {
		p.width = max(p.width, 24)
	}
	profile := termenv.Ascii
	if o.ForceColor || o.Color && o.TTY {
		// The 16 colours of the terminal's own theme: readable on dark and light.
		profile = termenv.ANSI
	}
	// Everything the renderer would otherwise ask the terminal about is set here:
	// nothing is read back from it.
	p.style = lipgloss.NewRenderer(w, termenv.WithProfile(profile))
	p.style.SetColorProfile(profile)
	p.style.SetHasDarkBackground(true)
	p.bold = p.style.NewStyle().Bold(true)
	p.faint = p.style.NewStyle().Faint(true)
	p.failed = p.style.NewStyle().Foreground(lipgloss.ANSIColor(1))
	p.good = p.style.NewStyle().Foreground(lipgloss.ANSIColor(2))
	p.caution = p.style.NewStyle().Foreground(lipgloss.ANSIColor(3))
	return p
}

// text makes any string safe for this terminal.
func (p *printer) text(s string) string {
	v := escape.Visible(s)
	if !p.o.Unicode {
		v = escape.ASCII(v)
	}
	return string(v)
}

func (p *printer) line(parts ...string) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.out, strings.TrimRight(strings.Join(parts, ""), " "))
	}
}

// wrapped writes text after a prefix, wrapped to the width with a hanging
// indent. Styles apply to whole lines.
func (p *printer) wrapped(prefix, text string, style lipgloss.Style) {
	indent := lipgloss.Width(prefix)
	for i, l := range wrap(text, p.width-indent) {
		if i == 0 {
			p.line(prefix, style.Render(l))
		} else {
			p.line(strings.Repeat(" ", indent), style.Render(l))
		}
	}
}

// wrap breaks text at spaces; a word longer than the width is broken anywhere.
// A width of zero or less does not wrap.
func wrap(text string, width int) []string {
	if width <= 0 {
		return []string{text}
	}
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		for lipgloss.Width(word) > width {
			if line != "" {
				out = append(out, line)
				line = ""
			}
			head := cut(word, width)
			out = append(out, head)
			word = word[len(head):]
		}
		switch {
		case line == "":
			line = word
		case lipgloss.Width(line)+1+lipgloss.Width(word) <= width:
			line += " " + word
		default:
			out = append(out, line)
			line = word
		}
	}
	return append(out, line)
}

// cut returns the longest beginning of s that is at most width columns wide, one
// character at least.
func cut(s string, width int) string {
	n := 0
	for i, r := range s {
		if n += lipgloss.Width(string(r)); n > width && i > 0 {
			return s[:i]
		}
	}
	return s
}

// fit pads or shortens to exactly width columns.
func fit(s string, width int) string {
	if w := lipgloss.Width(s); w <= width {
		return s + strings.Repeat(" ", width-w)
	}
	if width <= 3 {
		return cut(s, width)
	}
	head := cut(s, width-3)
	return head + "..." + strings.Repeat(" ", max(0, width-3-lipgloss.Width(head)))
}
