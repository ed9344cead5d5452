package parsers

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// Locator names a record of an input independent of stream numbers: the logical
// path of its stream and the place in it, as in event.Ref.
type Locator struct {
	Path                 string
	Line, Offset, Packet int64
}

// Excerpt is what stands at a Locator.
type Excerpt struct {
	// Text is the line itself, without its line break and cut at MaxExcerpt bytes,
	// or the packet in one line. It is empty where the stream does not consist of
	// lines or packets (binary journals).
	Text string
	// Events are what the parser of the stream makes of the record that begins
	// there; none for captures, whose events rest on many packets.
	Events []event.Event
	// Err says why there is nothing.
	Err error
}

// MaxExcerpt bounds the text of one excerpt.
const MaxExcerpt = 16 << 10

// ReadRef reads the inputs again and returns what stands at each locator, and
// the digests of the inputs, in one pass for all of them: what it takes to
// verify a report.
func ReadRef(ctx context.Context, inputs []string, wanted []Locator, opts Options) ([]Excerpt, []InputInfo, error) {
	out, res, err := readRefs(ctx, inputs, wanted, opts.source(), true)
	if err != nil {
		return nil, nil, err
	}
	return out, inputInfos(res), nil
}

// Quote is ReadRef for a report that is being written: it computes no digests,
// parses only what has no text of its own, and stops as soon as it has
// everything.
func Quote(ctx context.Context, inputs []string, wanted []Locator, opts Options) ([]Excerpt, error) {
	o := opts.source()
	o.NoDigests, o.Progress = true, nil
	out, _, err := readRefs(ctx, inputs, wanted, o, false)
	return out, err
}

func readRefs(ctx context.Context, inputs []string, wanted []Locator, opts source.Options, whole bool) ([]Excerpt, source.Result, error) {
	out := make([]Excerpt, len(wanted))
	byPath := make(map[string][]int)
	for i, l := range wanted {
		byPath[l.Path] = append(byPath[l.Path], i)
		out[i].Err = fmt.Errorf("%s: no such stream in the inputs", l.Path)
	}
	left := len(byPath)
	res, err := source.Walk(ctx, inputs, opts, func(f *source.File) error {
		is := byPath[f.Path]
		if is == nil {
			return nil
		}
		if err := readStream(ctx, f, wanted, is, out, whole); err != nil {
			return err
		}
		if left--; left == 0 && !whole {
			return source.ErrStop
		}
		return nil
	})
	return out, res, err
}

func inputInfos(res source.Result) []InputInfo {
	infos := make([]InputInfo, len(res.Inputs))
	for i, in := range res.Inputs {
		infos[i] = InputInfo{Path: in.Path, SHA256: in.SHA256, Bytes: in.Bytes, Modified: in.Modified}
	}
	return infos
}

// readStream fills the excerpts that lie in one stream. The parser, where it is
// needed, reads it through a tap that keeps the lines.
func readStream(ctx context.Context, f *source.File, wanted []Locator, is []int, out []Excerpt, whole bool) error {
	head, err := f.Peek(source.PeekSize)
	if err != nil {
		return err
	}
	v := triage(f, head, source.Locate(f.Path))
	if v.capture {
		return readFrames(ctx, f, wanted, is, out)
	}
	slices.SortStableFunc(is, func(a, b int) int { return cmp.Compare(wanted[a].Line, wanted[b].Line) })
	tap := &lineTap{r: f, wanted: wanted, is: is, out: out, line: 1}
	catch := &catcher{at: make(map[event.Ref][]int), out: out}
	parse := whole
	for _, i := range is {
		l := wanted[i]
		out[i].Err = fmt.Errorf("%s: %s lies beyond the end of the stream", l.Path, event.Ref{Line: l.Line, Offset: l.Offset}.Place())
		key := event.Ref{Line: l.Line}
		if l.Line == 0 {
			key.Offset = l.Offset
			parse = true
		}
		catch.at[key] = append(catch.at[key], i)
	}
	if parse && v.format.Parse != nil {
		st := &stream{info: &event.StreamInfo{Path: f.Path, Input: f.Input, Modified: f.Modified, Verbosity: -1}}
		_ = guard(ctx, st, v, tap, catch)
	}
	buf := make([]byte, 64<<10)
	for err == nil && (whole || !tap.done()) {
		_, err = tap.Read(buf)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	tap.end()
	return nil
}

// lineTap keeps the wanted lines of what is read through it.
type lineTap struct {
	r      io.Reader
	wanted []Locator
	is     []int // sorted by line; those before next are done
	next   int
	out    []Excerpt
	line   int64 // number of the line that begins or goes on next
	text   []byte
	open   bool // the wanted line has begun
}

// Read implements io.Reader.
func (t *lineTap) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.scan(p[:n])
	return n, err
}

func (t *lineTap) scan(b []byte) {
	for len(b) > 0 {
		for t.next < len(t.is) && t.wanted[t.is[t.next]].Line == 0 {
			t.next++ // has no line; only its events can be caught
		}
		if t.next == len(t.is) {
			return
		}
		end := bytes.IndexByte(b, '\n')
		if t.wanted[t.is[t.next]].Line == t.line {
			t.open = true
			part := b
			if end >= 0 {
				part = b[:end]
			}
			t.text = append(t.text, part[:min(len(part), MaxExcerpt-len(t.text))]...)
		}
		if end < 0 {
			return
		}
		if t.open {
			t.end()
		}
		t.line++
		b = b[end+1:]
	}
}

// done reports whether no line is wanted any more.
func (t *lineTap) done() bool { return t.next == len(t.is) }

// end completes the line being kept: at its break, or at the end of the stream.
func (t *lineTap) end() {
	if !t.open {
		return
	}
	text := string(bytes.TrimSuffix(t.text, []byte("\r")))
	for t.next < len(t.is) && t.wanted[t.is[t.next]].Line == t.line {
		t.out[t.is[t.next]].Text = text
		t.out[t.is[t.next]].Err = nil
		t.next++
	}
	t.text, t.open = t.text[:0], false
}

// catcher is a sink that keeps the events at the wanted places.
type catcher struct {
	at  map[event.Ref][]int
	out []Excerpt
}

// Emit implements event.Sink.
func (c *catcher) Emit(e event.Event) {
	key := event.Ref{Line: e.Ref.Line}
	if key.Line == 0 {
		key.Offset = e.Ref.Offset
	}
	for _, i := range c.at[key] {
		c.out[i].Events = append(c.out[i].Events, e)
		c.out[i].Err = nil
	}
}

// Problem implements event.Sink: damage was reported when the case was opened.
func (c *catcher) Problem(event.Problem) {}

func readFrames(ctx context.Context, f *source.File, wanted []Locator, is []int, out []Excerpt) error {
	frames := make(map[int64]bool)
	at := make(map[int64][]int)
	for _, i := range is {
		n := wanted[i].Packet
		out[i].Err = fmt.Errorf("%s: no packet %d in the capture", f.Path, n)
		frames[n] = true
		at[n] = append(at[n], i)
	}
	err := pcap.Frames(ctx, f, frames, func(n int64, line string) {
		for _, i := range at[n] {
			out[i].Text, out[i].Err = line, nil
		}
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		for _, i := range is {
			if out[i].Err != nil {
				out[i].Err = fmt.Errorf("%s: %w", f.Path, err)
			}
		}
	}
	return nil
}
