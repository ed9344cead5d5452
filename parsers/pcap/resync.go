package pcap

import (
	"encoding/binary"
	"fmt"
	"io"
)

// A capture that was damaged in the middle (a disk that filled up, a transfer
// as text, two files glued together) goes on with whole records after the
// damage. They are found again by their form: a plausible record that another
// one follows, or the end of the file.

// fit is what can be said of a place in the stream.
type fit uint8

const (
	noFit  fit = iota
	fits       // a record begins here
	unsure     // more of the stream must be seen
)

// seek moves forward in steps until test accepts what lies there. The place it
// starts from was refused already. test must be sure when it sees half a window,
// or the last bytes of the stream.
func (w *window) seek(step int, test func(b []byte, last bool) fit) bool {
	for from := step; ; {
		b := w.peek(windowSize)
		last := w.err != nil
		i := from
		for ; i < len(b); i += step {
			f := test(b[i:], last)
			if f == fits {
				w.skip(i)
				return true
			}
			if f == unsure && i > 0 {
				break
			}
		}
		if last && i >= len(b) {
			w.skip(len(b))
			return false
		}
		from = max(0, i-len(b))
		w.skip(min(i, len(b)))
	}
}

// resync looks for the next record after a header that cannot be one; io.EOF
// says that there is none.
func (f *classicFile) resync(why string) error {
	start := f.w.offset()
	found := f.w.seek(1, func(b []byte, last bool) fit {
		if len(b) < f.header {
			return unlessLast(last)
		}
		next, ok := f.plausible(b)
		switch {
		case !ok:
			return noFit
		case len(b) >= next+f.header:
			if _, ok = f.plausible(b[next:]); ok {
				return fits
			}
			return noFit
		case last && len(b) == next:
			return fits
		}
		return unlessLast(last)
	})
	return resynced(f.report, found, why, f.frame+1, start, f.w.offset())
}

// unlessLast says that more must be seen, if there is more.
func unlessLast(last bool) fit {
	if last {
		return noFit
	}
	return unsure
}

// maxStep is how many seconds apart neighbouring records may be to be believed:
// a day.
const maxStep = 86400

// plausible reports whether bytes look like a record header of this file, and
// how long its record is.
func (f *classicFile) plausible(h []byte) (size int, ok bool) {
	sec, frac := f.order.Uint32(h), f.order.Uint32(h[4:])
	n, wire := f.order.Uint32(h[8:]), f.order.Uint32(h[12:])
	if n == 0 || n > wire || n > f.limit() || wire > maxCaptured || int64(frac)*int64(f.scale) >= 1e9 {
		return 0, false
	}
	if step := int64(sec) - int64(f.lastSec); f.lastSec != 0 && (step > maxStep || step < -maxStep) {
		return 0, false
	}
	return f.header + int(n), true
}

// limit is the longest packet that the file may hold. Linux lets packets through
// that are larger than the snaplen of their file says, up to 256 KiB.
func (f *classicFile) limit() uint32 { return min(max(f.snaplen, 256<<10), maxCaptured) }

// resync looks for the next block after one that cannot be framed: a known type,
// and a length that is repeated at its end.
func (f *ngFile) resync(why string) error {
	start := f.w.offset()
	found := f.w.seek(4, func(b []byte, last bool) fit {
		if len(b) < 12 {
			return unlessLast(last)
		}
		kind, size := f.order.Uint32(b), int64(f.order.Uint32(b[4:]))
		known := kind >= blockInterface && kind <= blockEnhanced || binary.LittleEndian.Uint32(b) == magicSection
		if !known || size < 12 || size%4 != 0 || size > maxBlock/2 {
			return noFit
		}
		if int64(len(b)) < size {
			return unlessLast(last)
		}
		if int64(f.order.Uint32(b[size-4:])) != size {
			return noFit
		}
		return fits
	})
	return resynced(f.report, found, why, f.frame+1, start, f.w.offset())
}

// resynced reports what was skipped.
func resynced(rep report, found bool, why string, frame, from, to int64) error {
	if !found {
		rep("bad-record", fmt.Sprintf("%s: no packet in the %d bytes that follow", why, to-from), frame, from)
		return io.EOF
	}
	rep("bad-record", fmt.Sprintf("%s: %d bytes skipped to the next packet", why, to-from), frame, from)
	return nil
}
