// Package source turns inputs (files, directories, archives, standard input)
// into streams of bytes, one at a time, in the order in which the container
// holds them. Nothing is ever extracted to disk.
//
// # Containers
//
// A container is recognised by its content, never by its name: tar, zip, gzip,
// xz, zstd, bzip2 and lz4 frames, nested in one another to Limits.Depth.
// Directories are walked in sorted order. Links, devices and names that climb
// out of their container are reported and left alone.
//
// # Damage
//
// A truncated or corrupt container keeps what could be read before the damage;
// the place and the reason become an event.Problem of the Result. A File whose
// bytes end early reads as ended there, so that its parser keeps what it has.
//
// # Digests
//
// The sha256 of every outer input is computed while it is read for the first
// and only time. The digest of a directory is the sha256 of the listing that
// `sha256sum` prints for its regular files, sorted by path:
//
//	find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum
package source

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// PeekSize is how much of a stream formats may look at before one is chosen.
const PeekSize = 64 << 10

// File is one stream inside the inputs. It can be read once, and only during
// the callback that received it, unless Detach says otherwise.
type File struct {
	// Input is the index of the outer input, Path the logical path with "!/"
	// between containers: "bundle.tar.gz!/node-a/kubelet.log.gz!/kubelet.log".
	Input int
	Path  string
	// Modified is what the innermost container recorded, zero if nothing.
	Modified event.Nanos
	// Size is the decompressed size where the container says so, else -1. It is
	// the container's claim, not a promise.
	Size int64
	// Outer is set when the file is an outer input itself, not a member of a
	// container or directory.
	Outer bool

	r     *bufio.Reader
	n     int64 // bytes handed out
	err   error // what ended the file before its end; shown to the reader as EOF
	ahead error // what will end it, as a look ahead showed
	disk  *diskFile
}

// NewFile wraps a reader as a File; tests and callers with bytes of their own
// use it.
func NewFile(path string, modified event.Nanos, size int64, r io.Reader) *File {
	return &File{Path: path, Modified: modified, Size: size, r: bufio.NewReaderSize(r, PeekSize)}
}

// Peek returns up to n (at most PeekSize) bytes without consuming them. Fewer
// bytes come with no error when the stream is shorter or damaged.
func (f *File) Peek(n int) ([]byte, error) {
	b, err := f.r.Peek(min(n, PeekSize))
	if isCancel(err) {
		return b, err
	}
	if err != nil && err != io.EOF {
		f.ahead = err
	}
	return b, nil
}

// Read implements io.Reader. Damage in a container around the file reads as
// io.EOF (see Damage); only cancellation comes back as another error.
func (f *File) Read(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.end()
	}
	n, err := f.r.Read(p)
	f.n += int64(n)
	if err != nil && err != io.EOF {
		f.err = err
		err = f.end()
	}
	return n, err
}

func (f *File) end() error {
	if isCancel(f.err) {
		return f.err
	}
	return io.EOF
}

// Offset is the number of bytes handed out so far.
func (f *File) Offset() int64 { return f.n }

// Damage returns what ended the file before its end, nil if nothing did. Walk
// reports it as a problem; a parser need not.
func (f *File) Damage() error { return f.err }

// Detach lets the file outlive the callback, so that another goroutine may read
// it while the walk goes on; whoever detached it must call Close. It reports
// false, and changes nothing, for a member of an archive: those exist only
// while the archive stands at their place.
func (f *File) Detach() bool {
	if f.disk == nil {
		return false
	}
	f.disk.detached = true
	return true
}

// Close ends a detached file; Walk returns only when every detached file was
// closed. It has no effect on others.
func (f *File) Close() {
	if f.disk != nil && f.disk.detached {
		f.disk.finish(f)
	}
}

func isCancel(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
