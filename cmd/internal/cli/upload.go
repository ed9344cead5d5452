package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/report"
	"github.com/probe-forensics/probe-forensics/report/manifest"
)

// sink takes the files of one report.
func (rt *session) sink(dir string) report.Sink {
	if !store.IsURL(dir) {
		return report.NewDir(dir, rt.stdout)
	}
	return &uploads{rt: rt, url: dir}
}

// depot is where the outputs of many cases go.
func (rt *session) depot(dir string) (depot, error) {
	if !store.IsURL(dir) {
		return dirDepot(dir), nil
	}
	s, err := rt.storeOf(dir)
	return &storeDepot{rt: rt, store: s, url: dir}, err
}

// uploads is a Sink whose files are made in a temporary directory and uploaded
// by Commit. The manifest of an earlier report goes first and the new one comes
// last: whoever trusts only what has a manifest never sees half of a report.
type uploads struct {
	rt   *session
	url  string
	temp string
	dir  *report.Dir // nil before the first file
}

// Create implements report.Output.
func (u *uploads) Create(name string) (io.WriteCloser, error) {
	if u.dir == nil {
		temp, err := os.MkdirTemp(u.rt.env("TMPDIR"), programName+"-")
		if err != nil {
			return nil, err
		}
		u.temp, u.dir = temp, report.NewDir(filepath.Join(temp, "files"), u.rt.stdout)
	}
	return u.dir.Create(name)
}

// Stdout implements report.Output.
func (u *uploads) Stdout() io.Writer { return u.rt.stdout }

// Written implements report.Sink.
func (u *uploads) Written() []manifest.File {
	if u.dir == nil {
		return nil
	}
	return u.dir.Written()
}

// Commit implements report.Sink.
func (u *uploads) Commit() error {
	if u.dir == nil {
		return nil
	}
	s, err := u.rt.storeOf(u.url)
	if err != nil {
		return err
	}
	if err := u.dir.Commit(); err != nil {
		return err
	}
	files := u.dir.Written()
	last := func(f manifest.File) int {
		if f.Name == manifest.FileName {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(files, func(a, b manifest.File) int { return cmp.Compare(last(a), last(b)) })
	if n := len(files); n > 0 && last(files[n-1]) == 1 {
		if err := removeIfThere(u.rt.ctx, s, store.Join(u.url, manifest.FileName)); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := u.upload(s, f.Name); err != nil {
			return err
		}
	}
	return os.RemoveAll(u.temp)
}

func (u *uploads) upload(s store.Store, name string) error {
	f, err := os.Open(filepath.Join(u.dir.Path(), filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer f.Close()
	return s.Put(u.rt.ctx, store.Join(u.url, name), f)
}

// Discard implements report.Sink.
func (u *uploads) Discard() error {
	if u.dir == nil {
		return nil
	}
	return errors.Join(u.dir.Discard(), os.RemoveAll(u.temp))
}

// removeIfThere deletes a file. It asks first: writing where nothing was written
// before must not take the right to delete.
func removeIfThere(ctx context.Context, s store.Store, name string) error {
	_, err := s.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Remove(ctx, name)
}

// storeDepot is a depot in a store.
type storeDepot struct {
	rt    *session
	store store.Store
	url   string
}

// Sink implements depot.
func (d *storeDepot) Sink(name string, stdout io.Writer) report.Sink {
	return d.rt.sink(store.Join(d.url, name))
}

// ReadFile implements depot.
func (d *storeDepot) ReadFile(name string) ([]byte, error) {
	return source.ReadAll(d.rt.ctx, d.store, store.Join(d.url, name), maxContent)
}

// WriteFile implements depot.
func (d *storeDepot) WriteFile(name string, data []byte) error {
	return d.store.Put(d.rt.ctx, store.Join(d.url, name), bytes.NewReader(data))
}

// Remove implements depot.
func (d *storeDepot) Remove(name string) error {
	return removeIfThere(d.rt.ctx, d.store, store.Join(d.url, name))
}

// Has implements depot.
func (d *storeDepot) Has(name string, size int64) bool {
	o, err := d.store.Stat(d.rt.ctx, store.Join(d.url, name))
	return err == nil && !o.Directory && o.Size == size
}

// maxContent bounds files that are read whole: reports, rows and lists.
const maxContent = 1 << 30

// writeFile writes one file, whole or not at all.
func (rt *session) writeFile(name string, write func(io.Writer) error) error {
	if !store.IsURL(name) {
		return store.WriteFile(name, 0o644, write)
	}
	s, err := rt.storeOf(name)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(rt.env("TMPDIR"), programName+"-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return s.Put(rt.ctx, name, f)
}
