package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// textLines reads lines with their numbers and offsets. A line longer than max
// is cut there and the rest of it dropped; cut says so. The line is valid until
// the next call.
type textLines struct {
	br     *bufio.Reader
	max    int
	raw    []byte // with its line ending
	long   []byte // assembles lines longer than the reader's buffer
	n      int64  // number of the current line, from 1
	offset int64  // of its first byte
	next   int64  // offset of the next line
	cut    bool
	err    error // what ended reading, nil at the end of the input
}

func newTextLines(in *Input, max int) *textLines {
	return &textLines{br: bufio.NewReaderSize(in.R, 256<<10), max: max, n: firstLine(in), next: in.FirstOffset}
}

// firstLine is the number of the line before the input's first.
func firstLine(in *Input) int64 { return max(in.FirstLine-1, 0) }

func (l *textLines) scan() bool {
	if l.err != nil {
		return false
	}
	l.offset, l.cut, l.long = l.next, false, l.long[:0]
	for {
		part, err := l.br.ReadSlice('\n')
		l.next += int64(len(part))
		full := errors.Is(err, bufio.ErrBufferFull)
		if !full && len(l.long) == 0 {
			l.raw = part
		} else {
			if room := l.max - len(l.long); len(part) > room {
				part, l.cut = part[:room], true
			}
			l.long = append(l.long, part...)
			l.raw = l.long
		}
		if full {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			l.err = err
		}
		if len(l.raw) == 0 {
			return false
		}
		l.n++
		return true
	}
}

// text is the line without its ending, and without the byte order mark that may
// start the first one.
func (l *textLines) text() []byte {
	b := bytes.TrimRight(l.raw, "\r\n")
	if l.offset == 0 {
		b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	}
	return b
}
