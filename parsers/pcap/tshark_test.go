package pcap_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/flow"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

var sharkAll = flag.Bool("tshark-all", false, "compare all captures at hand with tshark, not only a few (minutes)")

// sharkFields are asked of tshark for each frame; of headers that repeat
// (tunnels, quoted packets) it prints all.
var sharkFields = []string{"frame.number", "frame.protocols", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport",
	"tcp.dstport", "tcp.flags", "tcp.seq_raw", "tcp.ack_raw", "tcp.len", "arp.opcode", "arp.src.proto_ipv4", "arp.dst.proto_ipv4"}

// shark runs tshark over a capture and returns a row of fields for each frame.
func shark(t testing.TB, path string) []map[string]string {
	t.Helper()
	bin, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	args := []string{"-n", "-r", path, "-T", "fields", "-E", "occurrence=a", "-o", "tcp.analyze_sequence_numbers:FALSE",
		"-o", "ip.defragment:FALSE", "-o", "tcp.desegment_tcp_streams:FALSE", "-d", "udp.port==8472,vxlan"}
	for _, f := range sharkFields {
		args = append(args, "-e", f)
	}
	out, _ := exec.Command(bin, args...).Output() // its exit status complains of cut files, too
	var rows []map[string]string
	for _, line := range strings.Split(strings.TrimRight(string(out), "\n"), "\n") {
		row := make(map[string]string)
		for i, v := range strings.Split(line, "\t") {
			if i < len(sharkFields) {
				row[sharkFields[i]] = v
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func lastOf(s string) string { return s[strings.LastIndexByte(s, ',')+1:] }

// ours and theirs reduce a frame to the same words.
func ours(p *flow.Packet) string {
	switch p.Kind {
	case flow.TCP:
		return fmt.Sprintf("tcp %v:%d > %v:%d flags %02x seq %d len %d", p.Src, p.SrcPort, p.Dst, p.DstPort, p.Flags&0x1f, p.Seq, p.Length)
	case flow.ARP:
		return fmt.Sprintf("arp %d %v %v", p.ARPOpcode, p.Src, p.Dst)
	}
	return "-"
}

func theirs(r map[string]string) string {
	protos := r["frame.protocols"]
	switch {
	case strings.Contains(protos, "icmp"):
		return "-"
	case r["tcp.srcport"] != "":
		src, dst := r["ip.src"], r["ip.dst"]
		if strings.LastIndex(protos, "ipv6") > strings.LastIndex(protos, "ip:") {
			src, dst = r["ipv6.src"], r["ipv6.dst"]
		}
		flags, _ := strconv.ParseUint(strings.TrimPrefix(lastOf(r["tcp.flags"]), "0x"), 16, 16)
		return fmt.Sprintf("tcp %s:%s > %s:%s flags %02x seq %s len %s", lastOf(src), lastOf(r["tcp.srcport"]), lastOf(dst),
			lastOf(r["tcp.dstport"]), flags&0x1f, lastOf(r["tcp.seq_raw"]), lastOf(r["tcp.len"]))
	case r["arp.opcode"] != "" && r["arp.src.proto_ipv4"] != "":
		return fmt.Sprintf("arp %s %s %s", r["arp.opcode"], r["arp.src.proto_ipv4"], r["arp.dst.proto_ipv4"])
	}
	return "-"
}

// TestAgreesWithTShark compares every frame of the recordings with tshark.
func TestAgreesWithTShark(t *testing.T) {
	paths, _ := filepath.Glob(captures + "/*/*.pcap")
	recorded, _ := filepath.Glob(lab + "/*/raw/*.pcap")
	if !*sharkAll {
		paths, recorded = paths[:min(len(paths), 3)], recorded[:min(len(recorded), 1)]
	}
	for _, path := range append(paths, recorded...) {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		total, bad := compareFrames(t, path, b)
		assert.Empty(t, bad, path)
		assert.Positive(t, total, path)
	}
}

func compareFrames(t testing.TB, path string, b []byte) (total int, bad []string) {
	rows := shark(t, path)
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

// TestPublicAgreesWithTShark does the same for the public captures, where a few
// differences are known.
func TestPublicAgreesWithTShark(t *testing.T) {
	if !*sharkAll {
		t.Skip("takes minutes: run with -tshark-all")
	}
	total, wrong := 0, 0
	publicCaptures(t, func(name string, b []byte) {
		path := filepath.Join(t.TempDir(), "capture")
		require.NoError(t, os.WriteFile(path, b, 0o644))
		n, bad := compareFrames(t, path, b)
		total, wrong = total+n, wrong+len(bad)
		for _, x := range bad {
			t.Log(strings.Replace(x, path, name, 1))
		}
	})
	t.Logf("%d of %d TCP and ARP frames differ", wrong, total)
	assert.Less(t, float64(wrong), 0.01*float64(total))
}
