// Package pcap reads packet captures: the framing of pcap and pcapng files, the
// link types Kubernetes nodes produce, and a decoder that looks at fixed offsets
// only. What it decodes is followed by package flow.
//
// The wire formats are those of the Internet drafts draft-ietf-opsawg-pcap and
// draft-ietf-opsawg-pcapng. Packet numbers are those of Wireshark's
// frame.number.
package pcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Record is one captured packet. Data aliases the read buffer and is valid until
// the next call of Next.
type Record struct {
	Data []byte
	// Frame numbers packets from 1, Offset is the stream offset of its record.
	Frame, Offset int64
	// At is in nanoseconds, zero when the record has no time stamp.
	At        event.Nanos
	Precision time.Duration
	// Length is the packet's length on the wire.
	Length uint32
	// Link is the link type, Interface the pcapng interface's name.
	Link      uint32
	Interface string
	Direction uint8 // pcapng epb_flags: 0 unknown, 1 inbound, 2 outbound
}

// framing is one of the file formats.
type framing interface {
	// next reads a record; io.EOF ends the file, whole or not.
	next(rec *Record) error
}

// report notes damage at a stream offset.
type report func(code, message string, frame, offset int64)

// Magic numbers of the pcap header, as written by a host of either byte order.
const (
	magicMicro    = 0xa1b2c3d4
	magicNano     = 0xa1b23c4d
	magicModified = 0xa1b2cd34 // Kuznetzov's: 8 more bytes in each packet header
	magicSection  = 0x0a0d0d0a // pcapng section header block
)

// Detect reports whether a stream that begins with these bytes is a capture
// that this package reads. It needs 12 bytes, or maxPreamble and 12 where a few
// lines of text come first.
func Detect(head []byte) bool {
	_, ok := start(head)
	return ok
}

// maxPreamble bounds the text that may stand before a capture.
const maxPreamble = 4096

// start finds where in its first bytes a stream's capture begins: at once, or
// after lines of text. kubectl debug without --quiet prints some to the standard
// output that then carries the packets.
func start(head []byte) (at int, ok bool) {
	if _, ok := sniff(head); ok {
		return 0, true
	}
	for i, c := range head[:min(len(head), maxPreamble)] {
		switch {
		case c == '\n':
			if _, ok := sniff(head[i+1:]); ok {
				return i + 1, true
			}
		case c < ' ' && c != '\r' && c != '\t' || c == 0x7f:
			return 0, false
		}
	}
	return 0, false
}

// sniff returns the format's name.
func sniff(head []byte) (name string, ok bool) {
	if len(head) < 12 {
		return "", false
	}
	switch binary.LittleEndian.Uint32(head) {
	case magicMicro, magicNano, magicModified:
		return "pcap", true
	case magicSection:
		m := binary.LittleEndian.Uint32(head[8:])
		return "pcapng", m == byteOrderMagic || m == swap32(byteOrderMagic)
	}
	switch binary.BigEndian.Uint32(head) {
	case magicMicro, magicNano, magicModified:
		return "pcap", true
	}
	return "", false
}

func swap32(v uint32) uint32 { return v>>24 | v>>8&0xff00 | v<<8&0xff0000 | v<<24 }

// errNotCapture is returned for a stream that Detect would refuse.
var (
	errShort      = errors.New("too short")
	errNotCapture = errors.New("no pcap or pcapng magic number at its start")
)

// open reads the file header.
func open(w *window, cap *event.CaptureInfo, rep report) (framing, string, error) {
	name, ok := sniff(w.peek(12))
	if !ok {
		var n int
		if n, ok = start(w.peek(maxPreamble + 12)); ok {
			rep("text-before-capture", fmt.Sprintf("the capture begins after %d bytes of text; other tools read it once they are removed", n), 0, 0)
			w.skip(n)
			name, _ = sniff(w.peek(12))
		}
	}
	switch {
	case !ok:
		if w.err != nil && w.err != io.EOF {
			return nil, "", w.err
		}
		return nil, "", errNotCapture
	case name == "pcapng":
		return &ngFile{w: w, cap: cap, report: rep}, name, nil
	}
	f, err := openClassic(w, cap, rep)
	if err != nil {
		return nil, "", fmt.Errorf("pcap header: %w", err)
	}
	return f, name, nil
}
