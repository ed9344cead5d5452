package cli

import (
	"errors"

	"github.com/probe-forensics/probe-forensics/report/diff"
)

type diffCmd struct {
	Before string `arg:"" complete:"files" help:"The earlier report.json, or the directory that holds it."`
	After  string `arg:"" complete:"files" help:"The later one."`

	Format   string `short:"f" enum:"text,md,json" default:"text" placeholder:"FORMAT" help:"Write text, md (Markdown) or json."`
	ExitCode bool   `name:"exit-code" help:"Exit with 3 when an incident is new, gone or changed."`
}

// Help says how incidents are paired and what the exit code tells.
func (*diffCmd) Help() string {
	return `Compares two reports: which incidents are new, which are gone, and of which the cause, the confidence (by 0.05 or more) or the number of failed attempts changed. Incidents belong together when they have the same cause on the same workload, or concern the same probe of the same workload or the same node. Exits with 0 whatever it found, unless --exit-code is given.

    probe-forensics diff monday.probe-forensics tuesday.probe-forensics
    probe-forensics diff --exit-code -f json before/report.json after/report.json`
}

// errDiffer ends a run of --exit-code that found a difference.
var errDiffer = errors.New("the reports differ")

// Run compares and prints what changed.
func (c *diffCmd) Run(rt *session) error {
	before, err := rt.readReport(c.Before)
	if err != nil {
		return err
	}
	after, err := rt.readReport(c.After)
	if err != nil {
		return err
	}
	d := diff.Compare(before, after)
	write := map[string]func() error{
		"text": func() error { return d.WriteText(rt.stdout) },
		"md":   func() error { return d.WriteMarkdown(rt.stdout) },
		"json": func() error { return d.WriteJSON(rt.stdout) },
	}[c.Format]
	if err := write(); err != nil {
		return failf("%w", err)
	}
	if c.ExitCode && !d.Empty() {
		return &exitError{code: ExitFailOn, err: errDiffer}
	}
	return nil
}
