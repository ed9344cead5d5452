package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// Local is the file system.
type Local struct{}

var _ Store = Local{}

// Schemes implements Store: names of files have none.
func (Local) Schemes() []string { return nil }

// Stat implements Store.
func (Local) Stat(ctx context.Context, name string) (source.Object, error) {
	if err := ctx.Err(); err != nil {
		return source.Object{}, err
	}
	info, err := os.Stat(name)
	if err != nil {
		return source.Object{}, err
	}
	return object(name, info), nil
}

func object(name string, info fs.FileInfo) source.Object {
	return source.Object{Name: name, Directory: info.IsDir(), Size: info.Size(), Modified: event.FromTime(info.ModTime())}
}

// List implements Store for regular files; links are not followed.
func (Local) List(ctx context.Context, name string, visit func(string, source.Object) error) error {
	return filepath.WalkDir(name, func(p string, de fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || !de.Type().IsRegular() {
			return err
		}
		info, err := de.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(name, p)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(rel), object(p, info))
	})
}

// Open implements Store. The reader is an io.ReaderAt as well.
func (Local) Open(_ context.Context, o source.Object) (io.ReadCloser, error) {
	f, err := os.Open(o.Name)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return f, nil
}

// Put implements Store; missing directories are made.
func (Local) Put(_ context.Context, name string, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return WriteFile(name, 0o644, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
}

// Remove implements Store.
func (Local) Remove(_ context.Context, name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// WriteFile writes a file that appears whole or not at all.
func WriteFile(path string, mode fs.FileMode, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
