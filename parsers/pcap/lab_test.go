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
		Captures []struct {
			File   string
			Frames int64
			TCP    []struct {
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
			ICMP []any `yaml:"icmp_unreachable"`
		}
	}
}

// TestLabCounts compares the counters of every recorded capture with those that
// tshark counted when the recordings were made.
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
		for _, c := range tr.Packets.Captures {
			path := filepath.Join(filepath.Dir(name), c.File)
			if _, err := os.Stat(path); err != nil {
				continue
			}
			t.Run(filepath.Base(filepath.Dir(name))+"/"+filepath.Base(path), func(t *testing.T) {
				info, got := parseFile(t, path)
				assert.Empty(t, got.problems)
				assert.Equal(t, c.Frames, info.Counts["frames"])
				assert.Zero(t, info.Counts["undecoded"])
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
				}
			})
		}
	}
}
