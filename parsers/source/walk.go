package source

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// ErrStop ends a walk early and without an error when visit returns it. Digests
// of inputs that were not read to their end then stay empty.
var ErrStop = errors.New("stop walking")

// Options of a walk. The zero value is ready to use.
type Options struct {
	Limits Limits
	// Stdin is what the input "-" reads.
	Stdin io.Reader
	// NoDigests leaves the digests of the inputs empty, for a second look at inputs
	// whose digests are known.
	NoDigests bool
	// Take, when set, decides which files on disk are read, by their logical path:
	// the others belong to other shares of the same case. It is asked with the name
	// of a directory for what belongs to none of its files (links, devices).
	Take func(path string) bool
	// Store, when set, returns what reads an input by its name, nil for an input of
	// this machine.
	Store func(input string) Store
	// Progress, when set, is updated while the walk goes on.
	Progress *Progress
}

// Progress counts what a walk has done so far. Its fields may be read at any
// time, from any goroutine.
type Progress struct {
	// Read and Total are bytes of the outer inputs as they lie on disk. Total
	// grows while directories are listed and leaves out standard input.
	Read, Total atomic.Int64
	// Members counts the streams visited.
	Members atomic.Int64
}

// Input is what a walk learned about one outer input.
type Input struct {
	// Path is the input's base name, or more of its path where two inputs would
	// have the same name; "stdin" for standard input.
	Path string
	// SHA256 is the lower-case hex digest, "" when the input could not be read to
	// its end.
	SHA256 string
	// Bytes is the size on disk: the sum of the files for a directory.
	Bytes int64
	// Directory is set for an input that is a directory. Whole is set when all of
	// the directory could be listed and opened; Members are the files taken, filled
	// when Options.Take is set, and there is no digest then.
	Directory, Whole bool
	Members          []Member
	// Files counts the streams visited in this input.
	Files int64
	// Modified is the modification time on disk, zero for standard input. It is not
	// part of the content: use it as a last resort only.
	Modified event.Nanos
}

// Result is what a walk learned besides the files it visited.
type Result struct {
	Inputs []Input
	// Problems are sorted by input, path, place and code.
	Problems []event.Problem
	// Skipped are members left alone that are no sign of damage.
	Skipped []Skipped
}

// Skipped counts the members of one input that were left alone for one
// reason.
type Skipped struct {
	Input   int
	Reason  string
	Count   int64
	Example string // logical path of the first one met
}

// whyLinks is why a link is not read: what it points to is read at its own
// place, if it is part of the input at all.
const whyLinks = "links, which are not followed"

// ReportSuffix ends the name of directories that hold reports of this tool. They
// are left out when they lie inside an input, unless they are the input.
const ReportSuffix = ".probe-forensics"

const whyReports = "reports of this tool"

// Walk visits every stream of the inputs: inputs in the order given, directories
// in sorted order, archives in their own order. A path may be a file, a
// directory, or "-" for standard input. An input that cannot be opened and
// damage inside one are problems of the result. The error is visit's own, or the
// context's.
func Walk(ctx context.Context, inputs []string, opts Options, visit func(*File) error) (Result, error) {
	w := &walker{lim: opts.Limits.withDefaults(), opts: opts, visit: visit, seen: make(map[uint64]int32)}
	if w.opts.Progress == nil {
		w.opts.Progress = new(Progress)
	}
	w.inputs = make([]Input, len(inputs))
	for i, name := range displayNames(inputs) {
		w.inputs[i].Path = name
	}
	var err error
	for i, in := range inputs {
		w.input = i
		if err = w.open(ctx, in); err != nil {
			break
		}
	}
	w.detached.Wait()
	for _, finish := range w.finishers {
		finish()
	}
	var lim *limitError
	switch {
	case errors.Is(err, ErrStop):
		err = nil
	case errors.As(err, &lim):
		w.problem(w.inputs[w.input].Path, 0, "limit", "reading stopped: "+lim.what)
		err = nil
	}
	return Result{Inputs: w.inputs, Problems: w.sorted(), Skipped: w.skipped}, err
}

