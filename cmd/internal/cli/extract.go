package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/parsers/spill"
)

type extractCmd struct {
	inputArgs
	Output string `short:"o" group:"output" placeholder:"FILE" complete:"files" help:"Write to FILE, - for standard output (default: ./INPUT.events, after the first input)."`
	shardFlags
	Limit []string `sep:"none" group:"supply" placeholder:"NAME=NUMBER" help:"As for analyze."`
}

// Help says what the file is good for.
func (*extractCmd) Help() string {
	return `Reads the inputs once and keeps what bears on probes in one small file, which analyze, inventory and timeline take in place of the inputs. It holds names and addresses, but no line or packet beyond what the events need, so excerpts are shorter than with the inputs themselves.

    probe-forensics extract must-gather.tar.gz -o case.events
    probe-forensics analyze case.events

With --shard it reads a share of the files of one case that is too large for one machine: a folder, or several inputs. An archive is one file and never split. analyze --from-events makes one case of all shares.

    probe-forensics extract captures/ --shard 0/3 -o shares/0.events
    probe-forensics analyze --from-events shares/`
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
	share, err := c.resolve(rt.env)
	if err != nil {
		return err
	}
	if share.count > 0 {
		return c.runShare(rt, share, limits)
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
	return c.file(rt, "", write)
}

// file writes the file, under its default name when none is given.
func (c *extractCmd) file(rt *session, part string, write func(io.Writer) error) error {
	path := c.Output
	if path == "" {
		base, err := defaultDir(c.Input[0])
		if err != nil {
			return err
		}
		path = base[:len(base)-len(reportSuffix)] + part + extractSuffix
	}
	if err := rt.writeFile(path, write); err != nil {
		return err
	}
	rt.say("%s: wrote %s\n", programName, path)
	return nil
}

// runShare writes the events of one share of the files.
func (c *extractCmd) runShare(rt *session, s shard, limits source.Limits) error {
	if err := rt.checkInputs(c.Input); err != nil {
		return err
	}
	if slices.Contains(c.Input, "-") {
		return usagef("--shard: standard input cannot be shared")
	}
	if i := slices.IndexFunc(c.Input, rt.extracted); i >= 0 {
		return usagef("--shard: %s holds extracted events already", c.Input[i])
	}
	rt = rt.pinned()
	options, line := rt.reading(limits)
	defer line.Stop()
	write := func(w io.Writer) error {
		problems, err := parsers.WriteShare(rt.ctx, w, c.Input, parsers.Share{Index: s.index, Count: s.count, Take: s.has}, options)
		if err != nil {
			return err
		}
		if err := rt.pins.failure(); err != nil {
			return failf("%w", err)
		}
		line.Stop()
		rt.warn(lost(problems))
		return rt.ctx.Err()
	}
	if c.Output == "-" {
		return write(rt.stdout)
	}
	return c.file(rt, fmt.Sprintf(".%d-of-%d", s.index, s.count), write)
}

// extracted reports whether a file holds extracted events. The name of an object
// has to do: a look into each would cost a request.
func (rt *session) extracted(path string) bool {
	if store.IsURL(path) {
		return strings.HasSuffix(path, extractSuffix)
	}
	head, err := readHead(path, len(spill.Magic))
	return err == nil && string(head) == spill.Magic
}

// readHead returns the first n bytes of a regular file.
func readHead(path string, n int) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file") // reading a pipe would consume it
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, n)
	_, err = io.ReadFull(f, head)
	return head, err
}
