package report

import (
	"strings"

	"github.com/probe-forensics/probe-forensics/report/escape"
)

// mdDoc builds a Markdown document out of blocks. It takes escape.MD, so that
// text from inputs can't get in unescaped.
type mdDoc struct {
	b      strings.Builder
	flavor Flavor
}

func (d *mdDoc) String() string { return d.b.String() }

func (d *mdDoc) block(parts ...string) {
	if d.b.Len() > 0 {
		d.b.WriteByte('\n')
	}
	for _, p := range parts {
		d.b.WriteString(p)
	}
	d.b.WriteByte('\n')
}

func (d *mdDoc) heading(level int, parts ...escape.MD) {
	d.block(strings.Repeat("#", level), " ", string(escape.Join(parts, "")))
}

func (d *mdDoc) para(parts ...escape.MD) {
	if text := escape.Join(parts, ""); text != "" {
		d.block(string(text))
	}
}

func (d *mdDoc) list(items []escape.MD) {
	if len(items) == 0 {
		return
	}
	lines := make([]string, len(items))
	for i, it := range items {
		lines[i] = "- " + string(it)
	}
	d.block(strings.Join(lines, "\n"))
}

// table writes a table; a table without rows is left out.
func (d *mdDoc) table(head []escape.MD, rows [][]escape.MD) {
	if len(rows) == 0 {
		return
	}
	var b strings.Builder
	row := func(cells []escape.MD) {
		b.WriteByte('|')
		for _, c := range cells {
			b.WriteByte(' ')
			b.WriteString(string(c))
			b.WriteString(" |")
		}
	}
	row(head)
	b.WriteString("\n|")
	b.WriteString(strings.Repeat("---|", len(head)))
	for _, r := range rows {
		b.WriteByte('\n')
		row(r)
	}
	d.block(b.String())
}

// fence quotes text in a block that no line of it can end.
func (d *mdDoc) fence(language, text string) {
	p := escape.Lines(text)
	f := escape.Fence(p)
	d.block(f, language, "\n", strings.TrimRight(string(p), "\n"), "\n", f)
}

// mermaid draws a diagram where the flavor does.
func (d *mdDoc) mermaid(diagram string) {
	if diagram != "" && d.flavor != FlavorPlain {
		d.block("```mermaid\n", strings.TrimRight(diagram, "\n"), "\n```")
	}
}

// details folds a part away where the flavor can. The title is shown in HTML
// context: it must be a constant.
func (d *mdDoc) details(title escape.MD, body func(*mdDoc)) {
	inner := &mdDoc{flavor: d.flavor}
	body(inner)
	if inner.b.Len() == 0 {
		return
	}
	if d.flavor == FlavorPlain {
		d.para(title, ":")
		d.block(strings.TrimRight(inner.String(), "\n"))
		return
	}
	d.block("<details><summary>", string(title), "</summary>")
	d.block(strings.TrimRight(inner.String(), "\n"))
	d.block("</details>")
}
