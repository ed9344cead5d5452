package cli

import (
	"io"
	"os"
	"path/filepath"

	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/report"
)

// depot is where the outputs of many cases lie. Names are slash-separated and
// relative to it. Every write is whole or did not happen, and repeating one
// changes nothing.
type depot interface {
	// Sink takes the files of one case, below the directory name.
	Sink(name string, stdout io.Writer) report.Sink
	// ReadFile returns a file, fs.ErrNotExist when there is none.
	ReadFile(name string) ([]byte, error)
	WriteFile(name string, data []byte) error
	// Remove deletes a file; it is no error when there is none.
	Remove(name string) error
	// Has reports whether there is a file of that size.
	Has(name string, size int64) bool
}

// dirDepot is a directory of the file system.
type dirDepot string

func (d dirDepot) path(name string) string { return filepath.Join(string(d), filepath.FromSlash(name)) }

// Sink implements depot.
func (d dirDepot) Sink(name string, stdout io.Writer) report.Sink {
	return report.NewDir(d.path(name), stdout)
}

// ReadFile implements depot.
func (d dirDepot) ReadFile(name string) ([]byte, error) { return os.ReadFile(d.path(name)) }

// WriteFile implements depot.
func (d dirDepot) WriteFile(name string, data []byte) error {
	path := d.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return store.WriteFile(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Remove implements depot.
func (d dirDepot) Remove(name string) error {
	if err := os.Remove(d.path(name)); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// Has implements depot.
func (d dirDepot) Has(name string, size int64) bool {
	info, err := os.Stat(d.path(name))
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}
