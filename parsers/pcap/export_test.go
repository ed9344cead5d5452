package pcap

import (
	"bytes"
	"io"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// DecodeFrame decodes one frame outside any file.
func DecodeFrame(link uint32, frame []byte) flow.Packet {
	p, _ := DecodeCut(link, frame, len(frame))
	return p
}

// DecodeCut decodes the captured start of a frame that had wire bytes. Cut tells
// that an undecoded frame is so because its headers were not captured.
func DecodeCut(link uint32, frame []byte, wire int) (p flow.Packet, cut bool) {
	d := decoder{interfaces: &nameBook{}}
	p = *d.decode(&Record{Data: frame, Length: uint32(wire), Link: link, Frame: 1})
	return p, d.cut
}

// DecodeWhy is DecodeCut with the reason why a frame is undecoded.
func DecodeWhy(link uint32, frame []byte, wire int) (p flow.Packet, reason string) {
	d := decoder{interfaces: &nameBook{}}
	rec := &Record{Data: frame, Length: uint32(wire), Link: link, Frame: 1}
	p = *d.decode(rec)
	_ = describe(rec, &p)
	return p, d.reason
}

// LinkTypes are the link types that are decoded.
func LinkTypes() []uint32 {
	var links []uint32
	for link := range uint32(300) {
		if supported(link) {
			links = append(links, link)
		}
	}
	return links
}

// EachFrame decodes all frames of a capture.
func EachFrame(b []byte, visit func(rec Record, p *flow.Packet)) error {
	f, _, err := open(newWindow(bytes.NewReader(b)), &event.CaptureInfo{}, func(string, string, int64, int64) {})
	if err != nil {
		return err
	}
	d := decoder{interfaces: &nameBook{}}
	for {
		var rec Record
		if err := f.next(&rec); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		rec.Data = slices.Clone(rec.Data)
		visit(rec, d.decode(&rec))
	}
}

// Supported reports whether frames of a link type are decoded.
func Supported(link uint32) bool { return supported(link) }
