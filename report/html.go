package report

import (
	"context"
	"html/template"
	"io"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

var _ = register(renderer{"html", files("report.html"), renderHTML})

var page = template.Must(template.New("page").Parse(`<!doctype html><meta charset="utf-8"><title>Probe forensics</title>
<ul>{{range .Incidents}}<li>{{.Cause.ID}} {{.Cause.Confidence}}</li>{{end}}</ul>
`))

func renderHTML(_ context.Context, res *model.Result, out Output, _ Options) error {
	return writeFile(out, "report.html", func(w io.Writer) error { return page.Execute(w, res) })
}
