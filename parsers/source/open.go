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
	return w.outer(ctx, f, st, display)
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

// outer visits an outer input that is one file, a pipe or standard input.
func (w *walker) outer(ctx context.Context, f io.ReadCloser, st fs.FileInfo, display string) error {
	input := w.input
	e := entry{path: display, size: -1, outer: true}
	if st != nil && st.Mode().IsRegular() {
		e.size = st.Size()
		e.modified = event.FromTime(st.ModTime())
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

// dir visits the regular files below a directory, sorted by path. Links are not
// followed and special files not opened: a pipe would block and a device has no
// end.
func (w *walker) dir(ctx context.Context, root, display string) error {
	input := w.input
	var mu sync.Mutex
	var members []Member
	whole, mine := true, w.takes(display)
	w.inputs[input].Directory = true
	root, err := filepath.EvalSymlinks(root) // the input itself may be a link
	if err != nil {
		if mine {
			w.problem(display, 0, "unreadable", reason(err))
		}
		return nil
	}
	err = filepath.WalkDir(root, func(p string, de fs.DirEntry, err error) error {
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
			whole = false
			if de != nil && de.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case de.IsDir() && rel != "." && strings.HasSuffix(de.Name(), ReportSuffix):
			// What an earlier run wrote into the directory is no evidence, and must not
			// change the result of the next.
			if mine {
				w.skip(whyReports, logical)
			}
			return fs.SkipDir
		case de.IsDir():
			return nil
		case de.Type()&fs.ModeSymlink != 0:
			if mine {
				w.skip(whyLinks, logical)
			}
			return nil
		case !de.Type().IsRegular():
			if mine {
				w.group(display, "special-file", "devices, pipes and sockets are not opened, for instance "+logical)
			}
			return nil
		case !w.takes(logical):
			return nil
		}
		if err := w.count(); err != nil {
			return err
		}
		st, err := de.Info()
		var f *os.File
		if err == nil {
			f, err = os.Open(p)
		}
		if err != nil {
			if w.takes(logical) {
				w.problem(logical, 0, "unreadable", reason(err))
			}
			whole = false
			return nil
		}
		w.opts.Progress.Total.Add(st.Size())
		i := len(members)
		mu.Lock()
		members = append(members, Member{Name: "./" + filepath.ToSlash(rel)})
		mu.Unlock()
		e := entry{path: logical, size: st.Size(), modified: event.FromTime(st.ModTime()), depth: 0}
		return w.disk(ctx, f, e, func(sum string, n int64) {
			mu.Lock()
			defer mu.Unlock()
			members[i].SHA256, members[i].Bytes = sum, n
		})
	})
	w.finishers = append(w.finishers, func() {
		sum, n, all := DigestListing(members)
		w.inputs[input].Bytes = n
		w.inputs[input].Whole = whole && err == nil
		if w.opts.Take != nil {
			w.inputs[input].Members = members
			return // the digest is that of all shares together
		}
		if whole && all && err == nil {
			w.inputs[input].SHA256 = sum
		}
	})
	return err
}
