package flow_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// packetSize is how many bytes of the fuzzed input make a packet.
const packetSize = 12

// fuzzPackets makes packets of few addresses, ports and sequence numbers, so that
// they meet in connections, copies and answers.
func fuzzPackets(b []byte, tr *flow.Tracker, visit func(*flow.Packet)) {
	at, n := zero, int64(0)
	names := [...]string{"", "if1", "if2", "if3"}
	for ; len(b) >= packetSize; b = b[packetSize:] {
		n++
		at += event.Nanos(int8(b[0])) * event.Nanos(b[1]) * 1e6
		host := func(i byte) netip.Addr {
			if b[2]&0x80 != 0 {
				return netip.AddrFrom16([16]byte{0: 0xfd, 15: i & 3})
			}
			return netip.AddrFrom4([4]byte{10, 0, 0, i & 3})
		}
		p := flow.Packet{
			Ref: event.Ref{Stream: 1, Packet: n}, At: at, Kind: flow.Kind(b[2] & 0x0f % 12),
			Dir: flow.Direction(b[3] & 3), Interface: tr.Interface(names[b[3]>>2&3]), Lacks: flow.Lacks(b[4] & 0x7f),
			EthSrc: event.MAC{2, 0, 0, 0, 0, b[5] & 3}, EthDst: event.MAC{b[5] & 1, 0, 0, 0, 0, b[5] >> 4},
			Src: host(b[5]), Dst: host(b[5] >> 2), SrcPort: uint16(b[6] & 3), DstPort: uint16(b[6] >> 2 & 3),
			TTL: 64, IPID: uint16(b[7] & 7), Flags: b[8], Window: uint16(b[7] >> 4),
			Seq: uint32(int8(b[9])), Ack: uint32(int8(b[10])), TSval: uint32(b[7] >> 3 & 1),
			ARPOpcode: uint16(b[11] & 3), SenderMAC: event.MAC{2, 0, 0, 0, 0, b[11] >> 2 & 3}, Solicited: b[11]&0x40 != 0, Router: b[11]&0x80 != 0,
			ICMPType: b[11] & 0x0f, QuoteProto: 6, QuoteSrc: host(b[5]), QuoteDst: host(b[9]), QuoteSport: uint16(b[6] >> 4 & 3), QuoteDport: uint16(b[6] >> 6),
		}
		if p.Kind == flow.TCP {
			p.Length = int(b[11])
			p.Payload = b[:min(int(b[11]), len(b), packetSize)]
		}
		visit(&p)
	}
}

func track(b []byte) (*event.StreamInfo, *collector) {
	info := &event.StreamInfo{ID: 1}
	var c collector
	tr := flow.New(info, &c, event.Stamp{Precision: time.Microsecond})
	fuzzPackets(b, tr, tr.Add)
	tr.Close()
	return info, &c
}

// FuzzTracker feeds packets in any order and combination: every connection is
// emitted once, the counters add up, and two runs say the same.
func FuzzTracker(f *testing.F) {
	open := []byte{
		1, 1, 2, 4, 0, 0x04, 0x04, 1, 0x02, 5, 0, 0, // SYN
		1, 1, 2, 4, 0, 0x01, 0x01, 2, 0x12, 9, 6, 0, // SYN-ACK
		1, 1, 2, 4, 0, 0x04, 0x04, 3, 0x18, 6, 10, 8, // data
		1, 1, 2, 8, 0, 0x04, 0x04, 3, 0x18, 6, 10, 8, // its copy
		1, 1, 2, 4, 0, 0x01, 0x01, 4, 0x04, 10, 0, 0, // RST
		1, 1, 7, 4, 0, 0x04, 0, 0, 0, 0, 0, 1, // ARP request
		1, 1, 7, 4, 0, 0x01, 0, 0, 0, 0, 0, 2, // and its answer
		127, 255, 6, 4, 0, 0x04, 0x04, 3, 0, 1, 0, 3, // ICMP error
	}
	f.Add(open)
	f.Add(append(open, open...))
	f.Fuzz(func(t *testing.T, b []byte) {
		info, c := track(b)
		assert.Equal(t, int64(len(c.events)), info.Kept)
		var flows, syns, synacks int64
		for _, e := range c.events {
			p, ok := e.Payload.(*event.Flow)
			if !ok {
				continue
			}
			flows++
			syns, synacks = syns+int64(p.SYNs), synacks+int64(p.SYNACKs)
			assert.LessOrEqual(t, len(p.SYNTimes), 16)
			assert.Contains(t, states, p.State)
			assertMarks(t, p)
		}
		n := info.Counts
		assert.Equal(t, flows, n["tcp_flows"])
		assert.LessOrEqual(t, syns, n["tcp_syn"])
		assert.LessOrEqual(t, synacks, n["tcp_synack"])
		assert.LessOrEqual(t, n["tcp_syn_retransmitted"], n["tcp_syn_repeated"])
		assert.LessOrEqual(t, n["tcp_syn_repeated"], n["tcp_syn"])
		var at event.TargetCount
		for _, x := range info.Capture.Targets {
			at.SYN, at.SYNACK, at.RSTFrom, at.RSTTo = at.SYN+x.SYN, at.SYNACK+x.SYNACK, at.RSTFrom+x.RSTFrom, at.RSTTo+x.RSTTo
		}
		assert.LessOrEqual(t, at.SYN, n["tcp_syn"])
		assert.LessOrEqual(t, at.SYNACK, n["tcp_synack"])
		assert.Equal(t, at.RSTFrom+at.RSTTo, n["tcp_rst"])

		again, d := track(b)
		assert.Equal(t, info, again)
		assert.Equal(t, c, d)
	})
}

