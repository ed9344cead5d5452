package pcap_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

var byteOrders = []byteOrder{binary.LittleEndian, binary.BigEndian}

// records reads a file and lists its records: number, time, link type,
// interface, direction and lengths, with the client port of the SYN in it.
func records(t *testing.T, b []byte) []string {
	t.Helper()
	var out []string
	require.NoError(t, pcap.EachFrame(b, func(rec pcap.Record, p *flow.Packet) {
		at := "-"
		if rec.At != 0 {
			at = rec.At.Time().Format("15:04:05.000000000")
		}
		out = append(out, fmt.Sprintf("#%d %s %s %q dir=%d %d/%d port=%d", rec.Frame, at, pcap.LinkTypeName(rec.Link), rec.Interface,
			rec.Direction, len(rec.Data), rec.Length, p.SrcPort))
	}))
	return out
}

// problems are the codes and messages met while parsing a file.
func problems(t *testing.T, b []byte) []string {
	t.Helper()
	_, c := parseBytes(t, "x", b)
	var out []string
	for _, p := range c.problems {
		out = append(out, fmt.Sprintf("#%d %s: %s (%d)", p.Ref.Packet, p.Code, p.Message, p.Count))
	}
	return out
}

func TestClassicVariants(t *testing.T) {
	frame := synFrame(7)
	for _, o := range byteOrders {
		for _, c := range []struct {
			name  string
			magic uint32
			minor uint16
			link  uint32
			frac  uint32
			extra []byte
			want  string
		}{
			{"microseconds", 0xa1b2c3d4, 4, linkEthernet, 5, nil, `#1 00:00:01.000005000 EN10MB "" dir=0 54/54 port=7`},
			{"nanoseconds", 0xa1b23c4d, 4, linkEthernet, 5, nil, `#1 00:00:01.000000005 EN10MB "" dir=0 54/54 port=7`},
			{"modified", 0xa1b2cd34, 4, linkEthernet, 5, make([]byte, 8), `#1 00:00:01.000005000 EN10MB "" dir=0 54/54 port=7`},
			// The upper half of the link type says how long a frame check sequence is.
			{"with check sequence", 0xa1b2c3d4, 4, linkEthernet | 0x24000000, 5, nil, `#1 00:00:01.000005000 EN10MB "" dir=0 54/54 port=7`},
		} {
			data := frame
			if c.link > 0xffff {
				data = append(bytes.Clone(frame), 1, 2, 3, 4)
			}
			b := classicRecord(o, classicHead(o, c.magic, c.minor, 65535, c.link), 1, c.frac, len(data), data, c.extra...)
			assert.Equal(t, []string{c.want}, records(t, b), "%s %v", c.name, o)
			assert.Empty(t, problems(t, b), c.name)
		}
		// Before version 2.3 the lengths stood the other way round.
		b := classicHead(o, 0xa1b2c3d4, 2, 65535, linkEthernet)
		for _, v := range []uint32{1, 0, 60, 54} {
			b = o.AppendUint32(b, v)
		}
		assert.Equal(t, []string{`#1 00:00:01.000000000 EN10MB "" dir=0 54/60 port=7`}, records(t, append(b, frame...)))
	}
}

func TestTruncatedTail(t *testing.T) {
	o := binary.LittleEndian
	head := classicHead(o, 0xa1b2c3d4, 4, 65535, linkEthernet)
	whole := classicRecord(o, classicRecord(o, bytes.Clone(head), 1, 0, 54, synFrame(1)), 2, 0, 54, synFrame(2))
	for cut, want := range map[int]string{
		20: "#2 truncated: the file ends inside a packet: 50 of 70 bytes (1)",
		60: "#2 truncated: the file ends inside the header of a packet: 10 of 16 bytes (1)",
	} {
		assert.Len(t, records(t, whole[:len(whole)-cut]), 1)
		assert.Equal(t, []string{want}, problems(t, whole[:len(whole)-cut]))
	}
	assert.Empty(t, problems(t, head))
}

