package pcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"net/netip"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

const byteOrderMagic = 0x1a2b3c4d

// Block types.
const (
	blockInterface  = 1
	blockPacket     = 2 // obsolete
	blockSimple     = 3
	blockNames      = 4
	blockStatistics = 5
	blockEnhanced   = 6
)

// Option codes.
const (
	optEnd        = 0
	optComment    = 1
	optIfName     = 2
	optIfFilter   = 11
	optIfTsresol  = 9
	optIfTsoffset = 14
	optEpbFlags   = 2
	optIfdrop     = 5
	optOsdrop     = 7
)

// Bounds of what is kept.
const (
	maxBlock      = windowSize
	maxNgIfaces   = 4096
	maxComments   = 64
	maxCommentLen = 512
	maxHostNames  = 4096
)

// ngInterface is an interface description block.
type ngInterface struct {
	link    uint32
	snaplen uint32
	name    string
	unit    tsUnit
	offset  event.Nanos
	dropped int64 // by the last statistics block, -1 none
}

// tsUnit converts time stamps of an interface.
type tsUnit struct {
	mul, div  uint64 // nanoseconds = ticks*mul/div
	precision time.Duration
}

// ngFile is the pcapng format.
type ngFile struct {
	w      *window
	cap    *event.CaptureInfo
	report report
	order  binary.ByteOrder
	ifaces []ngInterface
	frame  int64
}

func (f *ngFile) next(rec *Record) error {
	for {
		h := f.w.peek(12)
		if len(h) < 12 {
			return f.end(len(h), 12)
		}
		if binary.LittleEndian.Uint32(h) == magicSection {
			if err := f.section(h); err != nil {
				return err
			}
			continue
		}
		kind, size := f.order.Uint32(h), f.order.Uint32(h[4:])
		off := f.w.offset()
		if size < 12 {
			if err := f.resync(fmt.Sprintf("block of type %d has length %d", kind, size)); err != nil {
				return err
			}
			continue
		}
		padded := (int64(size) + 3) &^ 3
		if !registered(kind) && !f.closes(size, padded) {
			if err := f.resync(fmt.Sprintf("no block has type %#x", kind)); err != nil {
				return err
			}
			continue
		}
		if padded > maxBlock {
			if kind == blockPacket || kind == blockEnhanced || kind == blockSimple {
				f.frame++
				f.report("bad-record", fmt.Sprintf("packet block of %d bytes is too large", size), f.frame, off)
			}
			if got := f.w.drop(padded); got < padded {
				return f.end(int(got), int(min(padded, 1<<31-1)))
			}
			continue
		}
		b := f.w.peek(int(padded))
		if int64(len(b)) < padded {
			if kind == blockPacket || kind == blockEnhanced || kind == blockSimple {
				f.frame++
			}
			return f.end(len(b), int(padded))
		}
		f.w.skip(len(b))
		if trail := f.order.Uint32(b[padded-4:]); trail != size {
			f.report("bad-record", fmt.Sprintf("block of type %d ends with length %d instead of %d", kind, trail, size), f.frame+1, off)
		}
		rec.Offset = off
		if f.block(kind, b[8:padded-4], rec) {
			return nil
		}
	}
}

// registered reports whether a block type has a meaning, known here or not: the
// ranges of the standard, of custom blocks and of local use.
func registered(kind uint32) bool {
	const custom, local = 0x40000bad, 1 << 31
	return kind < 0x1000 || kind == custom || kind&local != 0
}

// closes reports whether the block that begins here repeats its length at its
// end.
func (f *ngFile) closes(size uint32, padded int64) bool {
	if padded > maxBlock {
		return false
	}
	b := f.w.peek(int(padded))
	return int64(len(b)) == padded && f.order.Uint32(b[padded-4:]) == size
}

// end reports a file that ends inside a block.
func (f *ngFile) end(have, want int) error {
	if f.w.err != nil && f.w.err != io.EOF {
		return f.w.err
	}
	if have > 0 {
		f.report("truncated", fmt.Sprintf("the file ends inside a block: %d of %d bytes", have, want), max(f.frame, 1), f.w.offset())
		f.w.skip(len(f.w.peek(want)))
	}
	return io.EOF
}

