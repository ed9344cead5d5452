package source

import (
	"bufio"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// maxWindow bounds the memory one zstd or xz stream can ask for.
const maxWindow = 128 << 20

// decoder is one compression layer that is being read.
type decoder struct {
	io.Reader
	close func()
	in    *counted
	m     *meter
	err   error // first error other than io.EOF
	told  bool  // the error is already a problem of the result
}

// openDecoder starts to decompress br. Where it pays, own gives the work a
// goroutine of its own.
func (w *walker) openDecoder(ctx context.Context, k kind, br *bufio.Reader, own bool) (*decoder, error) {
	d := &decoder{in: &counted{r: br}, close: func() {}}
	// The decoders below read byte by byte unless what they read from is buffered.
	in := w.getBuf(d.in)
	var r io.Reader
	var err error
	switch k {
	case kindGzip:
		r, err = gzip.NewReader(in)
	case kindXZ:
		r, err = newXZ(in)
	case kindZstd:
		r, err = newZstd(in)
	case kindBzip2:
		r = bzip2.NewReader(in)
	case kindLZ4:
		r = lz4.NewReader(in)
	default:
		err = fmt.Errorf("no decoder for %v", k)
	}
	if err != nil {
		w.putBuf(in)
		return nil, err
	}
	d.m = &meter{r: r, in: d.in.n.Load, lim: &w.lim, total: &w.total}
	d.Reader = d.m
	inner := d.close
	d.close = func() {
		inner()
		if ctx.Err() == nil { // else a goroutine may still be using it
			w.putBuf(in)
		}
	}
	if own {
		a := newAhead(ctx, d.m, nil)
		d.Reader = a
		inner := d.close
		d.close = func() { a.Close(); inner() }
	}
	return d, nil
}

// newZstd decompresses on the caller's goroutine, so it needs no Close.
func newZstd(r io.Reader) (io.Reader, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
}

// Read implements io.Reader and remembers what ended the layer early.
func (d *decoder) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	if err != nil && err != io.EOF && d.err == nil {
		d.err = err
	}
	return n, err
}

// classify turns a read error into the code of a problem.
func classify(err error) string {
	var lim *limitError
	switch {
	case errors.As(err, &lim):
		return "limit"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "truncated"
	default:
		return "corrupt"
	}
}

// plainError strips the package prefix that a library puts before its reason.
func plainError(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "data ends early"
	}
	s := err.Error()
	for _, prefix := range []string{"gzip: ", "zstd: ", "xz: ", "lz4: ", "bzip2 data invalid: ", "archive/tar: ", "zip: ", "flate: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return s
}

// suffixes are what compressors add to a name, and what is left without.
var suffixes = [...][2]string{
	{".tgz", ".tar"}, {".tbz2", ".tar"}, {".tbz", ".tar"}, {".txz", ".tar"}, {".tzst", ".tar"},
	{".gz", ""}, {".xz", ""}, {".zst", ""}, {".zstd", ""}, {".bz2", ""}, {".lz4", ""},
}

// stripSuffix is the name of what a compressed file holds.
func stripSuffix(name string) string {
	for _, s := range suffixes {
		if n := len(name) - len(s[0]); n > 0 && strings.EqualFold(name[n:], s[0]) {
			return name[:n] + s[1]
		}
	}
	return name
}
