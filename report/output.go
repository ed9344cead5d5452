package report

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/probe-forensics/probe-forensics/report/manifest"
)

// Output is where a renderer writes.
type Output interface {
	// Create starts a file. The name is slash-separated and relative to the report
	// directory; its directories are made. The file is complete once it was closed
	// without an error, and visible only when the whole report is.
	Create(name string) (io.WriteCloser, error)
	// Stdout takes what people read at once.
	Stdout() io.Writer
}

// Sink is an Output that can be made visible or thrown away as a whole.
type Sink interface {
	Output
	// Written lists the files closed so far, sorted by name.
	Written() []manifest.File
	// Commit makes all files visible, in the order in which they were created. It
	// fails when a file was not closed.
	Commit() error
	// Discard removes everything that was not committed.
	Discard() error
}

// Dir is a Sink that writes below a directory of the file system. Each file is
// written under a temporary name beside its place, flushed to disk, and renamed
// by Commit. A directory that is not there yet is filled under a temporary name
// of its own and renamed last: it appears whole. Names can't leave the directory,
// not even through symbolic links.
type Dir struct {
	path    string
	stdout  io.Writer
	root    *os.Root
	files   []*dirFile
	made    []string // directories made by this run, outermost first
	staging string   // where a new directory is filled, "" when path was there before
	done    []manifest.File
}

// NewDir returns a Dir; path is made when the first file is created.
func NewDir(path string, stdout io.Writer) *Dir { return &Dir{path: path, stdout: stdout} }

// Path is the report directory.
func (d *Dir) Path() string { return d.path }

// Stdout implements Output.
func (d *Dir) Stdout() io.Writer { return d.stdout }

// Create implements Output.
func (d *Dir) Create(name string) (io.WriteCloser, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, fmt.Errorf("%s: not a name below the report directory", strconv.Quote(name))
	}
	if slices.ContainsFunc(d.files, func(f *dirFile) bool { return f.name == name }) {
		return nil, fmt.Errorf("%s: written twice", name)
	}
	if err := d.open(); err != nil {
		return nil, err
	}
	if err := d.mkdir(path.Dir(name)); err != nil {
		return nil, err
	}
	f := &dirFile{name: name, sum: sha256.New()}
	err := temporary(path.Base(name), func(temp string) (err error) {
		f.temp = path.Join(path.Dir(name), temp)
		f.handle, err = d.root.OpenFile(f.temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		return err
	})
	if err != nil {
		return nil, err
	}
	f.buf = bufio.NewWriterSize((*unbuffered)(f), writeBuffer)
	d.files = append(d.files, f)
	return f, nil
}

// temporary makes something that is to be called name under a name of its own,
// hidden and not yet taken.
func temporary(name string, create func(temp string) error) error {
	for i := 0; ; i++ {
		err := create(fmt.Sprintf(".%s.%d-%d.tmp", name, os.Getpid(), i))
		if !errors.Is(err, fs.ErrExist) || i >= 1000 {
			return err
		}
	}
}

func (d *Dir) open() error {
	if d.root != nil {
		return nil
	}
	where := d.path
	if _, err := os.Stat(d.path); errors.Is(err, fs.ErrNotExist) {
		if err := d.stage(); err != nil {
			return err
		}
		where = d.staging
	}
	root, err := os.OpenRoot(where)
	if err != nil {
		return err
	}
	d.root = root
	return nil
}

