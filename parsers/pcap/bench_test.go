package pcap_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/fixtures/gen/workload"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

type nothing struct{}

func (nothing) Emit(event.Event)      {}
func (nothing) Problem(event.Problem) {}

// BenchmarkParse reads probes among ten times as much other traffic. Allocations
// are those of connections that end, none a packet.
func BenchmarkParse(b *testing.B) {
	for _, format := range []string{"pcap", "pcapng"} {
		b.Run(format, func(b *testing.B) {
			const frames = 200_000
			var file bytes.Buffer
			c := workload.NewCluster(workload.Config{Seed: 1, Pods: 250})
			_, err := c.WritePackets(&file, workload.Capture{Frames: frames, Bulk: 10, Format: format})
			require.NoError(b, err)
			b.SetBytes(int64(file.Len()))
			b.ReportAllocs()
			for b.Loop() {
				info := &event.StreamInfo{ID: 1}
				if err := pcap.Parse(context.Background(), bytes.NewReader(file.Bytes()), info, nothing{}); err != nil || info.Records != frames {
					b.Fatal(err, info.Records)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/frames, "ns/packet")
		})
	}
}