// TestTextBeforeCapture has what kubectl debug prints before the packets.
func TestTextBeforeCapture(t *testing.T) {
	text := "Defaulting debug container name to debugger-x7k2p.\nIf you don't see a command prompt, try pressing enter.\n"
	o := binary.LittleEndian
	classic := classicRecord(o, classicHead(o, 0xa1b2c3d4, 4, 65535, linkEthernet), 1, 0, 54, synFrame(1))
	ng := ngWriter{byteOrder: o}
	ng.section()
	ng.iface(linkEthernet, 0)
	ng.enhanced(0, 1e6, 54, synFrame(1))
	for _, b := range [][]byte{classic, ng.b} {
		require.Len(t, records(t, b), 1)
		with := append([]byte(text), b...)
		assert.True(t, pcap.Detect(with))
		assert.Equal(t, records(t, b), records(t, with))
		assert.Equal(t, []string{fmt.Sprintf("#0 text-before-capture: the capture begins after %d bytes of text; other tools read it once they are removed (1)", len(text))}, problems(t, with))
		_, c := parseBytes(t, "x", with)
		_, plain := parseBytes(t, "x", b)
		require.Len(t, c.events, len(plain.events))
		for n, e := range c.events {
			assert.Equal(t, plain.events[n].Ref.Packet, e.Ref.Packet)
		}
	}
	assert.False(t, pcap.Detect([]byte(text)))
	assert.False(t, pcap.Detect(append([]byte("\x00"+text), classic...)))
	assert.False(t, pcap.Detect(append(bytes.Repeat([]byte("x\n"), 3000), classic...)), "too much text")
}

// TestResync damages files in the middle: the packets behind the damage are
// found, and what was skipped is said.
func TestResync(t *testing.T) {
	for _, o := range byteOrders {
		junk := bytes.Repeat([]byte("no record looks like this. "), 40)
		b := classicRecord(o, classicHead(o, 0xa1b2c3d4, 4, 262144, linkEthernet), 1e9, 0, 54, synFrame(1))
		b = append(b, junk...)
		b = classicRecord(o, b, 1e9+1, 0, 54, synFrame(2))
		b = classicRecord(o, b, 1e9+2, 0, 54, synFrame(3))
		assert.Len(t, records(t, b), 3)
		got := problems(t, b)
		require.Len(t, got, 1)
		assert.Contains(t, got[0], fmt.Sprintf("%d bytes skipped to the next packet", len(junk)))

		w := ngWriter{byteOrder: o}
		w.section()
		w.iface(linkEthernet, 0)
		w.enhanced(0, 1e15, 54, synFrame(1))
		w.b = append(w.b, junk[:1000]...)
		w.enhanced(0, 1e15+1, 54, synFrame(2))
		assert.Len(t, records(t, w.b), 2)
		got = problems(t, w.b)
		require.NotEmpty(t, got)
		assert.Contains(t, fmt.Sprint(got), "skipped to the next packet")

		// Nothing behind the damage: said, too.
		b = classicRecord(o, classicHead(o, 0xa1b2c3d4, 4, 262144, linkEthernet), 1e9, 0, 54, synFrame(1))
		got = problems(t, append(b, junk...))
		require.Len(t, got, 1)
		assert.Contains(t, got[0], "no packet in the")
	}
}

func TestNgTimes(t *testing.T) {
	for _, o := range byteOrders {
		for _, c := range []struct {
			name      string
			options   []ngOption
			ticks     uint64
			want      time.Duration
			precision time.Duration
		}{
			{"default", nil, 1_500_000, 1500 * time.Millisecond, time.Microsecond},
			{"milliseconds", []ngOption{{9, []byte{3}}}, 1500, 1500 * time.Millisecond, time.Millisecond},
			{"nanoseconds", []ngOption{{9, []byte{9}}}, 1_500_000_001, 1500*time.Millisecond + 1, 1},
			{"picoseconds", []ngOption{{9, []byte{12}}}, 1_500_000_001_000, 1500*time.Millisecond + 1, 1},
			{"binary", []ngOption{{9, []byte{0x80 | 10}}}, 1536, 1500 * time.Millisecond, 976562},
			{"offset", []ngOption{{14, o.AppendUint64(nil, 60)}}, 1_500_000, 61500 * time.Millisecond, time.Microsecond},
			{"offset back", []ngOption{{14, o.AppendUint64(nil, ^uint64(0))}}, 1_500_000, 500 * time.Millisecond, time.Microsecond},
		} {
			w := ngWriter{byteOrder: o}
			w.section()
			w.iface(linkEthernet, 0, c.options...)
			w.enhanced(0, c.ticks, 54, synFrame(1))
			n := 0
			require.NoError(t, pcap.EachFrame(w.b, func(rec pcap.Record, _ *flow.Packet) {
				n++
				assert.Equal(t, event.Nanos(c.want), rec.At, "%s %v", c.name, o)
				assert.Equal(t, c.precision, rec.Precision, "%s %v", c.name, o)
			}))
			assert.Equal(t, 1, n)
		}
	}
}