// stage makes the directory that becomes path in the end.
func (d *Dir) stage() error {
	parent := filepath.Dir(d.path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	return temporary(filepath.Base(d.path), func(temp string) error {
		name := filepath.Join(parent, temp)
		err := os.Mkdir(name, 0o755)
		if err == nil {
			d.staging = name
		}
		return err
	})
}

func (d *Dir) mkdir(dir string) error {
	if dir == "." {
		return nil
	}
	if err := d.mkdir(path.Dir(dir)); err != nil {
		return err
	}
	err := d.root.Mkdir(dir, 0o755)
	if err == nil {
		d.made = append(d.made, dir)
		return nil
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Written implements Sink.
func (d *Dir) Written() []manifest.File {
	out := slices.Clone(d.done)
	for _, f := range d.files {
		if f.handle == nil && f.err == nil {
			out = append(out, manifest.File{Name: f.name, SHA256: f.digest, Bytes: f.size})
		}
	}
	slices.SortFunc(out, func(a, b manifest.File) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Commit implements Sink. In a directory that was there before, an interruption
// between two renames can leave some files of this run and some of an earlier
// one; the manifest, renamed last, then still describes the earlier one.
func (d *Dir) Commit() error {
	for _, f := range d.files {
		if f.handle != nil {
			return fmt.Errorf("%s: not closed", f.name)
		}
		if f.err != nil {
			return f.err
		}
	}
	dirs := map[string]bool{}
	for len(d.files) > 0 {
		f := d.files[0]
		if err := d.root.Rename(f.temp, f.name); err != nil {
			return err
		}
		dirs[path.Dir(f.name)] = true
		d.done = append(d.done, manifest.File{Name: f.name, SHA256: f.digest, Bytes: f.size})
		d.files = d.files[1:]
	}
	for dir := range dirs {
		syncDir(d.root.Open(dir))
	}
	d.made = nil
	if err := d.close(); err != nil || d.staging == "" {
		return err
	}
	if err := os.Rename(d.staging, d.path); err != nil {
		return err
	}
	d.staging = ""
	syncDir(os.Open(filepath.Dir(d.path)))
	return nil
}

// syncDir makes the renames in an opened directory durable where the file system
// supports it; where it does not, the files are complete all the same.
func syncDir(h *os.File, err error) {
	if err == nil {
		_ = h.Sync()
		_ = h.Close()
	}
}

// Discard implements Sink. Directories that this run made and that are empty go
// as well.
func (d *Dir) Discard() error {
	if d.root == nil && d.staging == "" {
		return nil
	}
	var errs []error
	for _, f := range d.files {
		if f.handle != nil {
			_ = f.handle.Close()
		}
		if err := d.root.Remove(f.temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	d.files = nil
	for _, dir := range slices.Backward(d.made) {
		_ = d.root.Remove(dir) // fails when it holds files of someone else: then it stays
	}
	d.made = nil
	errs = append(errs, d.close())
	if d.staging != "" {
		errs = append(errs, os.RemoveAll(d.staging))
		d.staging = ""
	}
	return errors.Join(errs...)
}

func (d *Dir) close() error {
	if d.root == nil {
		return nil
	}
	err := d.root.Close()
	d.root = nil
	return err
}

// dirFile is a file on its way: open while handle is not nil.
type dirFile struct {
	name, temp string
	handle     *os.File
	buf        *bufio.Writer // templates write a few bytes at a time
	sum        hash.Hash
	size       int64
	digest     string
	err        error
}

// writeBuffer is how many bytes of a file are written at once.
const writeBuffer = 32 << 10

func (f *dirFile) Write(p []byte) (int, error) {
	if f.handle == nil {
		return 0, fs.ErrClosed
	}
	return f.buf.Write(p)
}

// unbuffered is a file below its buffer.
type unbuffered dirFile

func (f *unbuffered) Write(p []byte) (int, error) {
	n, err := f.handle.Write(p)
	f.sum.Write(p[:n])
	f.size += int64(n)
	if err != nil {
		f.err = err
	}
	return n, err
}

func (f *dirFile) Close() error {
	if f.handle == nil {
		return fs.ErrClosed
	}
	if err := f.buf.Flush(); f.err == nil {
		f.err = err
	}
	err := errors.Join(f.err, f.handle.Sync(), f.handle.Close())
	f.handle, f.buf = nil, nil
	f.digest = hex.EncodeToString(f.sum.Sum(nil))
	f.err = err
	return err
}
