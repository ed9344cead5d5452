package pcap

import "io"

// windowSize is the read buffer, and with it the largest record that can be
// read: libpcap itself refuses packets above 256 KiB.
const windowSize = 1 << 20

// window is a read buffer over a stream whose bytes are looked at in place.
type window struct {
	r      io.Reader
	buf    []byte
	lo, hi int
	base   int64 // stream offset of buf[0]
	err    error // what ended the reading
}

func newWindow(r io.Reader) *window { return &window{r: r, buf: make([]byte, windowSize)} }

// offset is the stream offset of the next byte.
func (w *window) offset() int64 { return w.base + int64(w.lo) }

// peek returns the next n bytes without consuming them, fewer only at the end of
// the stream. They are valid until the next call.
func (w *window) peek(n int) []byte {
	if w.hi-w.lo >= n {
		return w.buf[w.lo : w.lo+n]
	}
	return w.fill(n)
}

func (w *window) fill(n int) []byte {
	n = min(n, len(w.buf))
	if w.lo > 0 {
		copy(w.buf, w.buf[w.lo:w.hi])
		w.base += int64(w.lo)
		w.hi -= w.lo
		w.lo = 0
	}
	for idle := 0; w.hi < n && w.err == nil; {
		var m int
		m, w.err = w.r.Read(w.buf[w.hi:])
		w.hi += m
		if m > 0 {
			idle = 0
		} else if idle++; idle > 100 && w.err == nil {
			w.err = io.ErrNoProgress
		}
	}
	return w.buf[:min(n, w.hi)]
}

// skip consumes n bytes that peek returned.
func (w *window) skip(n int) { w.lo += n }

// drop consumes n bytes whether or not they were peeked, and reports how many
// there were.
func (w *window) drop(n int64) int64 {
	left := n
	for left > 0 {
		b := w.peek(int(min(left, windowSize)))
		if len(b) == 0 {
			break
		}
		w.skip(len(b))
		left -= int64(len(b))
	}
	return n - left
}