// section starts a section: byte order and interfaces begin anew.
func (f *ngFile) section(h []byte) error {
	switch {
	case binary.LittleEndian.Uint32(h[8:]) == byteOrderMagic:
		f.order = binary.LittleEndian
	case binary.BigEndian.Uint32(h[8:]) == byteOrderMagic:
		f.order = binary.BigEndian
	default:
		f.report("bad-record", "section header without a byte order magic: the rest of the file cannot be framed", f.frame+1, f.w.offset())
		return io.EOF
	}
	size := (int64(f.order.Uint32(h[4:])) + 3) &^ 3
	if size < 28 || size > maxBlock {
		f.report("bad-record", fmt.Sprintf("section header of %d bytes: the rest of the file cannot be framed", size), f.frame+1, f.w.offset())
		return io.EOF
	}
	b := f.w.peek(int(size))
	if int64(len(b)) < size {
		return f.end(len(b), int(size))
	}
	f.options(b[24:size-4], func(code uint16, v []byte) {
		if code == optComment {
			f.comment(v)
		}
	})
	f.w.skip(len(b))
	f.ifaces = nil
	return nil
}

// block reads a block's body; it reports whether it was a packet.
func (f *ngFile) block(kind uint32, b []byte, rec *Record) bool {
	switch kind {
	case blockInterface:
		f.iface(b)
	case blockStatistics:
		f.statistics(b)
	case blockNames:
		f.names(b)
	case blockEnhanced:
		if len(b) >= 20 {
			return f.packet(rec, f.order.Uint32(b), b[4:], b[20:])
		}
		return f.badPacket(rec, "enhanced packet block is too short")
	case blockPacket:
		if len(b) >= 20 {
			return f.packet(rec, uint32(f.order.Uint16(b)), b[4:], b[20:])
		}
		return f.badPacket(rec, "packet block is too short")
	case blockSimple:
		return f.simple(rec, b)
	}
	return false
}

func (f *ngFile) badPacket(rec *Record, message string) bool {
	f.frame++
	f.report("bad-record", message, f.frame, rec.Offset)
	return false
}

// packet reads an enhanced or an obsolete packet block: h holds time stamp and
// lengths, body the data and options.
func (f *ngFile) packet(rec *Record, iface uint32, h, body []byte) bool {
	n, wire := f.order.Uint32(h[8:]), f.order.Uint32(h[12:])
	if int64(iface) >= int64(len(f.ifaces)) {
		return f.badPacket(rec, "packet of an interface that was not described")
	}
	if int64(n) > int64(len(body)) {
		return f.badPacket(rec, "captured length is larger than its block")
	}
	in := &f.ifaces[iface]
	f.frame++
	rec.Frame = f.frame
	rec.Data, rec.Length, rec.Link, rec.Interface = body[:n], wire, in.link, in.name
	ticks := uint64(f.order.Uint32(h))<<32 | uint64(f.order.Uint32(h[4:]))
	rec.At, rec.Precision = in.unit.nanos(ticks)+in.offset, in.unit.precision
	rec.Direction = 0
	if rest := (int(n) + 3) &^ 3; rest < len(body) {
		f.options(body[rest:], func(code uint16, v []byte) {
			switch {
			case code == optEpbFlags && len(v) == 4:
				rec.Direction = uint8(f.order.Uint32(v) & 3)
			case code == optComment:
				f.comment(v)
			}
		})
	}
	return true
}

// simple reads a simple packet block: no time stamp, always interface 0, cut at
// its snaplen.
func (f *ngFile) simple(rec *Record, b []byte) bool {
	if len(b) < 4 || len(f.ifaces) == 0 {
		return f.badPacket(rec, "simple packet block is too short or without an interface")
	}
	in := &f.ifaces[0]
	wire := f.order.Uint32(b)
	n := min(int64(wire), int64(len(b)-4))
	if in.snaplen > 0 {
		n = min(n, int64(in.snaplen))
	}
	f.frame++
	*rec = Record{Offset: rec.Offset, Frame: f.frame, Data: b[4 : 4+n], Length: wire, Link: in.link,
		Interface: in.name, Precision: in.unit.precision}
	return true
}

