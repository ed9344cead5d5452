package cli

import (
	"io"

	"github.com/probe-forensics/probe-forensics/parsers/spill"
)

type extractCmd struct {
	inputArgs
	Output string   `short:"o" group:"output" placeholder:"FILE" complete:"files" help:"Write to FILE, - for standard output (default: ./INPUT.events, after the first input)."`
	Limit  []string `sep:"none" group:"supply" placeholder:"NAME=NUMBER" help:"As for analyze."`
}

// Help says what the file is good for.
func (*extractCmd) Help() string {
	return `Reads the inputs once and keeps what bears on probes in one small file, which analyze, inventory and timeline take in place of the inputs. It holds names and addresses, but no line or packet beyond what the events need, so excerpts are shorter than with the inputs themselves.

    probe-forensics extract must-gather.tar.gz -o case.events
    probe-forensics analyze case.events`
}

// extractSuffix ends the default name of extracted events.
const extractSuffix = ".events"

// Run writes the file.
func (c *extractCmd) Run(rt *session) error {
	limits, err := parseLimits(c.Limit)
	if err != nil {
		return err
	}
	if c.Output == "-" && isTerminal(rt.stdout) {
		return usagef("refusing to write binary data to a terminal").try("-o FILE, or a pipe")
	}
	kase, err := rt.open(c.Input, limits)
	if err != nil {
		return err
	}
	defer kase.Close()
	rt.warn(damage(kase))
	write := func(w io.Writer) error {
		if err := kase.WriteEvents(w); err != nil {
			return err
		}
		return rt.ctx.Err()
	}
	if c.Output == "-" {
		return write(rt.stdout)
	}
	path := c.Output
	if path == "" {
		base, err := defaultDir(c.Input[0])
		if err != nil {
			return err
		}
		path = base[:len(base)-len(reportSuffix)] + extractSuffix
	}
	if err := writeFile(path, 0o644, write); err != nil {
		return err
	}
	rt.say("%s: wrote %s\n", programName, path)
	return nil
}

// extracted reports whether a file holds extracted events.
func extracted(path string) bool {
	head, err := readHead(path, len(spill.Magic))
	return err == nil && string(head) == spill.Magic
}
