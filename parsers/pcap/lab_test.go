package pcap_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

const lab = "../../../shared/corpus/lab"

// collector is a sink that keeps everything.
type collector struct {
	events   []event.Event
	problems []event.Problem
}

func (c *collector) Emit(e event.Event)      { c.events = append(c.events, e) }
func (c *collector) Problem(p event.Problem) { c.problems = append(c.problems, p) }

func parseFile(t testing.TB, path string) (*event.StreamInfo, *collector) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return parseBytes(t, path, b)
}

func parseBytes(t testing.TB, path string, b []byte) (*event.StreamInfo, *collector) {
	t.Helper()
	info := &event.StreamInfo{ID: 1, Path: path}
	var c collector
	require.NoError(t, pcap.Parse(context.Background(), bytes.NewReader(b), info, &c))
	return info, &c
}

// truth is the part of a recording's truth.yaml that counts packets.
type truth struct {
	Packets struct {
		Filters map[string]string
		// Captures as tshark counted them when the recording was made. Requests leave
		// out announcements; unanswered are those without a reply in 0.9 s. Again and
		// Copies are SYNs with the number of an earlier one; where the recording does
		// not tell them apart, all are under Again.
		Captures []struct {
			File   string
			Frames int64
			TCP    []struct {
				IP     string
				Port   string
				SYN    int64 `yaml:"syn"`
				Again  int64 `yaml:"syn_retransmitted"`
				Copies int64 `yaml:"syn_same_packet_seen_again"`
				SYNACK int64 `yaml:"synack"`
				From   int64 `yaml:"rst_from_pod"`
				To     int64 `yaml:"rst_to_pod"`
			}
			ARP []struct {
				IP                            string
				Requests, Replies, Unanswered int64
			}
			ICMP []struct{ Count int64 } `yaml:"icmp_unreachable"`
		}
	}
}

// arpCount counts ARP frames about an address, copies included.
type arpCount struct{ Requests, Replies, Unanswered int64 }

// connection is the identity of one attempt.
type connection struct {
	client, server netip.AddrPort
	isn            uint32
}

// TestLabCounts compares the counters of every recorded capture with those that
// tshark counted when the recordings were made, and the connections with the
// distinct SYNs of the capture: one for each 4-tuple and initial sequence number.
func TestLabCounts(t *testing.T) {
	dirs, _ := filepath.Glob(lab + "/*/truth.yaml")
	if len(dirs) == 0 {
		t.Skip("the recordings are not beside this repository")
	}
	for _, name := range dirs {
		var tr truth
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(b, &tr))
		_, copiesApart := tr.Packets.Filters["syn_same_packet_seen_again"]
		for _, c := range tr.Packets.Captures {
			path := filepath.Join(filepath.Dir(name), c.File)
			data, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			t.Run(filepath.Base(filepath.Dir(name))+"/"+filepath.Base(path), func(t *testing.T) {
				info, got := parseBytes(t, path, data)
				assert.Empty(t, got.problems)
				assert.Equal(t, c.Frames, info.Counts["frames"])
				assert.Zero(t, info.Counts["undecoded"])

				attempts := distinctSYNs(t, data)
				conns := map[connection]int{}
				again := map[netip.AddrPort]int64{}
				arp := map[netip.Addr]arpCount{}
				for _, e := range got.events {
					switch p := e.Payload.(type) {
					case *event.Flow:
						if p.SYN.Seen() {
							conns[connection{p.Client, p.Server, p.ISN}]++
							again[p.Server] += int64(p.SYNs) - 1
						}
					case *event.ARP:
						countARP(arp, p)
					}
				}
				assert.Equal(t, attempts, conns, "connections and distinct SYNs")

				for _, want := range c.TCP {
					port, err := strconv.Atoi(want.Port)
					require.NoError(t, err)
					addr := netip.AddrPortFrom(netip.MustParseAddr(want.IP), uint16(port))
					have := event.TargetCount{Addr: addr}
					for _, x := range info.Capture.Targets {
						if x.Addr == addr {
							have = x
						}
					}
					assert.Equal(t, event.TargetCount{Addr: addr, SYN: want.SYN, SYNACK: want.SYNACK, RSTFrom: want.From, RSTTo: want.To},
						have, fmt.Sprint(addr))
					n := int64(0)
					for k := range conns {
						if k.server == addr {
							n++
						}
					}
					assert.Equal(t, want.SYN-want.Again-want.Copies, n, "connections to %v", addr)
					if copiesApart {
						assert.Equal(t, want.Again, again[addr], "SYNs sent again to %v", addr)
					}
				}
				for _, want := range c.ARP {
					assert.Equal(t, arpCount{want.Requests, want.Replies, want.Unanswered}, arp[netip.MustParseAddr(want.IP)], "ARP for %s", want.IP)
				}
				unreachable := int64(0)
				for _, x := range c.ICMP {
					unreachable += x.Count
				}
				assert.Equal(t, unreachable, info.Counts["icmp_unreachable"])
			})
		}
	}
}

// distinctSYNs are the 4-tuples and initial sequence numbers of a capture's SYNs.
func distinctSYNs(t *testing.T, data []byte) map[connection]int {
	t.Helper()
	out := map[connection]int{}
	require.NoError(t, pcap.EachFrame(data, func(_ pcap.Record, p *flow.Packet) {
		if p.Kind == flow.TCP && p.Flags&(flow.SYN|flow.ACK|flow.RST) == flow.SYN {
			out[connection{netip.AddrPortFrom(p.Src, p.SrcPort), netip.AddrPortFrom(p.Dst, p.DstPort), p.Seq}] = 1
		}
	}))
	return out
}

func countARP(to map[netip.Addr]arpCount, p *event.ARP) {
	n := int64(1 + p.Copies)
	switch {
	case p.V6:
	case p.Op == event.ARPRequest, p.Op == event.ARPProbe:
		c := to[p.TargetIP]
		c.Requests += n
		if !p.Answered {
			c.Unanswered += n
		}
		to[p.TargetIP] = c
	case p.Op == event.ARPReply:
		c := to[p.SenderIP]
		c.Replies += n
		to[p.SenderIP] = c
	}
}