// states are Zeek's.
var states = []event.ConnState{event.S0, event.S1, event.SF, event.REJ, event.S2, event.S3, event.RSTO, event.RSTR,
	event.RSTOS0, event.RSTRH, event.SH, event.SHR, event.OTH}

// assertMarks checks that every moment of a connection is one of its frames.
func assertMarks(t *testing.T, p *event.Flow) {
	t.Helper()
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		if m, ok := v.Field(i).Interface().(event.Mark); ok && m.Seen() {
			assert.GreaterOrEqual(t, m.Packet, p.First.Packet, v.Type().Field(i).Name)
			assert.LessOrEqual(t, m.Packet, p.Last.Packet, v.Type().Field(i).Name)
		}
	}
}

// FuzzPayload lets client and server say anything, cut into segments anywhere.
func FuzzPayload(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(f, err)
	for _, name := range files {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		for i, file := range txtar.Parse(b).Files {
			if i%2 == 1 {
				continue // the events
			}
			client, server := said(f, string(file.Data))
			if client != nil || server != nil {
				f.Add(client, server, byte(0))
				f.Add(client, server, byte(7))
			}
		}
	}
	f.Fuzz(func(t *testing.T, client, server []byte, size byte) {
		info := &event.StreamInfo{ID: 1}
		var c collector
		tr := flow.New(info, &c, event.Stamp{Precision: time.Microsecond})
		add := connection(tr)
		add(flow.SYN, false, nil)
		add(flow.SYN|flow.ACK, true, nil)
		step := max(1, int(size))
		if size == 0 {
			step = max(len(client), len(server), 1)
		}
		for len(client)+len(server) > 0 {
			n, m := min(step, len(client)), min(step, len(server))
			add(flow.ACK, false, client[:n])
			add(flow.ACK, true, server[:m])
			client, server = client[n:], server[m:]
		}
		tr.Close()
		require.Len(t, c.events, 2) // the client's sighting and the connection
		p := c.events[1].Payload.(*event.Flow)
		assert.LessOrEqual(t, len(p.Path), 512)
		assert.LessOrEqual(t, len(p.UserAgent), 256)
		assert.Less(t, p.Status, 1000)
	})
}

// connection returns a function that adds a segment of one connection.
func connection(tr *flow.Tracker) func(flags uint8, fromServer bool, data []byte) {
	n, next := int64(0), [2]uint32{100, 500}
	return func(flags uint8, fromServer bool, data []byte) {
		n++
		p := flow.Packet{Ref: event.Ref{Stream: 1, Packet: n}, At: zero + event.Nanos(n)*1e6, Kind: flow.TCP, Flags: flags,
			Src: netip.MustParseAddr("10.0.0.1"), SrcPort: 40000, Dst: netip.MustParseAddr("10.0.0.9"), DstPort: 8080,
			EthSrc: event.MAC{2, 0, 0, 0, 0, 1}, Window: 500, Length: len(data), Payload: data}
		side := 0
		if fromServer {
			side = 1
			p.Src, p.SrcPort, p.Dst, p.DstPort = p.Dst, p.DstPort, p.Src, p.SrcPort
			p.EthSrc[5] = 9
		}
		p.Seq, p.Ack = next[side], next[1-side]
		next[side] += uint32(len(data))
		if flags&flow.SYN != 0 {
			next[side]++
		}
		tr.Add(&p)
	}
}

// said collects what client and server say in a case of TestCases.
func said(t testing.TB, packets string) (client, server []byte) {
	tr := flow.New(&event.StreamInfo{}, &collector{}, event.Stamp{})
	eachPacket(t, tr, packets, func(p *flow.Packet) {
		if p.SrcPort == 8080 {
			server = append(server, p.Payload...)
		} else {
			client = append(client, p.Payload...)
		}
	})
	return client, server
}
