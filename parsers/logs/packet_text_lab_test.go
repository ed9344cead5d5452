package logs_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

const labDir = "../../../shared/corpus/lab"

// countedPackets is the part of a recording's truth.yaml that counts packets.
type countedPackets struct {
	Packets struct {
		Captures []struct {
			File string
			TCP  []struct {
				IP     string
				Port   string
				SYN    int64 `yaml:"syn"`
				SYNACK int64 `yaml:"synack"`
				From   int64 `yaml:"rst_from_pod"`
				To     int64 `yaml:"rst_to_pod"`
			}
			ARP []struct {
				IP                            string
				Requests, Replies, Unanswered int64
			}
		}
	}
}

func flowsOf(c *recorded) []*event.Flow {
	var out []*event.Flow
	for _, e := range c.events {
		if f, ok := e.Payload.(*event.Flow); ok {
			out = append(out, f)
		}
	}
	return out
}

func took(from, to event.Mark) time.Duration {
	if !from.Seen() || !to.Seen() {
		return -1
	}
	return to.At.Sub(from.At)
}

// shape is what of a connection every form of a text tells, times as durations
// from the SYN. Not in it: what only some forms carry (MACs, TTL, IP-ID), the
// names of interfaces (a capture has their indexes), payload beyond a first line.
func shape(f *event.Flow) string {
	return fmt.Sprintf("%s>%s %s %s isn=%d/%d syn=%d synack=%d bytes=%d/%d retrans=%d/%d copies=%d icmp=%d:%d/%d rst=%d/%v/%d win=%d mss=%d ts=%d rtt=%d req=%d %s%s %d",
		f.Client, f.Server, f.State, f.History, f.ISN, f.ServerISN, f.SYNs, f.SYNACKs, f.ClientBytes, f.ServerBytes,
		f.ClientRetrans, f.ServerRetrans, f.Copies, f.ICMPErrors, f.ICMP.Type, f.ICMP.Code, f.RSTSeq, f.RSTHasACK, f.RSTWindow,
		f.SYNACKWindow, f.MSS, f.ServerTSval, took(f.SYN, f.SYNACK), took(f.Request, f.Response), f.Method, f.Path, f.Status)
}

// TestPacketTextLab reads every printed capture of the recordings: its counters
// equal those of the capture it was printed from and those that were counted
// when the recording was made, and so do its connections.
func TestPacketTextLab(t *testing.T) {
	files, _ := filepath.Glob(labDir + "/*/raw/*.tcpdump*.txt")
	if len(files) == 0 {
		t.Skip("the recordings are not beside this repository")
	}
	type decoded struct {
		info *event.StreamInfo
		got  *recorded
	}
	captures := map[string]decoded{}
	for _, path := range files {
		base, form, _ := strings.Cut(filepath.Base(path), ".tcpdump")
		dir := filepath.Dir(path)
		t.Run(filepath.Base(filepath.Dir(dir))+"/"+filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			got := readLog(t, path, data)
			info := got.info
			require.Equal(t, "packet-text", info.Format)
			assert.Empty(t, got.problems)
			pc := filepath.Join(dir, base+".pcap")
			want, ok := captures[pc]
			if !ok {
				raw, err := os.ReadFile(pc)
				require.NoError(t, err)
				want = decoded{&event.StreamInfo{ID: 1, Path: pc}, &recorded{}}
				require.NoError(t, pcap.Parse(context.Background(), bytes.NewReader(raw), want.info, want.got))
				captures[pc] = want
			}
			// Without IP-ID a repetition within two milliseconds looks like a copy.
			noID := slices.Contains(info.Capture.Lacks, "ip-id")
			if !noID {
				assert.Equal(t, want.info.Counts["duplicate_frames"], info.Counts["duplicate_frames"])
			}
			for _, k := range []string{"frames", "tcp_syn", "tcp_synack", "tcp_rst", "tcp_syn_repeated", "tcp_syn_retransmitted",
				"arp_request", "arp_reply", "icmp_unreachable", "tcp_flows", "undecoded"} {
				assert.Equal(t, want.info.Counts[k], info.Counts[k], k)
			}
			assert.Equal(t, want.info.Capture.Targets, info.Capture.Targets)
			compareFlows(t, flowsOf(want.got), flowsOf(got), noID)
			truthCounts(t, filepath.Dir(dir), "raw/"+base+".pcap", got)
			assert.Equal(t, !strings.Contains(form, "-e"), slices.Contains(info.Capture.Lacks, "mac"))
			assert.Equal(t, !strings.Contains(form, "-v"), slices.Contains(info.Capture.Lacks, "ttl"))
			assert.Equal(t, !strings.Contains(form, "tttt"), slices.Contains(info.Capture.Lacks, "date"))
			assert.True(t, info.Capture.Text)
		})
	}
}

// compareFlows wants the same connections. What is inside payload is printed for
// HTTP on the ports that tcpdump takes for it only; there it must be equal.
func compareFlows(t *testing.T, want, got []*event.Flow, noID bool) {
	t.Helper()
	require.Len(t, got, len(want))
	var wants, gots []string
	for i, f := range want {
		g := *f
		if port := f.Server.Port(); got[i].Method == "" && got[i].Status == 0 && port != 80 && port != 8080 {
			g.Method, g.Path, g.Status = "", "", 0
		}
		if noID {
			g.Copies = got[i].Copies
		}
		wants = append(wants, shape(&g))
		gots = append(gots, shape(got[i]))
	}
	assert.Equal(t, wants, gots)
}

func truthCounts(t *testing.T, dir, file string, got *recorded) {
	t.Helper()
	var truth countedPackets
	b, err := os.ReadFile(filepath.Join(dir, "truth.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(b, &truth))
	for _, c := range truth.Packets.Captures {
		if c.File != file {
			continue
		}
		for _, w := range c.TCP {
			port, err := strconv.Atoi(w.Port)
			require.NoError(t, err)
			want := event.TargetCount{Addr: netip.AddrPortFrom(netip.MustParseAddr(w.IP), uint16(port)), SYN: w.SYN, SYNACK: w.SYNACK, RSTFrom: w.From, RSTTo: w.To}
			have := event.TargetCount{Addr: want.Addr}
			for _, x := range got.info.Capture.Targets {
				if x.Addr == want.Addr {
					have = x
				}
			}
			assert.Equal(t, want, have)
		}
		for _, w := range c.ARP {
			var requests, replies, unanswered int64
			for _, e := range got.events {
				p, ok := e.Payload.(*event.ARP)
				if !ok || p.V6 {
					continue
				}
				n := int64(1 + p.Copies)
				switch {
				case p.Op == event.ARPReply && p.SenderIP.String() == w.IP:
					replies += n
				case (p.Op == event.ARPRequest || p.Op == event.ARPProbe) && p.TargetIP.String() == w.IP:
					requests += n
					if !p.Answered {
						unanswered += n
					}
				}
			}
			assert.Equal(t, []int64{w.Requests, w.Replies, w.Unanswered}, []int64{requests, replies, unanswered}, "ARP for %s", w.IP)
		}
	}
}
