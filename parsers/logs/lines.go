package logs

import (
	"bytes"
	"context"
	"errors"
	"io"
)

const (
	// blockSize is how much of a stream is read at once, firstBlock how much at
	// first: most files of a bundle are small.
	blockSize  = 1 << 20
	firstBlock = 32 << 10
	// maxLine bounds one physical line. journald cuts at 48 KiB; a JSON entry with
	// all its fields stays below 1 MiB unless it holds a core dump.
	maxLine = 1 << 20
)

// lineReader cuts a stream into lines out of large blocks, without copying. A
// line is valid until the next call of next.
type lineReader struct {
	ctx context.Context
	r   io.Reader
	buf []byte
	// buf[pos:end] is read and not yet returned.
	pos, end int
	// base is the stream offset of buf[0].
	base int64
	eof  bool
	err  error
	// filled is set when the last read filled the buffer: there is more to come.
	filled bool

	// number counts lines from 1; offset is where the current line begins.
	number, offset int64
	// following is the first byte after the current line, 0 at the end: what tells
	// whether the next line continues this one.
	following byte
	// long is set when the current line was longer than maxLine and cut, torn when
	// the stream ended without a newline.
	long, torn bool
}

func newLineReader(ctx context.Context, in *Input) *lineReader {
	return &lineReader{ctx: ctx, r: in.R, buf: make([]byte, 0, firstBlock),
		base: in.FirstOffset, number: max(in.FirstLine-1, 0)}
}

// next returns the next line without its line end ("\n" or "\r\n"), or false at
// the end of the stream or when it cannot be read further (see err).
func (l *lineReader) next() ([]byte, bool) {
	from := l.pos
	for {
		if i := bytes.IndexByte(l.buf[from:l.end], '\n'); i >= 0 {
			nl := from + i
			if nl+1 < l.end || l.eof {
				return l.take(nl, 1), true
			}
			// The byte after the newline is needed too; look again once it is there.
			from = nl
		} else {
			from = l.end
		}
		if l.eof {
			if l.pos == l.end {
				return nil, false
			}
			return l.take(l.end, 0), true
		}
		if l.end-l.pos > maxLine {
			return l.takeLong()
		}
		from -= l.pos
		l.fill()
		from += l.pos
	}
}

// take returns the line that ends before nl, and steps over it.
func (l *lineReader) take(nl, newline int) []byte {
	line := l.buf[l.pos:nl]
	l.offset = l.base + int64(l.pos)
	l.number++
	l.pos = nl + newline
	l.long, l.torn = false, newline == 0
	l.following = 0
	if l.pos < l.end {
		l.following = l.buf[l.pos]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}

// takeLong returns the head of a line that does not fit and drops the rest of it.
func (l *lineReader) takeLong() ([]byte, bool) {
	head := bytes.Clone(l.buf[l.pos : l.pos+maxLine])
	at := l.base + int64(l.pos)
	for {
		if i := bytes.IndexByte(l.buf[l.pos:l.end], '\n'); i >= 0 {
			l.pos += i + 1
			break
		}
		l.pos = l.end
		if l.eof {
			break
		}
		l.fill()
	}
	if l.pos == l.end && !l.eof {
		l.fill()
	}
	l.number++
	l.offset, l.long, l.torn, l.following = at, true, false, 0
	if l.pos < l.end {
		l.following = l.buf[l.pos]
	}
	return head, true
}

// fill moves what is left to the front of the buffer and reads more behind it.
func (l *lineReader) fill() {
	if l.pos > 0 {
		l.base += int64(l.pos)
		l.end = copy(l.buf[:cap(l.buf)], l.buf[l.pos:l.end])
		l.pos = 0
	}
	if c := cap(l.buf); c-l.end < c/4 || l.filled && c < blockSize {
		grown := make([]byte, l.end, max(2*c, blockSize/4))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	l.buf = l.buf[:cap(l.buf)]
	if err := l.ctx.Err(); err != nil {
		l.eof, l.err = true, err
		return
	}
	for range 100 {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if err != nil {
			l.eof = true
			if !errors.Is(err, io.EOF) {
				l.err = err
			}
			return
		}
		if n > 0 {
			l.filled = l.end == len(l.buf)
			return
		}
	}
	l.eof, l.err = true, io.ErrNoProgress
}

// consumed is the stream offset behind the current line.
func (l *lineReader) consumed() int64 { return l.base + int64(l.pos) }

// read fills p with the bytes that follow the current line, whatever they are.
// Newlines among them count as lines.
func (l *lineReader) read(p []byte) error {
	for len(p) > 0 {
		if l.pos == l.end {
			if l.eof {
				return errors.Join(io.ErrUnexpectedEOF, l.err)
			}
			l.fill()
			continue
		}
		n := copy(p, l.buf[l.pos:l.end])
		l.number += int64(bytes.Count(p[:n], []byte("\n")))
		l.pos += n
		p = p[n:]
	}
	return nil
}

// skip drops n bytes behind the current line.
func (l *lineReader) skip(n int64) error {
	var trash [4096]byte
	for n > 0 {
		k := min(n, int64(len(trash)))
		if err := l.read(trash[:k]); err != nil {
			return err
		}
		n -= k
	}
	return nil
}
