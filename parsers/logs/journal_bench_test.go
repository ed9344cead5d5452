package logs_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/fixtures/gen/workload"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/logs"
)

// BenchmarkJournal reads kubelet journals with one line in fifty about a probe.
// Allocations are those of lines that are kept, none a line that is dropped.
func BenchmarkJournal(b *testing.B) {
	for _, kind := range []string{"short", "json", "export"} {
		name := "journal-" + kind
		b.Run(name, func(b *testing.B) {
			var file bytes.Buffer
			c := workload.NewCluster(workload.Config{Seed: 1, Pods: 250})
			truth, err := c.WriteJournal(&file, workload.Journal{Bytes: 16 << 20, Noise: 49, Format: kind})
			require.NoError(b, err)
			f := format(b, name)
			b.SetBytes(int64(file.Len()))
			b.ReportAllocs()
			for b.Loop() {
				d := &discard{}
				in := &logs.Input{Path: "kubelet.log", R: bytes.NewReader(file.Bytes()), Info: &event.StreamInfo{ID: 1, Verbosity: -1}, Sink: d}
				if err := f.Parse(context.Background(), in); err != nil || in.Info.Counts["probe_failed"] != truth.Counts["probe_failed"] {
					b.Fatal(err, in.Info.Counts)
				}
			}
		})
	}
}
