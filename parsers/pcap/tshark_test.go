package pcap_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/flow"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

var sharkAll = flag.Bool("tshark-all", false, "compare the public captures with tshark, too (minutes)")

// sharkFields are asked of tshark for each frame; of headers that repeat
// (tunnels, quoted packets) it prints all.
var sharkFields = []string{"frame.interface_id", "frame.protocols", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport",
	"tcp.dstport", "tcp.flags", "tcp.seq_raw", "tcp.ack_raw", "tcp.len", "arp.opcode", "arp.src.proto_ipv4", "arp.dst.proto_ipv4",
	"tcp.analysis.retransmission", "ip.id", "tcp.options.timestamp.tsval"}

// sharkRow is what tshark says of a frame.
type sharkRow map[string]string

// shark runs tshark over a capture and returns a row of fields for each frame.
func shark(path string, options ...string) []sharkRow {
	args := append([]string{"-n", "-r", path, "-T", "fields", "-E", "occurrence=a",
		"-o", "ip.defragment:FALSE", "-o", "tcp.desegment_tcp_streams:FALSE", "-d", "udp.port==8472,vxlan"}, options...)
	for _, f := range sharkFields {
		args = append(args, "-e", f)
	}
	out, _ := exec.Command("tshark", args...).Output() // its exit status complains of cut files, too
	var rows []sharkRow
	for _, line := range strings.Split(strings.TrimRight(string(out), "\n"), "\n") {
		row := make(sharkRow)
		for i, v := range strings.Split(line, "\t") {
			if i < len(sharkFields) {
				row[sharkFields[i]] = v
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func needShark(t testing.TB) {
	t.Helper()
	for _, name := range []string{"tshark", "mergecap"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
	}
}

// sharkedCapture is a capture with tshark's view of it.
type sharkedCapture struct {
	path string
	data []byte
	rows []sharkRow
}

// sharkedCaptures runs tshark over all our captures. It takes half a second to
// start, so captures are put behind each other in one file, as interfaces of it;
// those of one recording, in which one connection stands several times, into
// different files.
var sharkedCaptures = sync.OnceValues(func() ([]*sharkedCapture, error) {
	var groups [][]*sharkedCapture
	var all []*sharkedCapture
	place := map[string]int{}
	known := map[[32]byte]bool{}
	for _, pattern := range ourPatterns {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			if known[sha256.Sum256(data)] {
				continue
			}
			known[sha256.Sum256(data)] = true
			c := &sharkedCapture{path: path, data: data}
			all = append(all, c)
			recording := filepath.Dir(path)
			if filepath.Base(recording) != "raw" {
				recording += filepath.Base(path)[:2]
			}
			if place[recording] == len(groups) {
				groups = append(groups, nil)
			}
			groups[place[recording]] = append(groups[place[recording]], c)
			place[recording]++
		}
	}
	dir, err := os.MkdirTemp("", "tshark")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, g := range groups {
		merged := filepath.Join(dir, "merged.pcapng")
		args := []string{"-I", "none", "-a", "-w", merged}
		for _, c := range g {
			args = append(args, c.path)
		}
		if out, err := exec.Command("mergecap", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("mergecap: %w: %s", err, out)
		}
		for _, row := range shark(merged) {
			i, err := strconv.Atoi(row["frame.interface_id"])
			if err != nil || i >= len(g) {
				return nil, fmt.Errorf("tshark: interface %q of %d", row["frame.interface_id"], len(g))
			}
			g[i].rows = append(g[i].rows, row)
		}
	}
	return all, nil
})

func lastOf(s string) string { return s[strings.LastIndexByte(s, ',')+1:] }

// tcpFlags are the flags of the innermost segment, ok unless there is none or an
// ICMP error quotes it.
func (r sharkRow) tcpFlags() (flags uint8, ok bool) {
	if r["tcp.srcport"] == "" || strings.Contains(r["frame.protocols"], "icmp") {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(lastOf(r["tcp.flags"]), "0x"), 16, 16)
	return uint8(n), err == nil
}

// ours and theirs reduce a frame to the same words.
func ours(p *flow.Packet) string {
	switch p.Kind {
	case flow.TCP:
		return fmt.Sprintf("tcp %v:%d > %v:%d flags %02x seq %d ack %d len %d", p.Src, p.SrcPort, p.Dst, p.DstPort, p.Flags, p.Seq, p.Ack, p.Length)
	case flow.ARP:
		return fmt.Sprintf("arp %d %v %v", p.ARPOpcode, p.Src, p.Dst)
	}
	return "-"
}

func theirs(r sharkRow) string {
	if flags, ok := r.tcpFlags(); ok {
		src, dst, protos := r["ip.src"], r["ip.dst"], r["frame.protocols"]
		if strings.LastIndex(protos, "ipv6") > strings.LastIndex(protos, "ip:") {
			src, dst = r["ipv6.src"], r["ipv6.dst"]
		}
		return fmt.Sprintf("tcp %s:%s > %s:%s flags %02x seq %s ack %s len %s", lastOf(src), lastOf(r["tcp.srcport"]), lastOf(dst),
			lastOf(r["tcp.dstport"]), flags, lastOf(r["tcp.seq_raw"]), lastOf(r["tcp.ack_raw"]), lastOf(r["tcp.len"]))
	}
	if r["arp.opcode"] != "" && r["arp.src.proto_ipv4"] != "" {
		return fmt.Sprintf("arp %s %s %s", r["arp.opcode"], r["arp.src.proto_ipv4"], r["arp.dst.proto_ipv4"])
	}
	return "-"
}

// TestAgreesWithTShark compares every frame of our captures with tshark.
func TestAgreesWithTShark(t *testing.T) {
	needShark(t)
	all, err := sharkedCaptures()
	require.NoError(t, err)
	for _, c := range all {
		total, bad := compareFrames(c.path, c.data, c.rows)
		assert.Empty(t, bad, c.path)
		assert.Positive(t, total, c.path)
	}
}

func compareFrames(path string, b []byte, rows []sharkRow) (total int, bad []string) {
	i := 0
	err := pcap.EachFrame(b, func(rec pcap.Record, p *flow.Packet) {
		if i >= len(rows) {
			bad = append(bad, fmt.Sprintf("%s #%d: %s, tshark has no such frame", path, rec.Frame, ours(p)))
			return
		}
		want := theirs(rows[i])
		i++
		if want == "-" && ours(p) == "-" {
			return
		}
		total++
		if got := ours(p); got != want {
			bad = append(bad, fmt.Sprintf("%s #%d: %s, tshark: %s (%s)", path, rec.Frame, got, want, rows[i-1]["frame.protocols"]))
		}
	})
	if err != nil {
		bad = append(bad, path+": "+err.Error())
	}
	return total, bad
}

// TestCountsAgreeWithTShark compares the counters of each capture with what
// tshark makes of it: handshakes, resets, SYNs sent again by its own analysis,
// and ARP.
func TestCountsAgreeWithTShark(t *testing.T) {
	needShark(t)
	all, err := sharkedCaptures()
	require.NoError(t, err)
	for _, c := range all {
		want := map[string]int64{"frames": int64(len(c.rows)), "tcp_syn": 0, "tcp_synack": 0, "tcp_rst": 0, "tcp_syn_repeated": 0,
			"tcp_syn_retransmitted": 0, "arp_request": 0, "arp_reply": 0}
		passed := map[string]bool{}
		for _, r := range c.rows {
			switch lastOf(r["arp.opcode"]) {
			case "1":
				want["arp_request"]++
			case "2":
				want["arp_reply"]++
			}
			flags, ok := r.tcpFlags()
			switch {
			case !ok:
			case flags&flow.RST != 0:
				want["tcp_rst"]++
			case flags&(flow.SYN|flow.ACK) == flow.SYN|flow.ACK:
				want["tcp_synack"]++
			case flags&flow.SYN != 0:
				want["tcp_syn"]++
				// One packet that passed several interfaces keeps its IP identification and
				// time stamp; one that was sent again does not.
				one := theirs(r) + r["ip.id"] + r["tcp.options.timestamp.tsval"]
				if r["tcp.analysis.retransmission"] != "" {
					want["tcp_syn_repeated"]++
					if !passed[one] {
						want["tcp_syn_retransmitted"]++
					}
				}
				passed[one] = true
			}
		}
		info, _, err := parseFrom(bytes.NewReader(c.data))
		require.NoError(t, err)
		got := map[string]int64{}
		for k := range want {
			got[k] = info.Counts[k]
		}
		assert.Equal(t, want, got, c.path)
	}
}

// TestPublicAgreesWithTShark does the same for the public captures, where a few
// differences are known.
func TestPublicAgreesWithTShark(t *testing.T) {
	if !*sharkAll {
		t.Skip("takes minutes: run with -tshark-all")
	}
	needShark(t)
	total, wrong := 0, 0
	publicCaptures(t, func(name string, b []byte) {
		path := filepath.Join(t.TempDir(), "capture")
		require.NoError(t, os.WriteFile(path, b, 0o644))
		n, bad := compareFrames(path, b, shark(path, "-o", "tcp.analyze_sequence_numbers:FALSE"))
		total, wrong = total+n, wrong+len(bad)
		for _, x := range bad {
			t.Log(strings.Replace(x, path, name, 1))
		}
	})
	t.Logf("%d of %d TCP and ARP frames differ", wrong, total)
	assert.Less(t, float64(wrong), 0.01*float64(total))
}
