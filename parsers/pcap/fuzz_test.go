package pcap_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

// seedFiles are the captures of the fixtures, and one file of each format and
// byte order.
func seedFiles(f testing.TB) [][]byte {
	paths, err := filepath.Glob(captures + "/*/*.pcap")
	require.NoError(f, err)
	var seeds [][]byte
	for _, path := range paths {
		b, err := os.ReadFile(path)
		require.NoError(f, err)
		if len(b) < 4<<10 {
			seeds = append(seeds, b)
		}
	}
	for _, o := range []byteOrder{binary.LittleEndian, binary.BigEndian} {
		w := ngWriter{byteOrder: o}
		w.section(ngOption{1, []byte("comment")})
		w.iface(linkEthernet, 64, ngOption{2, []byte("cni0")}, ngOption{9, []byte{9}}, ngOption{14, o.AppendUint64(nil, 1)})
		w.iface(linkSLL2, 0, ngOption{11, []byte("\x00tcp")})
		w.enhanced(0, 1e9, 54, synFrame(1), ngOption{2, []byte{1, 0, 0, 0}})
		w.simple(54, synFrame(2))
		w.obsolete(1, 2e9, 54, synFrame(3))
		w.names([4]byte{10, 0, 0, 2}, "web")
		w.statistics(0, 3, 1)
		seeds = append(seeds, w.b)
		for _, magic := range []uint32{0xa1b2c3d4, 0xa1b23c4d} {
			b := classicHead(o, magic, 4, 64, linkEthernet)
			b = classicRecord(o, b, 1, 0, 54, synFrame(1))
			b = append(b, "damage that no record looks like"...)
			seeds = append(seeds, classicRecord(o, b, 2, 0, 54, synFrame(1)))
		}
		b := classicHead(o, 0xa1b2cd34, 2, 64, linkEthernet)
		seeds = append(seeds, classicRecord(o, b, 1, 0, 54, synFrame(1), 0, 0, 0, 1, 8, 0, 4, 0))
	}
	return seeds
}

// FuzzParse reads any bytes as a file: nothing panics, what is said of the file
// adds up, and how the bytes arrive makes no difference.
func FuzzParse(f *testing.F) {
	for _, b := range seedFiles(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		info, c, err := parseFrom(bytes.NewReader(b))
		if err != nil {
			return
		}
		assert.LessOrEqual(t, info.Rejected, info.Records)
		assert.LessOrEqual(t, info.Records, int64(len(b)))
		assert.Equal(t, info.Records, info.Counts["frames"])
		assert.Equal(t, info.Rejected, info.Counts["undecoded"])
		assert.Equal(t, int64(len(c.events)), info.Kept)
		if info.Rejected > 0 {
			assert.NotEmpty(t, c.problems)
		}
		flows := int64(0)
		for _, e := range c.events {
			assert.Positive(t, e.Ref.Packet)
			if p, ok := e.Payload.(*event.Flow); ok {
				flows++
				assert.LessOrEqual(t, int64(p.SYNs), info.Counts["tcp_syn"])
			}
		}
		assert.Equal(t, flows, info.Counts["tcp_flows"])

		again, d, err := parseFrom(&trickle{b: b})
		require.NoError(t, err)
		assert.Equal(t, info, again)
		assert.Equal(t, c, d)
	})
}

func parseFrom(r io.Reader) (*event.StreamInfo, *collector, error) {
	info := &event.StreamInfo{ID: 1, Path: "fuzz"}
	var c collector
	err := pcap.Parse(context.Background(), r, info, &c)
	return info, &c, err
}

// trickle is a reader that gives a few bytes at a time.
type trickle struct{ b []byte }

func (r *trickle) Read(p []byte) (int, error) {
	n := copy(p[:min(len(p), 7)], r.b)
	r.b = r.b[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// FuzzDecode reads any bytes as a frame of any link type.
func FuzzDecode(f *testing.F) {
	for _, b := range seedFiles(f) {
		_ = pcap.EachFrame(b, func(rec pcap.Record, _ *flow.Packet) {
			if rec.Frame <= 4 {
				f.Add(rec.Link, rec.Data, uint16(len(rec.Data)))
			}
		})
	}
	for _, link := range pcap.LinkTypes() {
		f.Add(link, synFrame(1), uint16(0))
	}
	f.Fuzz(func(t *testing.T, link uint32, frame []byte, missing uint16) {
		p, reason := pcap.DecodeWhy(link, frame, len(frame)+int(missing))
		assert.Equal(t, p.Kind == flow.Undecoded, reason != "")
		if p.Kind == flow.TCP {
			assert.True(t, p.Src.IsValid() && p.Dst.IsValid())
			assert.GreaterOrEqual(t, p.Length, 0)
		}
		assert.LessOrEqual(t, len(p.Payload), len(frame))
	})
}
