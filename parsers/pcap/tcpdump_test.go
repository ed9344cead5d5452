package pcap_test

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/flow"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

const tcpdumpTests = "../../../shared/corpus/public/tcpdump-tests"

var (
	printedNumber = regexp.MustCompile(`^ *(\d+)  \S`)
	printedTCP    = regexp.MustCompile(`(\S+)\.(\w+) > (\S+)\.(\w+): (?:HBH \S+ )?Flags \[([^\]]*)\]`)
	printedAsk    = regexp.MustCompile(`who-has (\S+)(?: \([^)]*\))? tell ([^\s,]+)`)
	printedAnswer = regexp.MustCompile(`Reply (\S+) is-at`)
)

// printedFrames maps frame numbers to what tcpdump printed of them: a TCP
// segment (the innermost one) or an ARP message, in the words of decodedFrame.
func printedFrames(text string) map[int64]string {
	frames := map[int64][]string{}
	var n int64
	for line := range strings.Lines(text) {
		if m := printedNumber.FindStringSubmatch(line); m != nil {
			n, _ = strconv.ParseInt(m[1], 10, 64)
		}
		frames[n] = append(frames[n], line)
	}
	out := map[int64]string{}
	for n, lines := range frames {
		all := strings.Join(lines, "")
		if strings.Contains(all, ": ICMP") { // quotes a packet
			continue
		}
		if m := printedAsk.FindStringSubmatch(all); m != nil {
			out[n] = fmt.Sprintf("arp 1 %s %s", m[2], m[1])
		} else if m := printedAnswer.FindStringSubmatch(all); m != nil {
			out[n] = "arp 2 " + m[1]
		}
		list := printedTCP.FindAllStringSubmatch(all, -1)
		if len(list) == 0 {
			continue
		}
		m := list[len(list)-1]
		flags := 0
		for i, c := range "FSRP." {
			if strings.ContainsRune(m[5], c) && m[5] != "none" {
				flags |= 1 << i
			}
		}
		out[n] = fmt.Sprintf("tcp %s:%s > %s:%s flags %02x", m[1], m[2], m[3], m[4], flags)
	}
	return out
}

func decodedFrame(p *flow.Packet) string {
	text := func(a netip.Addr) string { return a.String() }
	switch p.Kind {
	case flow.TCP:
		return fmt.Sprintf("tcp %s:%d > %s:%d flags %02x", text(p.Src), p.SrcPort, text(p.Dst), p.DstPort, p.Flags&0x1f)
	case flow.ARP:
		if p.ARPOpcode == 2 {
			return "arp 2 " + text(p.Src)
		}
		return fmt.Sprintf("arp %d %s %s", p.ARPOpcode, text(p.Src), text(p.Dst))
	}
	return "-"
}

// whyDifferent is the reason for a frame that is printed and decoded
// differently, "" when none is known.
func whyDifferent(link uint32, decoded string) string {
	if decoded == "-" && !pcap.Supported(link) {
		return "link type " + pcap.LinkTypeName(link) + " is not decoded, and reported so"
	}
	return ""
}

// TestAgreesWithTcpdump compares what tcpdump's own tests expect it to print of
// TCP and ARP with what is decoded from their captures.
func TestAgreesWithTcpdump(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(tcpdumpTests, "PAIRS.tsv"))
	if err != nil {
		t.Skip("tcpdump's test captures are not beside this repository")
	}
	total, unknown := 0, 0
	reasons := map[string]int{}
	for i, row := range strings.Split(strings.TrimSpace(string(table)), "\n") {
		col := strings.Split(row, "\t")
		if i == 0 || len(col) < 3 || strings.Contains(col[2], "--skip") || strings.Contains(col[2], "-- ") {
			continue // with a filter or --skip the numbers are not those of the frames
		}
		text, err := os.ReadFile(filepath.Join(tcpdumpTests, col[1]))
		require.NoError(t, err)
		printed := printedFrames(string(text))
		if len(printed) == 0 {
			continue
		}
		data, err := os.ReadFile(filepath.Join(tcpdumpTests, col[0]))
		require.NoError(t, err)
		total += len(printed)
		_ = pcap.EachFrame(data, func(rec pcap.Record, p *flow.Packet) {
			want, ok := printed[rec.Frame]
			if !ok {
				return
			}
			delete(printed, rec.Frame)
			got := decodedFrame(p)
			if got == want {
				return
			}
			why := whyDifferent(rec.Link, got)
			if why == "" {
				unknown++
				t.Logf("%s frame %d: printed %q, decoded %q", col[1], rec.Frame, want, got)
				return
			}
			reasons[col[1]+": "+why]++
		})
		for n, want := range printed {
			unknown++
			t.Logf("%s frame %d: printed %q, not reached", col[1], n, want)
		}
	}
	left := unknown
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		t.Logf("%d frames of %s", reasons[why], why)
		left += reasons[why]
	}
	agree := float64(total-left) / float64(total)
	t.Logf("%d of %d printed TCP and ARP frames agree (%.1f %%); without a reason %d do not", total-left, total, 100*agree, unknown)
	assert.Greater(t, total, 1000)
	assert.GreaterOrEqual(t, agree, 0.99)
	assert.Zero(t, unknown, "frames that are printed otherwise than decoded, for no known reason")
}
