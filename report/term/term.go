// Package term writes the summary that a person reads at the end of a run.
package term

import (
	"fmt"
	"io"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// Options describes the terminal. The zero value is a pipe: plain ASCII text
// without colour, 80 columns.
type Options struct {
	// Width in columns, 80 when zero.
	Width int
	// TTY is set when people read the output at once; without it there is no colour
	// and no decoration.
	TTY bool
	// Color allows colour on a TTY, ForceColor on anything.
	Color, ForceColor bool
	// Unicode allows characters beyond ASCII.
	Unicode bool
	// Written are the files of the report, for the footer.
	Written []File
}

// File is a file that was written.
type File struct {
	Name  string
	Bytes int64
}

// Write writes the summary.
func Write(w io.Writer, res *model.Result, o Options) error {
	for _, in := range res.Incidents {
		if _, err := fmt.Fprintf(w, "%s %.2f %q\n", in.Cause.ID, in.Cause.Confidence, in.Summary); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d incidents\n", len(res.Incidents))
	return err
}
