// Package store says where inputs, lists and outputs may lie besides the file
// system, and reads and writes the file system in the same terms. What talks to
// an object store implements Store in a module of its own: the plain program
// links none.
package store

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// Store is a place that URLs of some schemes lead to. Several goroutines may use
// it at a time.
type Store interface {
	source.Store
	// Schemes are those of its URLs, without "://".
	Schemes() []string
	// Put writes a file, which appears whole or not at all, in the place of an
	// earlier one.
	Put(ctx context.Context, name string, r io.Reader) error
	// Remove deletes a file; it is no error when there is none.
	Remove(ctx context.Context, name string) error
}

// Error says what could not be done with a file of a store.
type Error struct {
	URL   string
	Doing string // with the place: "reading at byte 1048576 of 5242880"
	Err   error
	Try   string // what to do about it, "" when nothing is known to help
}

// Error implements error.
func (e *Error) Error() string { return e.URL + ": " + e.Doing + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Scheme is the scheme of a URL, "" for the name of a file.
func Scheme(name string) string {
	scheme, _, ok := strings.Cut(name, "://")
	if !ok || scheme == "" || strings.ContainsFunc(scheme, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
	}) {
		return ""
	}
	return scheme
}

// IsURL reports whether a name is a URL and not that of a file.
func IsURL(name string) bool { return Scheme(name) != "" }

// Join names what lies below a directory, by a slash-separated path.
func Join(dir, rel string) string {
	if IsURL(dir) {
		return strings.TrimSuffix(dir, "/") + "/" + rel
	}
	return filepath.Join(dir, filepath.FromSlash(rel))
}

// Within returns the path of a file below a directory, by their names alone.
func Within(dir, name string) (rel string, ok bool) {
	if IsURL(dir) != IsURL(name) {
		return "", false
	}
	if IsURL(dir) {
		dir = strings.TrimRight(dir, "/")
		if strings.TrimRight(name, "/") == dir {
			return ".", true
		}
		return strings.CutPrefix(name, dir+"/")
	}
	absDir, errDir := filepath.Abs(dir)
	absName, errName := filepath.Abs(name)
	if errDir != nil || errName != nil {
		return "", false
	}
	r, err := filepath.Rel(absDir, absName)
	if err != nil || !filepath.IsLocal(r) {
		return "", false
	}
	return filepath.ToSlash(r), true
}
