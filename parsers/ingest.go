package parsers

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/logs"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/parsers/spill"
)

const (
	// smallStream is how large a member of an archive may be to be held in memory
	// and parsed by another worker while the walk goes on.
	smallStream = 1 << 20
	// maxUnknown bounds the rows of streams that no format claims, per input.
	maxUnknown = 100
	// maxStreams bounds the streams of a case: each takes a few KB until the end.
	maxStreams = 250_000
	// codeUnknown is the problem of a stream that no format claims.
	codeUnknown = "unknown-format"
)

// ingest drives one run of Open. The walk's goroutine finds formats and starts
// workers; a stream that no worker is free for is parsed by the walk itself.
type ingest struct {
	opts  Options
	store *spill.Store

	streams []*stream
	ignored map[ignoredKey]*Ignored
	unknown map[int]int // rows of unknown streams, by input

	workers sync.WaitGroup
	free    chan []byte // buffers of idle workers, one per worker besides the walk
	cancel  context.CancelCauseFunc
}

type ignoredKey struct {
	input  int
	reason string
}

func newIngest(opts Options) *ingest {
	in := &ingest{opts: opts, store: spill.NewStore(opts.MemoryLimit, opts.TempDir),
		ignored: make(map[ignoredKey]*Ignored), unknown: make(map[int]int), free: make(chan []byte, opts.Workers)}
	for range opts.Workers - 1 {
		in.free <- nil
	}
	return in
}

func (in *ingest) run(ctx context.Context, inputs []string) (source.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in.cancel = cancel
	res, err := source.Walk(ctx, inputs, in.opts.source(), func(f *source.File) error { return in.visit(ctx, f) })
	in.workers.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return res, cause // the event store's error, or the caller's cancellation
	}
	return res, err
}

func (in *ingest) visit(ctx context.Context, f *source.File) error {
	head, err := f.Peek(source.PeekSize)
	if err != nil {
		return err
	}
	place := source.Locate(f.Path)
	v := triage(f, head, place)
	if v.code == codeUnknown && !f.Outer {
		if in.unknown[f.Input]++; in.unknown[f.Input] > maxUnknown {
			v = verdict{ignore: "no format matches (beyond the first " + fmt.Sprint(maxUnknown) + ")"}
		}
	}
	if v.ignore != "" {
		in.skip(f.Input, v.ignore, f.Path, 1, max(f.Size, 0))
		return nil
	}
	if len(in.streams) > in.opts.maxStreams {
		in.skip(f.Input, beyondStreams(in.opts.maxStreams), f.Path, 1, max(f.Size, 0))
		return nil
	}
	if len(in.streams) == in.opts.maxStreams {
		v = verdict{code: "limit", message: beyondStreams(in.opts.maxStreams) + ": neither this one nor later ones are read; analyse fewer at once"}
	}
	st := in.add(f, place)
	if v.code != "" {
		st.info.Bytes = max(f.Size, 0)
		st.Problem(event.Problem{Code: v.code, Message: v.message})
		return nil
	}
	return in.dispatch(ctx, f, st, v)
}

func beyondStreams(n int) string { return fmt.Sprintf("beyond the first %d readable files", n) }

// add starts a stream. Its number is that of appearance until finish.
func (in *ingest) add(f *source.File, place source.Place) *stream {
	st := &stream{log: in.store.NewLog(), seq: len(in.streams), place: place,
		info: &event.StreamInfo{ID: event.StreamID(len(in.streams) + 1), Input: f.Input, Path: f.Path, Modified: f.Modified, Verbosity: -1}}
	in.streams = append(in.streams, st)
	return st
}

// skip counts members that are not read.
func (in *ingest) skip(input int, why, example string, files, bytes int64) {
	key := ignoredKey{input, why}
	g := in.ignored[key]
	if g == nil {
		g = &Ignored{Input: input, Reason: why, Example: example}
		in.ignored[key] = g
	}
	g.Files += files
	g.Bytes += bytes
	g.Example = min(g.Example, example)
}

// dispatch parses a stream: on a free worker when it lies on disk by itself or
// is small, else here and now.
func (in *ingest) dispatch(ctx context.Context, f *source.File, st *stream, v verdict) error {
	var buf []byte
	select {
	case buf = <-in.free:
	default:
		return in.parse(ctx, st, v, f, f)
	}
	if f.Detach() {
		in.workers.Go(func() {
			defer func() { in.free <- buf }()
			defer f.Close()
			_ = in.parse(ctx, st, v, f, f)
		})
		return nil
	}
	b := bytes.NewBuffer(buf[:0])
	if _, err := io.CopyN(b, f, smallStream); err == nil {
		// Larger than that: parse it here, beginning with what was read already.
		err := in.parse(ctx, st, v, f, io.MultiReader(bytes.NewReader(b.Bytes()), f))
		in.free <- b.Bytes()
		return err
	} else if err != io.EOF {
		in.free <- b.Bytes()
		return err
	}
	in.workers.Go(func() {
		defer func() { in.free <- b.Bytes() }()
		_ = in.parse(ctx, st, v, f, bytes.NewReader(b.Bytes()))
	})
	return nil
}