func (f *ngFile) iface(b []byte) {
	if len(b) < 8 {
		f.report("bad-record", "interface description block is too short", f.frame+1, f.w.offset())
		return
	}
	if len(f.ifaces) >= maxNgIfaces {
		f.report("interface-limit", "more than 4096 interfaces in a section: packets of later ones are lost", f.frame+1, f.w.offset())
		return
	}
	in := ngInterface{link: uint32(f.order.Uint16(b)), snaplen: f.order.Uint32(b[4:]), unit: unitOf(6), dropped: -1}
	f.options(b[8:], func(code uint16, v []byte) {
		switch {
		case code == optIfName:
			in.name = text(v, 64)
		case code == optIfTsresol && len(v) == 1:
			in.unit = unitOf(v[0])
		case code == optIfTsoffset && len(v) == 8:
			in.offset = event.Nanos(int64(f.order.Uint64(v)) * 1e9)
		case code == optIfFilter && len(v) > 1:
			f.cap.Filter = text(v[1:], maxCommentLen)
		case code == optComment:
			f.comment(v)
		}
	})
	if in.name == "" && len(f.ifaces) > 0 {
		in.name = fmt.Sprintf("interface %d", len(f.ifaces))
	}
	f.cap.Snaplen = max(f.cap.Snaplen, int64(in.snaplen))
	f.ifaces = append(f.ifaces, in)
}

// statistics reads an interface statistics block; the last one of an interface
// counts.
func (f *ngFile) statistics(b []byte) {
	if len(b) < 12 {
		return
	}
	i := f.order.Uint32(b)
	if int64(i) >= int64(len(f.ifaces)) {
		f.report("bad-record", "statistics of an interface that was not described", f.frame+1, f.w.offset())
		return
	}
	var dropped int64 = -1
	f.options(b[12:], func(code uint16, v []byte) {
		if (code == optIfdrop || code == optOsdrop) && len(v) == 8 {
			dropped = max(dropped, 0) + int64(min(f.order.Uint64(v), 1<<62))
		}
	})
	if dropped < 0 {
		return
	}
	in := &f.ifaces[i]
	f.cap.Dropped = max(f.cap.Dropped, 0) + dropped - max(in.dropped, 0)
	in.dropped = dropped
}

// names reads a name resolution block.
func (f *ngFile) names(b []byte) {
	for len(b) >= 4 {
		kind, n := f.order.Uint16(b), int(f.order.Uint16(b[2:]))
		b = b[4:]
		if kind == 0 || n > len(b) {
			return
		}
		size := map[uint16]int{1: 4, 2: 16}[kind]
		if size > 0 && n > size && len(f.cap.Names) < maxHostNames {
			ip, _ := netip.AddrFromSlice(b[:size])
			for _, name := range bytes.Split(bytes.TrimRight(b[size:n], "\x00"), []byte{0}) {
				f.cap.Names = append(f.cap.Names, event.HostName{IP: ip, Name: text(name, 255)})
			}
		}
		b = b[min((n+3)&^3, len(b)):]
	}
}

// options calls back for each option of a block until the end.
func (f *ngFile) options(b []byte, fn func(code uint16, v []byte)) {
	for len(b) >= 4 {
		code, n := f.order.Uint16(b), int(f.order.Uint16(b[2:]))
		b = b[4:]
		if code == optEnd || n > len(b) {
			return
		}
		fn(code, b[:n])
		b = b[min((n+3)&^3, len(b)):]
	}
}

func (f *ngFile) comment(v []byte) {
	if len(f.cap.Comments) < maxComments {
		f.cap.Comments = append(f.cap.Comments, text(v, maxCommentLen))
	}
}

// text makes a string of file bytes: cut to n, valid UTF-8.
func text(v []byte, n int) string {
	v = bytes.TrimRight(v, "\x00")
	return string(bytes.ToValidUTF8(v[:min(n, len(v))], []byte("?")))
}

// unitOf reads if_tsresol: a negative power of ten, or of two with the high bit.
func unitOf(v byte) tsUnit {
	if v&0x80 != 0 {
		n := min(v&0x7f, 63)
		return tsUnit{mul: 1e9, div: 1 << n, precision: max(1, time.Duration(1e9>>min(n, 30)))}
	}
	u := tsUnit{mul: 1e9, div: 1, precision: 1}
	for i := byte(0); i < min(v, 19); i++ {
		if u.mul > 1 {
			u.mul /= 10
		} else {
			u.div *= 10
		}
	}
	u.precision = max(1, time.Duration(u.mul))
	return u
}

func (u tsUnit) nanos(ticks uint64) event.Nanos {
	if u.div == 1 && ticks < 1<<62/u.mul {
		return event.Nanos(ticks * u.mul)
	}
	hi, lo := bits.Mul64(ticks, u.mul)
	if hi >= u.div {
		return 0 // beyond the range of nanoseconds: no usable time
	}
	q, _ := bits.Div64(hi, lo, u.div)
	if q > 1<<62 {
		return 0
	}
	return event.Nanos(q)
}