func TestNgBlocks(t *testing.T) {
	for _, o := range byteOrders {
		w := ngWriter{byteOrder: o}
		w.section(ngOption{1, []byte("taken while probes failed")})
		w.iface(linkEthernet, 40, ngOption{2, []byte("cni0")}, ngOption{11, append([]byte{0}, "tcp port 8080"...)})
		w.iface(linkRaw, 0)
		w.simple(54, synFrame(1)) // cut at the interface's snaplen
		w.enhanced(0, 1e6, 54, synFrame(2), ngOption{2, o.AppendUint32(nil, 2)}, ngOption{1, []byte("this one")})
		w.obsolete(1, 2e6, 40, synFrame(3)[14:])
		w.block(0x0bad, []byte("an unknown block is skipped"))
		w.names([4]byte{10, 0, 0, 2}, "web-0.shop")
		w.statistics(0, 10, 3)
		w.statistics(0, 20, 5) // of one interface the last counts
		w.statistics(1, 7, 1)
		w.enhanced(9, 3e6, 54, synFrame(4)) // of an interface that nobody described
		// Another section begins anew, in the other byte order.
		v := ngWriter{byteOrder: byteOrders[0], b: w.b}
		if o == byteOrders[0] {
			v.byteOrder = byteOrders[1]
		}
		v.section()
		v.iface(linkEthernet, 0, ngOption{2, []byte("veth1")})
		v.enhanced(0, 4e6, 54, synFrame(5))

		// The snaplen leaves of frame 1 no TCP header.
		assert.Equal(t, []string{
			`#1 - EN10MB "cni0" dir=0 40/54 port=0`,
			`#2 00:00:01.000000000 EN10MB "cni0" dir=2 54/54 port=2`,
			`#3 00:00:02.000000000 RAW "interface 1" dir=0 40/40 port=3`,
			`#5 00:00:04.000000000 EN10MB "veth1" dir=0 54/54 port=5`,
		}, records(t, v.b), "%v", o)
		info, c := parseBytes(t, "x", v.b)
		assert.Equal(t, []string{"EN10MB", "RAW"}, info.Capture.LinkTypes)
		assert.Equal(t, int64(40), info.Capture.Snaplen)
		assert.Equal(t, int64(6), info.Capture.Dropped)
		assert.Equal(t, int64(1), info.Capture.Truncated)
		assert.Equal(t, "tcp port 8080", info.Capture.Filter)
		assert.Equal(t, []event.HostName{{IP: netip.MustParseAddr("10.0.0.2"), Name: "web-0.shop"}}, info.Capture.Names)
		assert.Equal(t, []string{"taken while probes failed", "this one"}, info.Capture.Comments)
		require.Len(t, c.problems, 2)
		assert.Equal(t, "packet-cut", c.problems[0].Code)
		assert.Equal(t, "bad-record", c.problems[1].Code)
		assert.Equal(t, int64(4), c.problems[1].Ref.Packet)
	}
}

// TestNgDamage has blocks whose lengths cannot be right.
func TestNgDamage(t *testing.T) {
	o := binary.LittleEndian
	start := func() ngWriter {
		w := ngWriter{byteOrder: o}
		w.section()
		w.iface(linkEthernet, 0)
		w.enhanced(0, 1e6, 54, synFrame(1))
		return w
	}
	w := start()
	w.b = w.b[:len(w.b)-10]
	assert.Empty(t, records(t, w.b))
	assert.Contains(t, fmt.Sprint(problems(t, w.b)), "truncated")

	w = start() // the length at the end differs from the one at the start
	w.enhanced(0, 2e6, 54, synFrame(2))
	o.PutUint32(w.b[len(w.b)-4:], 1)
	assert.Len(t, records(t, w.b), 2)
	assert.Contains(t, fmt.Sprint(problems(t, w.b)), "ends with length 1")

	w = start() // more captured bytes than the block holds
	w.enhanced(0, 2e6, 54, synFrame(2))
	o.PutUint32(w.b[len(w.b)-4-56-8:], 5000)
	assert.Len(t, records(t, w.b), 1)
	assert.Contains(t, fmt.Sprint(problems(t, w.b)), "larger than its block")

	w = start() // an interface whose statistics were lost says nothing of drops
	info, _ := parseBytes(t, "x", w.b)
	assert.Equal(t, int64(-1), info.Capture.Dropped)
}