// parse runs the parser of one stream. Its error is the reason to stop
// everything: cancellation, or an event store that cannot be written. F counts
// the bytes read; it must not be read itself.
func (in *ingest) parse(ctx context.Context, st *stream, v verdict, f *source.File, r io.Reader) error {
	err := guard(ctx, st, v, r, st)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		st.Problem(event.Problem{Ref: event.Ref{Offset: f.Offset()}, Code: "unreadable", Message: err.Error()})
	}
	if st.info.Bytes == 0 {
		st.info.Bytes = f.Offset()
	}
	if st.err == nil {
		st.err = st.log.Seal()
	}
	if st.info.Kept == 0 {
		st.info.Kept = st.log.Len()
	}
	if st.err != nil {
		in.cancel(st.err)
	}
	return st.err
}

// parserBuffers saves parsers the buffer they would make for each of thousands of
// small files: bufio.NewReaderSize returns a reader that is large enough as it
// is.
var parserBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 256<<10) }}

// guard turns a parser's panic into its error: one bad record in one file must
// not take the analysis of a whole bundle with it.
func guard(ctx context.Context, st *stream, v verdict, r io.Reader, sink event.Sink) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser failed, which is a bug to report: %v", p)
		}
	}()
	if v.capture {
		return pcap.Parse(ctx, r, st.info, sink)
	}
	st.info.Format = v.format.Name
	br := parserBuffers.Get().(*bufio.Reader)
	br.Reset(r)
	defer func() {
		br.Reset(nil)
		parserBuffers.Put(br)
	}()
	return v.format.Parse(ctx, &logs.Input{Path: st.info.Path, R: br, Info: st.info, Sink: sink})
}

// finish numbers the streams by input and path, whatever order they were met
// in, and completes their rows.
func (in *ingest) finish(res source.Result) *Case {
	c := &Case{store: in.store, inputs: inputInfos(res)}
	for _, k := range res.Skipped {
		in.skip(k.Input, k.Reason, k.Example, k.Count, 0)
	}
	c.streams = in.dropBarren(in.dropCopies(in.streams))
	slices.SortFunc(c.streams, func(a, b *stream) int {
		return cmp.Or(cmp.Compare(a.info.Input, b.info.Input), cmp.Compare(a.info.Path, b.info.Path), cmp.Compare(a.seq, b.seq))
	})
	byPath := make(map[string]event.StreamID, len(c.streams))
	for i, st := range c.streams {
		st.info.ID = event.StreamID(i + 1)
		st.info.Hash = res.Inputs[st.info.Input].SHA256
		byPath[st.info.Path] = st.info.ID
		c.infos = append(c.infos, st.info)
	}
	c.hosts = placeNodes(c.streams)
	for _, p := range res.Problems {
		p.Ref.Stream = byPath[p.Path] // zero where the problem is a container's
		c.problems = append(c.problems, p)
	}
	for _, st := range c.streams {
		for _, p := range st.problems {
			p.Ref.Stream = st.info.ID
			c.problems = append(c.problems, p)
		}
	}
	slices.SortStableFunc(c.problems, compareProblems)
	for _, key := range slices.SortedFunc(maps.Keys(in.ignored), func(a, b ignoredKey) int {
		return cmp.Or(cmp.Compare(a.input, b.input), cmp.Compare(a.reason, b.reason))
	}) {
		c.ignored = append(c.ignored, *in.ignored[key])
	}
	return c
}

// dropBarren leaves out files of Kubernetes objects that none was kept of: a
// bundle has thousands, and a row for each would hide the others.
func (in *ingest) dropBarren(streams []*stream) []*stream {
	return slices.DeleteFunc(streams, func(s *stream) bool {
		if !strings.HasPrefix(s.info.Format, "kube-") || s.log.Len() > 0 || s.info.Kept > 0 || len(s.problems) > 0 {
			return false
		}
		in.skip(s.info.Input, "Kubernetes objects without a bearing on probes", s.info.Path, 1, s.info.Bytes)
		return true
	})
}

// dropCopies leaves out container logs that the same collector stored twice.
func (in *ingest) dropCopies(streams []*stream) []*stream {
	type id struct {
		input              int
		root, ns, pod, ctr string
	}
	key := func(s *stream) id {
		root, _, _ := strings.Cut(s.info.Path, "/"+s.place.Namespace+"_"+s.place.Pod)
		if s.place.Role == source.RoleContainerCopy {
			root, _, _ = strings.Cut(s.info.Path, "/"+s.place.Pod+"_"+s.place.Namespace)
		}
		return id{s.info.Input, path.Dir(root), s.place.Namespace, s.place.Pod, s.place.Container}
	}
	have := make(map[id]bool)
	for _, s := range streams {
		if s.place.Role == source.RoleContainerLog {
			have[key(s)] = true
		}
	}
	return slices.DeleteFunc(streams, func(s *stream) bool {
		if s.place.Role != source.RoleContainerCopy || !have[key(s)] {
			return false
		}
		in.skip(s.info.Input, "second copies of container logs", s.info.Path, 1, s.info.Bytes)
		return true
	})
}
