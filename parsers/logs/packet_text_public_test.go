package logs_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/logs"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

// TestPacketTextTcpdump reads what tcpdump's own tests expect it to print, in
// all its forms and for hundreds of protocols, and counts the same as in the
// captures.
func TestPacketTextTcpdump(t *testing.T) {
	dir := filepath.Join(shared(t, "corpus/public"), "tcpdump-tests")
	table, err := os.ReadFile(filepath.Join(dir, "PAIRS.tsv"))
	if err != nil {
		t.Skip("tcpdump's test captures are not beside this repository")
	}
	var format logs.Format
	for _, f := range logs.Formats() {
		if f.Name == "packet-text" {
			format = f
		}
	}
	compared, same := 0, 0
	for i, row := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		col := strings.Split(row, "\t")
		if i == 0 || len(col) < 3 || strings.Contains(col[2], "--") || strings.Contains(col[2], "-c") {
			continue // not all frames are printed
		}
		text, err := os.ReadFile(filepath.Join(dir, col[1]))
		require.NoError(t, err)
		if format.Detect(text[:min(len(text), 64<<10)], col[1]) == 0 {
			continue // nothing in it is TCP, UDP, ICMP or ARP
		}
		data, err := os.ReadFile(filepath.Join(dir, col[0]))
		require.NoError(t, err)
		printed, captured := &recorded{info: &event.StreamInfo{ID: 1}}, &recorded{info: &event.StreamInfo{ID: 1}}
		require.NoError(t, format.Parse(context.Background(), &logs.Input{Path: col[1], R: bytes.NewReader(text), Info: printed.info, Sink: printed}))
		if pcap.Parse(context.Background(), bytes.NewReader(data), captured.info, captured) != nil {
			continue
		}
		for _, k := range []string{"frames", "tcp_syn", "tcp_synack", "tcp_rst", "arp_request", "arp_reply", "icmp_unreachable"} {
			want, got := captured.info.Counts[k], printed.info.Counts[k]
			if want == 0 && got == 0 {
				continue
			}
			compared++
			if want == got {
				same++
			} else {
				t.Logf("%s: %s is %d, in the capture %d", col[1], k, got, want)
			}
		}
	}
	t.Logf("%d of %d counters are equal", same, compared)
	assert.GreaterOrEqual(t, same*100, compared*98)
}
