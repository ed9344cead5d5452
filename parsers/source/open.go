package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// diskFile is a regular file on disk (or standard input) that is read and
// hashed in one pass.
type diskFile struct {
	w        *walker
	a        *ahead
	sum      hash.Hash
	bytes    int64
	close    func() error
	done     func(sum string, bytes int64)
	detached bool
	once     sync.Once
	input    int
	path     string
}

// open visits one outer input.
func (w *walker) open(ctx context.Context, in string) error {
	display := w.inputs[w.input].Path
	if in == "-" {
		if w.opts.Stdin == nil {
			w.problem(display, 0, "unreadable", "standard input is not available")
			return nil
		}
		return w.outer(ctx, io.NopCloser(w.opts.Stdin), nil, display)
	}
	if s := w.store(in); s != nil {
		return w.remote(ctx, s, in, display)
	}
	st, err := os.Stat(in)
	if err != nil {
		if w.takes(display) {
			w.problem(display, 0, "unreadable", reason(err))
		}
		return nil
	}
	w.inputs[w.input].Modified = event.FromTime(st.ModTime())
	if st.IsDir() {
		return w.dir(ctx, in, display)
	}
	if !w.takes(display) {
		return nil
	}
	f, err := os.Open(in)
	if err != nil {
		w.problem(display, 0, "unreadable", reason(err))
		return nil
	}
	var o *Object
	if st.Mode().IsRegular() {
		o = &Object{Size: st.Size(), Modified: event.FromTime(st.ModTime())}
	}
	return w.outer(ctx, f, o, display)
}

// takes reports whether the walk is to read a file on disk.
func (w *walker) takes(logical string) bool { return w.opts.Take == nil || w.opts.Take(logical) }

// reason is the error without the path that the problem already names.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// outer visits an outer input that is one file, a pipe or standard input; o is
// nil where there is no size.
func (w *walker) outer(ctx context.Context, f io.ReadCloser, o *Object, display string) error {
	input := w.input
	e := entry{path: display, size: -1, outer: true}
	if o != nil {
		e.size = o.Size
		e.modified = o.Modified
		w.opts.Progress.Total.Add(e.size)
	}
	return w.disk(ctx, f, e, func(sum string, n int64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.inputs[input].SHA256, w.inputs[input].Bytes = sum, n
	})
}

// disk reads, hashes and expands one file; done gets its digest when it was
// read to the end.
func (w *walker) disk(ctx context.Context, f io.ReadCloser, e entry, done func(string, int64)) error {
	d := &diskFile{w: w, sum: sha256.New(), close: f.Close, done: done, input: w.input, path: e.path}
	d.a = newAhead(ctx, f, func(b []byte) {
		if !w.opts.NoDigests {
			d.sum.Write(b)
		}
		d.bytes += int64(len(b))
		w.opts.Progress.Read.Add(int64(len(b)))
	})
	e.r, e.disk = d.a, d
	if ra, ok := f.(io.ReaderAt); ok && e.size >= 0 {
		e.at = ra
	}
	w.detached.Add(1)
	err := w.expand(ctx, e)
	if !d.detached || err != nil {
		if err == nil {
			d.finish(nil)
		} else {
			d.abandon()
		}
	}
	return err
}

// finish reads the rest of the file for its digest, reports what was wrong, and
// releases it.
func (d *diskFile) finish(f *File) {
	d.once.Do(func() {
		defer d.w.detached.Done()
		if f != nil {
			_ = d.w.fileDamage(f, nil)
		}
		if d.w.opts.NoDigests {
			d.a.Close()
			_ = d.close()
			return
		}
		err := d.a.drain()
		d.a.Close()
		_ = d.close()
		switch {
		case err == nil:
			d.done(hex.EncodeToString(d.sum.Sum(nil)), d.bytes)
		case !isCancel(err) && (f == nil || f.err == nil):
			d.w.problemIn(d.input, d.path, d.bytes, "unreadable", reason(err))
		}
	})
}