// walker is the state of one walk. Except where marked it belongs to the walk's
// goroutine.
type walker struct {
	lim   Limits
	opts  Options
	visit func(*File) error

	input   int
	members int64
	total   atomic.Int64 // bytes decompressed; read by decoder goroutines
	// seen counts the logical paths met, by hash: a name that comes back gets a
	// number so that every path stays unique.
	seen    map[uint64]int32
	bufs    []*bufio.Reader
	skipped []Skipped

	detached  sync.WaitGroup
	finishers []func() // run when detached files are done

	mu       sync.Mutex // guards what follows: detached files report too
	inputs   []Input
	problems []placedProblem
	grouped  map[string]int // index into problems by container and code
}

type placedProblem struct {
	event.Problem
	input int
}

// entry is one thing inside a container (or an outer input) before its kind is
// known.
type entry struct {
	path     string
	modified event.Nanos
	size     int64 // -1 unknown
	r        io.Reader
	at       io.ReaderAt // the same bytes, where they lie on disk; nil otherwise
	disk     *diskFile
	outer    bool
	depth    int
	layer    *decoder // set when r is the direct output of a decoder
}

// expand finds out what an entry holds and visits every stream in it.
func (w *walker) expand(ctx context.Context, e entry) error {
	br := w.getBuf(e.r)
	err := w.expandBuffered(ctx, e, br)
	if e.disk == nil || !e.disk.detached {
		w.putBuf(br)
	}
	return err
}

func (w *walker) expandBuffered(ctx context.Context, e entry, br *bufio.Reader) error {
	head, err := br.Peek(512)
	if isCancel(err) {
		return err
	}
	k := sniff(head)
	if k != kindPlain && k != kindForeign && e.depth >= w.lim.Depth {
		w.problem(e.path, 0, "limit", fmt.Sprintf("%s not opened: more than %d containers within each other", k, w.lim.Depth))
		return nil
	}
	switch {
	case k == kindTar:
		return w.tar(ctx, e, br)
	case k == kindZip:
		return w.zip(ctx, e, br)
	case k == kindForeign:
		w.problem(e.path, 0, "unsupported-container", foreign(head)+" archives are not read: unpack it first")
		return nil
	case k.compressed():
		return w.decompress(ctx, e, k, br)
	default:
		return w.deliver(ctx, e, br)
	}
}

// decompress opens one compression layer and expands what is inside. A tar
// archive in it is known by the name of the compressed file alone, anything else
// by a path inside it.
func (w *walker) decompress(ctx context.Context, e entry, k kind, br *bufio.Reader) error {
	d, err := w.openDecoder(ctx, k, br, e.disk != nil)
	if err != nil {
		if isCancel(err) {
			return err
		}
		err = orUnexpected(err)
		w.problem(e.path, 0, classify(err), fmt.Sprintf("%s header: %s", k, plainError(err)))
		return nil
	}
	defer d.close()
	inner := entry{path: e.path, modified: e.modified, size: -1, r: d, depth: e.depth + 1, layer: d}
	in := w.getBuf(d)
	defer w.putBuf(in)
	if head, err := in.Peek(512); isCancel(err) {
		return err
	} else if sniff(head) != kindTar {
		inner.path = e.path + "!/" + stripSuffix(path.Base(e.path))
	}
	if err := w.expandBuffered(ctx, inner, in); err != nil {
		return err
	}
	return w.layerDamage(e.path, k, d)
}

// layerDamage reports what ended a decoder early.
func (w *walker) layerDamage(p string, k kind, d *decoder) error {
	if d.err == nil {
		return nil
	}
	if isCancel(d.err) {
		return d.err
	}
	if !d.told {
		w.problem(p, d.in.n.Load(), classify(d.err), fmt.Sprintf("%s, after %d bytes read and %d decompressed: %s",
			k, d.in.n.Load(), d.m.out, plainError(d.err)))
	}
	var lim *limitError
	if errors.As(d.err, &lim) && lim.total {
		return d.err
	}
	return nil
}

