package pcap

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

const (
	classicHeader = 24
	recordHeader  = 16
	// extraHeader is what the modified format adds: interface index, protocol and
	// packet type.
	extraHeader = 8
	// maxCaptured is the largest captured length believed: more than any snaplen
	// tcpdump accepts, less than the window.
	maxCaptured = 512 << 10
)

// classicFile is the libpcap format.
type classicFile struct {
	w      *window
	report report

	order   binary.ByteOrder
	big     bool
	scale   event.Nanos // nanoseconds per unit of the fraction
	header  int
	swapped bool // captured and wire length change places (version < 2.3)
	link    uint32
	fcs     uint32 // bytes of frame check sequence at the end of each packet
	snaplen uint32
	frame   int64
	lastSec uint32
}

func openClassic(w *window, cap *event.CaptureInfo, rep report) (*classicFile, error) {
	h := w.peek(classicHeader)
	if len(h) < classicHeader {
		return nil, fmt.Errorf("%d of %d bytes: %w", len(h), classicHeader, io.ErrUnexpectedEOF)
	}
	f := &classicFile{w: w, report: rep, order: binary.LittleEndian, scale: 1000, header: recordHeader}
	magic := binary.LittleEndian.Uint32(h)
	if magic != magicMicro && magic != magicNano && magic != magicModified {
		f.order, f.big = binary.BigEndian, true
		magic = binary.BigEndian.Uint32(h)
	}
	switch magic {
	case magicNano:
		f.scale = 1
	case magicModified:
		f.header += extraHeader
	}
	major, minor := f.order.Uint16(h[4:]), f.order.Uint16(h[6:])
	f.swapped = major == 2 && minor < 3
	f.snaplen = f.order.Uint32(h[16:])
	network := f.order.Uint32(h[20:])
	f.link = network & 0xffff
	if network&0x04000000 != 0 {
		f.fcs = network >> 28 * 2
	}
	cap.Snaplen = int64(f.snaplen)
	w.skip(classicHeader)
	return f, nil
}

func (f *classicFile) next(rec *Record) error {
	for {
		h := f.w.peek(f.header)
		if len(h) < f.header {
			return f.end(len(h), f.header, inHeader)
		}
		var sec, frac, n, wire uint32
		if f.big {
			sec, frac = binary.BigEndian.Uint32(h), binary.BigEndian.Uint32(h[4:])
			n, wire = binary.BigEndian.Uint32(h[8:]), binary.BigEndian.Uint32(h[12:])
		} else {
			sec, frac = binary.LittleEndian.Uint32(h), binary.LittleEndian.Uint32(h[4:])
			n, wire = binary.LittleEndian.Uint32(h[8:]), binary.LittleEndian.Uint32(h[12:])
		}
		if f.swapped && n > wire {
			n, wire = wire, n
		}
		if n > f.limit() {
			if err := f.resync(fmt.Sprintf("captured length %d is impossible", n)); err != nil {
				return err
			}
			continue
		}
		rec.Offset = f.w.offset()
		b := f.w.peek(f.header + int(n))
		f.frame++
		rec.Frame = f.frame
		if len(b) < f.header+int(n) {
			return f.end(len(b), f.header+int(n), inPacket)
		}
		rec.At = event.Nanos(sec)*1e9 + event.Nanos(frac)*f.scale
		rec.Precision = time.Duration(f.scale)
		rec.Length, rec.Link = wire, f.link
		rec.Data = b[f.header:]
		f.lastSec = sec
		f.w.skip(len(b))
		if f.fcs != 0 && wire == n {
			keep := max(0, len(rec.Data)-int(f.fcs))
			rec.Data, rec.Length = rec.Data[:keep], uint32(keep)
		}
		return nil
	}
}

// Where a file may end.
const (
	inHeader = "the header of a packet"
	inPacket = "a packet"
)

// end reports a file that ends inside a record.
func (f *classicFile) end(have, want int, what string) error {
	if f.w.err != nil && f.w.err != io.EOF {
		return f.w.err
	}
	if have > 0 {
		if what == inHeader {
			f.frame++
		}
		f.report("truncated", fmt.Sprintf("the file ends inside %s: %d of %d bytes", what, have, want), f.frame, f.w.offset())
		f.w.skip(have)
	}
	return io.EOF
}