// abandon releases the file without a digest.
func (d *diskFile) abandon() {
	d.once.Do(func() {
		defer d.w.detached.Done()
		d.a.Close()
		_ = d.close()
	})
}

// directory is an outer input that is a directory, while its files are visited.
type directory struct {
	w       *walker
	input   int
	display string
	// mine is whether what belongs to no file of the directory is this share's to
	// tell; whole is whether everything could be listed and opened.
	mine, whole bool

	mu      sync.Mutex // files may be read to their end after their visit
	members []Member
}

func (w *walker) directory(display string) *directory {
	w.inputs[w.input].Directory = true
	return &directory{w: w, input: w.input, display: display, mine: w.takes(display), whole: true}
}

// file visits one file, by its path below the directory.
func (d *directory) file(ctx context.Context, logical, rel string, o Object, open func() (io.ReadCloser, error)) error {
	if err := d.w.count(); err != nil {
		return err
	}
	f, err := open()
	if err != nil {
		d.w.problem(logical, 0, "unreadable", reason(err))
		d.whole = false
		return ctx.Err()
	}
	d.w.opts.Progress.Total.Add(o.Size)
	i := len(d.members)
	d.mu.Lock()
	d.members = append(d.members, Member{Name: "./" + rel})
	d.mu.Unlock()
	return d.w.disk(ctx, f, entry{path: logical, size: o.Size, modified: o.Modified}, func(sum string, n int64) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.members[i].SHA256, d.members[i].Bytes = sum, n
	})
}

// end completes what is known of the input once all its files were read.
func (d *directory) end(err error) error {
	d.w.finishers = append(d.w.finishers, func() {
		sum, n, all := DigestListing(d.members)
		in := &d.w.inputs[d.input]
		in.Bytes = n
		in.Whole = d.whole && err == nil
		if d.w.opts.Take != nil {
			in.Members = d.members
			return // the digest is that of all shares together
		}
		if d.whole && all && err == nil {
			in.SHA256 = sum
		}
	})
	return err
}

// dir visits the regular files below a directory, sorted by path. Links are not
// followed and special files not opened: a pipe would block and a device has no
// end.
func (w *walker) dir(ctx context.Context, root, display string) error {
	d := w.directory(display)
	root, err := filepath.EvalSymlinks(root) // the input itself may be a link
	if err != nil {
		if d.mine {
			w.problem(display, 0, "unreadable", reason(err))
		}
		return nil
	}
	return d.end(filepath.WalkDir(root, func(p string, de fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		rel, rerr := filepath.Rel(root, p)
		if rerr != nil {
			return fmt.Errorf("%s: %w", display, rerr)
		}
		logical := display + "/" + printable(filepath.ToSlash(rel))
		if rel == "." {
			logical = display
		}
		if err != nil {
			if w.takes(logical) {
				w.problem(logical, 0, "unreadable", reason(err))
			}
			d.whole = false
			if de != nil && de.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case de.IsDir() && rel != "." && strings.HasSuffix(de.Name(), ReportSuffix):
			// What an earlier run wrote into the directory is no evidence, and must not
			// change the result of the next.
			if d.mine {
				w.skip(whyReports, logical)
			}
			return fs.SkipDir
		case de.IsDir():
			return nil
		case de.Type()&fs.ModeSymlink != 0:
			if d.mine {
				w.skip(whyLinks, logical)
			}
			return nil
		case !de.Type().IsRegular():
			if d.mine {
				w.group(display, "special-file", "devices, pipes and sockets are not opened, for instance "+logical)
			}
			return nil
		case !w.takes(logical):
			return nil
		}
		var o Object
		st, err := de.Info()
		if err == nil {
			o = Object{Size: st.Size(), Modified: event.FromTime(st.ModTime())}
		}
		return d.file(ctx, logical, filepath.ToSlash(rel), o, func() (io.ReadCloser, error) {
			if err != nil {
				return nil, err
			}
			return os.Open(p)
		})
	}))
}