// deliver hands a plain stream to the visitor.
func (w *walker) deliver(ctx context.Context, e entry, br *bufio.Reader) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f := &File{Input: w.input, Path: e.path, Modified: e.modified, Size: e.size, Outer: e.outer, r: br, disk: e.disk}
	w.opts.Progress.Members.Add(1)
	w.inputs[w.input].Files++
	if err := w.visit(f); err != nil {
		return err
	}
	if e.disk != nil && e.disk.detached {
		return nil
	}
	return w.fileDamage(f, e.layer)
}

// fileDamage reports what ended a file early.
func (w *walker) fileDamage(f *File, layer *decoder) error {
	damage := cmp.Or(f.err, f.ahead)
	if damage == nil {
		return nil
	}
	if isCancel(damage) {
		return damage
	}
	claim := ""
	if f.Size >= 0 {
		claim = fmt.Sprintf(" of %d", f.Size)
	}
	w.problemIn(f.Input, f.Path, f.n, classify(damage), fmt.Sprintf("read %d bytes%s: %s", f.n, claim, plainError(damage)))
	if layer != nil {
		layer.told = true
	}
	return nil
}

// unique makes a logical path that was met before a new one: archives may hold
// two members of one name.
func (w *walker) unique(p string) string {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset) ^ uint64(w.input)
	for i := range len(p) {
		h = (h ^ uint64(p[i])) * prime
	}
	w.seen[h]++
	n := w.seen[h]
	if n == 1 {
		return p
	}
	w.group(p[:strings.LastIndexByte(p, '/')+1], "duplicate-member", "several members have the name "+path.Base(p))
	return fmt.Sprintf("%s (%d)", p, n)
}

// count admits one more member, or reports that the limit is reached.
func (w *walker) count() error {
	w.members++
	if w.members > w.lim.Members {
		return &limitError{total: true, what: fmt.Sprintf("more than %d members", w.lim.Members)}
	}
	return nil
}

func (w *walker) problem(p string, offset int64, code, message string) {
	w.problemIn(w.input, p, offset, code, message)
}

func (w *walker) problemIn(input int, p string, offset int64, code, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, placedProblem{input: input,
		Problem: event.Problem{Ref: event.Ref{Offset: offset}, Path: p, Code: code, Message: message, Count: 1}})
}

// group reports a problem that a container can have thousands of: the first is
// kept and the others are counted.
func (w *walker) group(container, code, message string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.grouped == nil {
		w.grouped = make(map[string]int)
	}
	key := container + "\x00" + code
	if i, ok := w.grouped[key]; ok {
		w.problems[i].Count++
		return
	}
	w.grouped[key] = len(w.problems)
	w.problems = append(w.problems, placedProblem{input: w.input,
		Problem: event.Problem{Path: strings.TrimSuffix(container, "/"), Code: code, Message: message, Count: 1}})
}

// skip counts a member that is left alone for a harmless reason.
func (w *walker) skip(reason, logical string) {
	for i := range w.skipped {
		if s := &w.skipped[i]; s.Input == w.input && s.Reason == reason {
			s.Count++
			return
		}
	}
	w.skipped = append(w.skipped, Skipped{Input: w.input, Reason: reason, Count: 1, Example: logical})
}

func (w *walker) sorted() []event.Problem {
	slices.SortStableFunc(w.problems, func(a, b placedProblem) int {
		if a.input != b.input {
			return a.input - b.input
		}
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		if c := a.Ref.Compare(b.Ref); c != 0 {
			return c
		}
		return strings.Compare(a.Code, b.Code)
	})
	out := make([]event.Problem, len(w.problems))
	for i, p := range w.problems {
		out[i] = p.Problem
	}
	return out
}

// getBuf and putBuf recycle the 64 KiB buffers: an archive may have a hundred
// thousand members, one or two containers deep.
func (w *walker) getBuf(r io.Reader) *bufio.Reader {
	if n := len(w.bufs); n > 0 {
		br := w.bufs[n-1]
		w.bufs = w.bufs[:n-1]
		br.Reset(r)
		return br
	}
	return bufio.NewReaderSize(r, PeekSize)
}

func (w *walker) putBuf(br *bufio.Reader) {
	br.Reset(nil)
	w.bufs = append(w.bufs, br)
}

func orUnexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
