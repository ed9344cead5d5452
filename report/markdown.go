package report

import (
	"context"
	"fmt"
	"io"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// Flavor is the dialect of Markdown.
type Flavor string

// The flavors. Plain avoids HTML and diagrams.
const (
	FlavorGitHub Flavor = "github"
	FlavorGitLab Flavor = "gitlab"
	FlavorPlain  Flavor = "plain"
)

var _ = register(renderer{"md", files("report.md", "summary.md"), renderMarkdown})

func renderMarkdown(_ context.Context, res *model.Result, out Output, o Options) error {
	for _, name := range []string{"report.md", "summary.md"} {
		err := writeFile(out, name, func(w io.Writer) error {
			if _, err := fmt.Fprintf(w, "# Probe forensics\n\n%d incidents.\n", len(res.Incidents)); err != nil {
				return err
			}
			for _, in := range res.Incidents {
				if _, err := fmt.Fprintf(w, "\n- %s, confidence %.2f (%s)\n", in.Cause.ID, in.Cause.Confidence, in.Cause.Word); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
