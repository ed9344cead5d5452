// Package parsers turns inputs into the stream of events that analysis reads:
// it walks the inputs (package source), finds the format of every stream
// (packages pcap and logs), parses them side by side, and keeps their events
// until analysis iterates over them (package spill).
//
//	c, err := parsers.Open(ctx, []string{"must-gather.tar.gz"}, parsers.Options{})
//	if err != nil { ... }
//	defer c.Close()
//	for e, err := range c.Events() { ... }
//
// # Order
//
// Streams are numbered by input and logical path once everything is read. So
// neither the number of workers nor the order of members in an archive shows in
// the result.
package parsers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/parsers/spill"
)

// DefaultMemoryLimit is how many bytes of encoded events are kept in memory
// before they go to a temporary file.
const DefaultMemoryLimit = 4 << 20

// Options of Open. The zero value is ready to use. No option changes the
// result, except for the limits, which are reported where they are met.
type Options struct {
	// Limits against hostile archives, see source.Limits.
	Limits source.Limits
	// Stdin is what the input "-" reads.
	Stdin io.Reader
	// Store, when set, returns what reads an input by its name, nil for an input of
	// this machine.
	Store func(input string) source.Store
	// Workers is how many streams may be parsed at a time, 0 for one per CPU.
	Workers int
	// MemoryLimit is how many bytes of encoded events stay in memory, 0 for
	// DefaultMemoryLimit; the rest lies in one temporary file in TempDir ("" for the
	// system's).
	MemoryLimit int64
	TempDir     string
	// Progress, when set, is updated while inputs are read.
	Progress *source.Progress

	take       func(path string) bool // of a share
	maxStreams int                    // 0 for the constant, smaller in tests
}

// withDefaults fills in what zero stands for.
func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.MemoryLimit <= 0 {
		o.MemoryLimit = DefaultMemoryLimit
	}
	if o.maxStreams <= 0 {
		o.maxStreams = maxStreams
	}
	return o
}

func (o Options) source() source.Options {
	return source.Options{Limits: o.Limits, Stdin: o.Stdin, Store: o.Store, Progress: o.Progress, Take: o.take}
}

// openFile opens a file that is read as it is, for instance extracted events.
func (o Options) openFile(ctx context.Context, path string) (io.ReadCloser, error) {
	if o.Store != nil {
		if s := o.Store(path); s != nil {
			object, err := s.Stat(ctx, path)
			if err != nil {
				return nil, err
			}
			return s.Open(ctx, object)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return f, nil
}

// InputInfo is one outer input.
type InputInfo struct {
	Path     string // base name, or more where two inputs share it
	SHA256   string // lower-case hex; see package source for directories
	Bytes    int64  // size on disk
	Modified event.Nanos
}

// Ignored counts members that were not read because nothing in them bears on
// probes, for one reason.
type Ignored struct {
	Input   int
	Reason  string
	Files   int64
	Bytes   int64  // as far as the containers say
	Example string // logical path of the first one by name
}

// UnreadableError is returned when no input holds anything that can be read.
type UnreadableError struct {
	// Reasons are sentences that name place and cause, at most 50.
	Reasons []string
	// Try are sentences on what to do, one for each kind of reason.
	Try []string
}

func (e *UnreadableError) Error() string {
	if len(e.Reasons) == 0 {
		return "nothing readable in any input"
	}
	return "nothing readable in any input:\n  " + strings.Join(e.Reasons, "\n  ")
}

// Case is everything that was read from a set of inputs. It implements
// event.Stream. It is immutable and may be used by several goroutines until
// Close.
type Case struct {
	inputs   []InputInfo
	infos    []*event.StreamInfo
	streams  []*stream // in the order of infos
	problems []event.Problem
	ignored  []Ignored
	hosts    map[string]string // host names of logs → the nodes' names, where they differ
	store    *spill.Store
}

var _ event.Stream = (*Case)(nil)

// Open reads the inputs: files, directories, archives of them, and "-" for
// standard input. Damage is among the problems of the case. The error is the
// context's, an *UnreadableError, or tells that the temporary file failed.
func Open(ctx context.Context, inputs []string, opts Options) (*Case, error) {
	if len(inputs) == 0 {
		return nil, errors.New("no inputs")
	}
	in := newIngest(opts.withDefaults())
	res, err := in.run(ctx, inputs)
	if err != nil {
		return nil, errors.Join(err, in.store.Close())
	}
	return in.finish(res).readable()
}

// readable returns the case, or closes it and says why nothing in it can be
// read.
func (c *Case) readable() (*Case, error) {
	if !slices.ContainsFunc(c.infos, func(i *event.StreamInfo) bool { return i.Format != "" }) {
		return nil, errors.Join(&UnreadableError{Reasons: c.reasons(), Try: c.Remedies()}, c.Close())
	}
	return c, nil
}

// Remedies lists what to do about the problems of the case, each once, in the
// order of the problems.
func (c *Case) Remedies() []string {
	var out []string
	for _, p := range c.problems {
		if try := p.Kind().Try; try != "" && !slices.Contains(out, try) {
			out = append(out, try)
		}
	}
	return out
}

// reasons lists why nothing could be read.
func (c *Case) reasons() []string {
	var out []string
	for _, p := range c.problems {
		out = append(out, fmt.Sprintf("%s: %s: %s", p.Path, p.Code, p.Message))
	}
	for _, g := range c.ignored {
		out = append(out, fmt.Sprintf("%s: %d not read: %s", g.Example, g.Files, g.Reason))
	}
	if len(out) > 50 {
		out = append(out[:50], fmt.Sprintf("and %d more", len(out)-50))
	}
	return out
}

// Infos returns the stream table, by id.
func (c *Case) Infos() []*event.StreamInfo { return c.infos }

// Problems returns the problems, by stream and place; those without a stream
// come first.
func (c *Case) Problems() []event.Problem { return c.problems }

// Inputs returns the outer inputs in the order given.
func (c *Case) Inputs() []InputInfo { return c.inputs }

// Ignored returns what was not read and why, by input and reason.
func (c *Case) Ignored() []Ignored { return c.ignored }

// Spilled is the size of the temporary file, 0 when there is none.
func (c *Case) Spilled() int64 { return c.store.Spilled() }

// Events yields the events: streams by id, inside a stream in record order. An
// event whose record names no node has the node of its stream, where that is
// known; one that names a host has the name of that host's node.
func (c *Case) Events() iter.Seq2[*event.Event, error] {
	return c.EventsOf(func(*event.StreamInfo) bool { return true }, false)
}

// EventsOf is Events for some streams only: the others are not decoded. A
// reader that borrows gets the same events, but may use an *event.Flow until the
// next step only.
func (c *Case) EventsOf(want func(*event.StreamInfo) bool, borrow bool) iter.Seq2[*event.Event, error] {
	return func(yield func(*event.Event, error) bool) {
		for _, st := range c.streams {
			if !want(st.info) {
				continue
			}
			events := st.log.All()
			if borrow {
				events = st.log.Borrow()
			}
			for e, err := range events {
				if err != nil {
					yield(nil, fmt.Errorf("%s: %w", st.info.Path, err))
					return
				}
				e.Ref.Stream = st.info.ID
				if e.Node == "" && !st.api {
					e.Node = st.info.Node
				} else if n, ok := c.hosts[e.Node]; ok {
					e.Node = n
				}
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Close releases the memory and the temporary file.
func (c *Case) Close() error { return c.store.Close() }

func compareProblems(a, b event.Problem) int {
	return cmp.Or(a.Ref.Compare(b.Ref), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
}
