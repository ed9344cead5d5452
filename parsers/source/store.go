package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Store reads inputs that are no files of this machine, for instance the
// objects of a bucket. Several goroutines may use it at a time. Its errors are
// the caller's to see again: a walk treats them as it treats those of a disk.
type Store interface {
	// Stat describes what a name stands for: a file, or a directory when there are
	// files below it. fs.ErrNotExist is among its errors when there is neither.
	Stat(ctx context.Context, name string) (Object, error)
	// List calls visit for every file below a directory, in any order, with its
	// slash-separated path below it. An error of visit ends the listing.
	List(ctx context.Context, name string, visit func(rel string, o Object) error) error
	// Open reads a file from its beginning. It fails, at the latest while reading,
	// when the file is no longer the one that Stat or List described.
	Open(ctx context.Context, o Object) (io.ReadCloser, error)
}

// Object is a file or a directory in a Store.
type Object struct {
	Name      string // what Stat takes
	Directory bool
	Size      int64
	Modified  event.Nanos // zero when the store does not tell
	// Version changes whenever the bytes do; "" when the store does not tell. The
	// version of a directory is that of its files.
	Version string
}

// store returns the store of an input, nil when it is one of this machine.
func (w *walker) store(input string) Store {
	if w.opts.Store == nil || input == "-" {
		return nil
	}
	return w.opts.Store(input)
}

// remote visits an input in a store.
func (w *walker) remote(ctx context.Context, s Store, in, display string) error {
	o, err := s.Stat(ctx, in)
	switch {
	case isCancel(err):
		return err
	case err != nil:
		if w.takes(display) {
			w.problem(display, 0, "unreadable", err.Error())
		}
		return nil
	case o.Directory:
		return w.remoteDir(ctx, s, in, display)
	}
	w.inputs[w.input].Modified = o.Modified
	if !w.takes(display) {
		return nil
	}
	r, err := s.Open(ctx, o)
	if err != nil {
		w.problem(display, 0, "unreadable", err.Error())
		return ctx.Err()
	}
	return w.outer(ctx, r, &o, display)
}

// remoteDir visits the files below a directory of a store.
func (w *walker) remoteDir(ctx context.Context, s Store, in, display string) error {
	d := w.directory(display)
	files, reports, err := ListInput(ctx, s, in)
	if isCancel(err) {
		return err
	}
	if err != nil && d.mine {
		w.problem(display, 0, "unreadable", err.Error())
		d.whole = false
	}
	if reports != "" && d.mine {
		w.skip(whyReports, display+"/"+printable(reports))
	}
	for _, f := range files {
		logical := display + "/" + printable(f.Rel)
		if !w.takes(logical) {
			continue
		}
		err := d.file(ctx, logical, f.Rel, f.Object, func() (io.ReadCloser, error) { return s.Open(ctx, f.Object) })
		if err != nil {
			return d.end(err)
		}
	}
	return d.end(nil)
}

// Listed is a file below a directory.
type Listed struct {
	Rel string // below the directory, with slashes
	Object
}

// ListInput lists the files that an input which is a directory of a store
// consists of, in the order of a walk. Reports of this tool are left out; the
// second result names the first of them.
func ListInput(ctx context.Context, s Store, name string) (files []Listed, reports string, err error) {
	err = s.List(ctx, name, func(rel string, o Object) error {
		for dir := path.Dir(rel); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if strings.HasSuffix(dir, ReportSuffix) {
				reports = cmp.Or(reports, dir)
				return nil
			}
		}
		files = append(files, Listed{rel, o})
		return nil
	})
	slices.SortFunc(files, func(a, b Listed) int { return comparePaths(a.Rel, b.Rel) })
	return files, reports, err
}

// comparePaths sorts as filepath.WalkDir does: name by name.
func comparePaths(a, b string) int {
	for {
		x, restA, moreA := strings.Cut(a, "/")
		y, restB, moreB := strings.Cut(b, "/")
		if c := cmp.Compare(x, y); c != 0 || !moreA || !moreB {
			return cmp.Or(c, cmp.Compare(len(a), len(b)))
		}
		a, b = restA, restB
	}
}

// VersionOf is the version of an input in a store: that of the file, or of all
// files below a directory. It is "" when the store does not tell.
func VersionOf(ctx context.Context, s Store, name string) (version string, size int64, err error) {
	o, err := s.Stat(ctx, name)
	if err != nil || !o.Directory {
		return o.Version, o.Size, err
	}
	files, _, err := ListInput(ctx, s, name)
	h := sha256.New()
	for _, f := range files {
		if f.Version == "" {
			return "", 0, err
		}
		size += f.Size
		_, _ = io.WriteString(h, f.Rel+"\x00"+f.Version+"\n")
	}
	return hex.EncodeToString(h.Sum(nil)), size, err
}

// ReadAll returns the bytes of a small file of a store, and an error when it
// holds more than limit.
func ReadAll(ctx context.Context, s Store, name string, limit int64) ([]byte, error) {
	o, err := s.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	if o.Directory {
		return nil, fs.ErrNotExist
	}
	return ReadObject(ctx, s, o, limit)
}

// ReadObject is ReadAll for a file that Stat or List has described.
func ReadObject(ctx context.Context, s Store, o Object, limit int64) ([]byte, error) {
	r, err := s.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: larger than %d bytes", o.Name, limit)
	}
	return data, err
}
