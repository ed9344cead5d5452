package parsers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/parsers/spill"
)

// WriteEvents writes the case as one file of extracted events, which OpenEvents
// reads. It holds everything analysis needs and nothing of the inputs beyond
// that. Equal cases give equal bytes.
func (c *Case) WriteEvents(w io.Writer) error {
	t := spill.Table{Infos: c.infos, Problems: c.problems}
	for _, i := range c.inputs {
		t.Inputs = append(t.Inputs, spill.Input{Path: i.Path, SHA256: i.SHA256, Bytes: i.Bytes, Modified: i.Modified})
	}
	return spill.Write(w, t, c.Events())
}

// OpenEvents opens files of extracted events as one case, as if their inputs
// had been opened together in the order given. "-" is standard input.
func OpenEvents(ctx context.Context, paths []string, opts Options) (*Case, error) {
	if len(paths) == 0 {
		return nil, errors.New("no inputs")
	}
	opts = opts.withDefaults()
	c := &Case{store: spill.NewStore(opts.MemoryLimit, opts.TempDir)}
	for _, p := range paths {
		if err := c.load(ctx, p, opts); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", p, err), c.Close())
		}
	}
	slices.SortStableFunc(c.problems, compareProblems)
	return c, nil
}

// load adds the streams of one file.
func (c *Case) load(ctx context.Context, path string, opts Options) error {
	r := opts.Stdin
	if path != "-" {
		f, err := opts.openFile(ctx, path)
		if err != nil {
			return err
		}
		defer f.Close()
		r = f
	}
	if r == nil {
		return errors.New("standard input is not available")
	}
	t, logs, err := spill.Read(bufio.NewReaderSize(source.Cancellable(ctx, r), 256<<10), c.store)
	if err != nil {
		return err
	}
	if t.Shares != 0 {
		return fmt.Errorf("share %d of %d of a case: it takes all of them (analyze --from-events)", t.Share, t.Shares)
	}
	inputs, streams := len(c.inputs), event.StreamID(len(c.infos))
	for _, i := range t.Inputs {
		c.inputs = append(c.inputs, InputInfo{Path: i.Path, SHA256: i.SHA256, Bytes: i.Bytes, Modified: i.Modified})
	}
	for i, info := range t.Infos {
		info.Input += inputs
		info.ID += streams
		c.infos = append(c.infos, info)
		// The node of the stream was filled in when the events were written.
		c.streams = append(c.streams, &stream{info: info, log: logs[i], api: true})
	}
	for _, p := range t.Problems {
		if p.Ref.Stream != 0 {
			p.Ref.Stream += streams
		}
		c.problems = append(c.problems, p)
	}
	return nil
}
