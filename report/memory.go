package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/probe-forensics/probe-forensics/report/manifest"
)

// Memory is a Sink that keeps everything in memory, for programs that embed the
// analyser and for tests. The zero value is ready.
type Memory struct {
	out   bytes.Buffer
	files map[string]*memoryFile
}

// Stdout implements Output.
func (m *Memory) Stdout() io.Writer { return &m.out }

// Printed is what was written to Stdout.
func (m *Memory) Printed() string { return m.out.String() }

// Create implements Output.
func (m *Memory) Create(name string) (io.WriteCloser, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, fmt.Errorf("%s: not a name below the report directory", strconv.Quote(name))
	}
	if m.files[name] != nil {
		return nil, fmt.Errorf("%s: written twice", name)
	}
	if m.files == nil {
		m.files = map[string]*memoryFile{}
	}
	f := &memoryFile{}
	m.files[name] = f
	return f, nil
}

// File returns the bytes of a file, nil when there is none.
func (m *Memory) File(name string) []byte {
	if f := m.files[name]; f != nil {
		return f.Bytes()
	}
	return nil
}

// Written implements Sink.
func (m *Memory) Written() []manifest.File {
	var out []manifest.File
	for name, f := range m.files {
		if f.closed {
			sum := sha256.Sum256(f.Bytes())
			out = append(out, manifest.File{Name: name, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(f.Len())})
		}
	}
	slices.SortFunc(out, func(a, b manifest.File) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Commit implements Sink.
func (m *Memory) Commit() error {
	for name, f := range m.files {
		if !f.closed {
			return fmt.Errorf("%s: not closed", name)
		}
	}
	return nil
}

// Discard implements Sink.
func (m *Memory) Discard() error {
	m.files = nil
	return nil
}

type memoryFile struct {
	bytes.Buffer
	closed bool
}

func (f *memoryFile) Close() error {
	f.closed = true
	return nil
}
