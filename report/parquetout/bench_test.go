package parquetout

import (
	"io"
	"iter"
	"net/netip"
	"testing"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// nowhere drops what is written.
type nowhere struct{}

func (nowhere) Create(string) (io.WriteCloser, error) { return nowhere{}, nil }
func (nowhere) Write(b []byte) (int, error)           { return len(b), nil }
func (nowhere) Close() error                          { return nil }

// BenchmarkFlows writes rows of the widest table, 64 columns, sorted and packed.
func BenchmarkFlows(b *testing.B) {
	const rows = 50_000
	flows := func() iter.Seq2[*model.FlowRow, error] {
		return func(yield func(*model.FlowRow, error) bool) {
			for i := range rows {
				at := event.Nanos(1_772_431_200e9) + event.Nanos(i)*40e6
				port := uint16(32768 + i%28000)
				f := &event.Flow{Client: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 64, 0, 1}), port),
					Server: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 64, 0, byte(i % 250)}), 8080),
					State:  event.SF, History: "ShADadFf", App: "http", Method: "GET", Path: "/healthz", UserAgent: "kube-probe/1.34", Status: 200,
					SYN: event.Mark{At: at, Packet: int64(i)*10 + 1}, SYNACK: event.Mark{At: at + 40e3, Packet: int64(i)*10 + 2},
					First: event.Mark{At: at, Packet: int64(i)*10 + 1}, Last: event.Mark{At: at + 2e6, Packet: int64(i)*10 + 10}}
				if !yield(&model.FlowRow{Flow: f, Ref: event.Ref{Stream: 1, Packet: int64(i)*10 + 1}}, nil) {
					return
				}
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		res := &model.Result{SchemaVersion: model.SchemaVersion, Cluster: "c", BundleID: bundle, Tables: model.Tables{Flows: flows}}
		if err := Write(b.Context(), res, "run", nowhere{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
