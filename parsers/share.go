package parsers

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/parsers/spill"
)

// Share is one part of the files of a case: those that Take accepts. Every file
// of the case must be taken by exactly one of the Count shares.
type Share struct {
	Index, Count int
	// Take decides on a file by its logical path on disk: the name of the input, and
	// behind a slash the path below an input that is a directory. It is asked with
	// the name of a directory for what belongs to none of its files.
	Take func(path string) bool
}

// WriteShare reads the files of one share and writes their events to w, for
// OpenShares. It returns the problems it met. What depends on more than one
// file is left to OpenShares; limits against hostile archives hold for each
// share.
func WriteShare(ctx context.Context, w io.Writer, inputs []string, share Share, opts Options) ([]event.Problem, error) {
	if len(inputs) == 0 {
		return nil, errors.New("no inputs")
	}
	opts.take = share.Take
	in := newIngest(opts.withDefaults())
	defer in.store.Close()
	res, err := in.run(ctx, inputs)
	if err != nil {
		return nil, err
	}
	t := spill.Table{Share: share.Index, Shares: share.Count}
	for _, i := range res.Inputs {
		x := spill.Input{Path: i.Path, SHA256: i.SHA256, Bytes: i.Bytes, Modified: i.Modified, Directory: i.Directory, Whole: i.Whole}
		for _, m := range i.Members {
			x.Members = append(x.Members, spill.Member(m))
		}
		t.Inputs = append(t.Inputs, x)
	}
	for _, p := range res.Problems {
		p.Ref.Stream = 0
		t.Problems = append(t.Problems, p)
	}
	c := &Case{store: in.store}
	for i, st := range in.streams {
		st.info.ID = event.StreamID(i + 1)
		t.Infos = append(t.Infos, st.info)
		for _, p := range st.problems {
			p.Ref.Stream = st.info.ID
			t.Problems = append(t.Problems, p)
		}
		// As they were read: nodes are placed when all streams are known.
		c.streams = append(c.streams, &stream{info: st.info, log: st.log, api: true})
	}
	return t.Problems, spill.Write(w, t, c.Events())
}

// OpenShares opens the files that WriteShare wrote, all shares of one case in
// any order, as if its inputs had been opened by Open.
func OpenShares(ctx context.Context, paths []string, opts Options) (*Case, error) {
	if len(paths) == 0 {
		return nil, errors.New("no inputs")
	}
	opts.Workers = 1
	in := newIngest(opts.withDefaults())
	c, err := in.reduce(ctx, paths)
	if err != nil {
		return nil, errors.Join(err, in.store.Close())
	}
	return c.readable()
}

func (in *ingest) reduce(ctx context.Context, paths []string) (*Case, error) {
	tables := map[int]*spill.Table{}
	from := map[int]string{}
	var res source.Result
	for _, p := range paths {
		t, logs, err := readShare(ctx, p, in.opts, in.store)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		if first := from[t.Share]; first != "" {
			return nil, fmt.Errorf("%s: share %d of %d is there already, as %s", p, t.Share, t.Shares, first)
		}
		tables[t.Share], from[t.Share] = t, p
		if err := in.adopt(t, logs); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	whole := tables[0]
	for i := 0; whole == nil || i < whole.Shares; i++ {
		switch t := tables[i]; {
		case t == nil:
			return nil, fmt.Errorf("share %d of the case is missing", i)
		case t.Shares != whole.Shares || len(tables) > whole.Shares:
			return nil, fmt.Errorf("%s: one of %d shares, but %s is one of %d", from[i], t.Shares, from[0], whole.Shares)
		case !slices.EqualFunc(t.Inputs, whole.Inputs, func(a, b spill.Input) bool { return a.Path == b.Path && a.Directory == b.Directory }):
			return nil, fmt.Errorf("%s: not a share of the case that %s belongs to: other inputs", from[i], from[0])
		default:
			for _, p := range t.Problems {
				if p.Ref.Stream == 0 {
					res.Problems = append(res.Problems, p)
				}
			}
		}
	}
	for i := range whole.Inputs {
		res.Inputs = append(res.Inputs, joined(tables, i))
	}
	slices.SortStableFunc(in.streams, func(a, b *stream) int {
		return cmp.Or(cmp.Compare(a.info.Input, b.info.Input), walkOrder(a.info.Path, b.info.Path), cmp.Compare(a.seq, b.seq))
	})
	in.dropUnknown(res.Inputs)
	for i, st := range in.streams {
		st.seq = i
	}
	return in.finish(res), nil
}

func readShare(ctx context.Context, path string, opts Options, store *spill.Store) (*spill.Table, []*spill.Log, error) {
	f, err := opts.openFile(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	t, logs, err := spill.Read(bufio.NewReaderSize(source.Cancellable(ctx, f), 256<<10), store)
	if err == nil && t.Shares == 0 {
		err = errors.New("not a share: it holds a whole case, which analyze takes as an input")
	}
	return &t, logs, err
}

// adopt makes streams of what was read, as they were when their parsers ended.
func (in *ingest) adopt(t *spill.Table, logs []*spill.Log) error {
	at := len(in.streams)
	for i, info := range t.Infos {
		st := &stream{info: info, log: logs[i], place: source.Locate(info.Path), seq: i}
		for e, err := range logs[i].All() {
			if err != nil {
				return err
			}
			st.note(e)
		}
		in.streams = append(in.streams, st)
	}
	for _, p := range t.Problems {
		if id := int(p.Ref.Stream); id > 0 && id <= len(t.Infos) {
			st := in.streams[at+id-1]
			st.problems = append(st.problems, p)
		}
	}
	return nil
}

// joined is an input as all shares together know it.
func joined(tables map[int]*spill.Table, i int) source.Input {
	first := tables[0].Inputs[i]
	out := source.Input{Path: first.Path, Modified: first.Modified, Directory: first.Directory, Whole: true}
	var members []source.Member
	for share := range len(tables) {
		x := tables[share].Inputs[i]
		if !x.Directory {
			if x.SHA256 != "" {
				out.SHA256 = x.SHA256
			}
			out.Bytes += x.Bytes
			continue
		}
		out.Whole = out.Whole && x.Whole
		for _, m := range x.Members {
			members = append(members, source.Member(m))
		}
	}
	if first.Directory {
		sum, size, whole := source.DigestListing(members)
		if out.Bytes = size; whole && out.Whole {
			out.SHA256 = sum
		}
	}
	return out
}

// walkOrder compares logical paths by the order in which a walk meets their
// files: names are compared directory by directory. Members of one container
// are equal.
func walkOrder(a, b string) int {
	a, _, _ = strings.Cut(a, "!/")
	b, _, _ = strings.Cut(b, "!/")
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

// dropUnknown leaves out the rows of unknown streams beyond those that a walk
// over all files keeps.
func (in *ingest) dropUnknown(inputs []source.Input) {
	unknown := map[int]int{}
	in.streams = slices.DeleteFunc(in.streams, func(st *stream) bool {
		outer := st.info.Path == inputs[st.info.Input].Path // somebody asked for it by name
		if outer || st.info.Format != "" || len(st.problems) != 1 || st.problems[0].Code != codeUnknown {
			return false
		}
		unknown[st.info.Input]++
		return unknown[st.info.Input] > maxUnknown
	})
}
