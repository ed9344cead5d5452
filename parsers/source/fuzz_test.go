package source

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tight limits keep a fuzzed bomb small.
var tight = Limits{Depth: 4, Members: 500, MemberBytes: 4 << 20, TotalBytes: 16 << 20, Ratio: 200, RatioFloor: 1 << 20, ZipMemory: 1 << 16}

// FuzzWalk feeds one input of any kind, as standard input and as a file, and
// expects an end, unique paths, and the same streams in both ways.
func FuzzWalk(f *testing.F) {
	inner := tarOf(f, member{name: "a/b.log", data: []byte("one\ntwo\n")}, member{name: "../x", data: []byte("up")}, member{name: "c", data: nil})
	f.Add(inner)
	for _, how := range []string{"gz", "xz", "zst", "lz4"} {
		f.Add(pack(f, how, inner))
	}
	f.Add(zipOf(f, member{name: "d/e.tgz", data: pack(f, "gz", inner)}, member{name: "f", data: bytes.Repeat([]byte("f"), 5000)}))
	f.Add([]byte("plain"))
	f.Fuzz(func(t *testing.T, data []byte) {
		visit := func(opts Options, in string) map[string]string {
			got := make(map[string]string)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			res, err := Walk(ctx, []string{in}, opts, func(f *File) error {
				b, err := io.ReadAll(f)
				assert.NotContains(t, got, f.Path)
				got[f.Path] = string(b)
				return err
			})
			require.NoError(t, err)
			assert.Len(t, res.Inputs[0].SHA256, 64)
			assert.EqualValues(t, len(data), res.Inputs[0].Bytes)
			return got
		}
		visit(Options{Stdin: bytes.NewReader(data), Limits: tight}, "-")
		visit(Options{Limits: tight}, write(t, t.TempDir(), "in", data))
	})
}

func BenchmarkWalkTarGz(b *testing.B) {
	line := []byte("Dec 02 04:58:07 node-a kubelet[917]: I1202 04:58:07.112233     917 prober.go:107] \"Probe succeeded\"\n")
	var members []member
	for range 20 {
		members = append(members, member{name: "kubelet.log", data: bytes.Repeat(line, 1<<20/len(line))})
	}
	data := pack(b, "gz", tarOf(b, members...))
	p := write(b, b.TempDir(), "b.tar.gz", data)
	b.SetBytes(20 << 20)
	b.ReportAllocs()
	buf := make([]byte, 256<<10)
	for b.Loop() {
		_, err := Walk(context.Background(), []string{p}, Options{}, func(f *File) error {
			_, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{f}, buf)
			return err
		})
		require.NoError(b, err)
	}
}
