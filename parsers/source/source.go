// Package source turns inputs (files, directories, archives, standard input)
// into streams of bytes, one at a time, in the order in which the archive holds
// them. Nothing is ever extracted to disk.
package source

import (
	"bufio"
	"io"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// File is one stream inside the inputs. It can be read once, and only during
// the callback that received it.
type File struct {
	// Input is the index of the outer input, Path the logical path with "!/"
	// between containers: "bundle.tar.gz!/node-a/kubelet.log.gz!/kubelet.log".
	Input int
	Path  string
	// Modified is what the innermost container recorded, zero if nothing.
	Modified event.Nanos
	// Size is the decompressed size where the container says so, else -1.
	Size int64

	r *bufio.Reader
}

// NewFile wraps a reader as a File; tests and callers with bytes of their own
// use it.
func NewFile(path string, modified event.Nanos, size int64, r io.Reader) *File {
	return &File{Path: path, Modified: modified, Size: size, r: bufio.NewReaderSize(r, PeekSize)}
}

// PeekSize is how much of a stream formats may look at before one is chosen.
const PeekSize = 64 << 10

// Peek returns up to n (at most PeekSize) bytes without consuming them. Fewer
// bytes come with no error when the stream is shorter.
func (f *File) Peek(n int) ([]byte, error) {
	b, err := f.r.Peek(min(n, PeekSize))
	if err == io.EOF || err == bufio.ErrBufferFull {
		err = nil
	}
	return b, err
}

// Read implements io.Reader.
func (f *File) Read(p []byte) (int, error) { return f.r.Read(p) }
