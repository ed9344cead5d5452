package parsers

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// membersOf reads a bundle apart; journals are shortened to what holds entries.
func membersOf(t testing.TB, bundle string) []member {
	t.Helper()
	var out []member
	_, err := source.Walk(context.Background(), []string{bundle}, source.Options{}, func(f *source.File) error {
		data, err := io.ReadAll(f)
		_, name, _ := strings.Cut(f.Path, "!/")
		name, _, _ = strings.Cut(name, "!/")
		out = append(out, member{strings.TrimSuffix(name, ".gz"), strings.TrimRight(string(data), "\x00")})
		return err
	})
	require.NoError(t, err)
	return out
}

func tarFile(t testing.TB, path string, members []member) {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, m := range members {
		require.NoError(t, tw.WriteHeader(&tar.Header{Name: m.name, Size: int64(len(m.data)), Mode: 0o644, Typeflag: tar.TypeReg}))
		_, err := tw.Write([]byte(m.data))
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
}

// mutate damages one member: flipped bits, a cut, a repeated or a missing part.
func mutate(r *rand.Rand, data string) string {
	if data == "" {
		return "\x00"
	}
	b := []byte(data)
	i, j := r.IntN(len(b)), r.IntN(len(b))
	if i > j {
		i, j = j, i
	}
	switch r.IntN(4) {
	case 0:
		for range 1 + r.IntN(20) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
	case 1:
		b = b[:i]
	case 2:
		b = append(b[:j:j], b[i:]...)
	case 3:
		b = append(b[:i:i], b[j:]...)
	}
	return string(b)
}

// TestDamageStaysWhereItIs damages one member of a recording at a time. Every
// run ends without an error, no parser fails, and all other streams give the
// events they gave before.
func TestDamageStaysWhereItIs(t *testing.T) {
	bundles := labBundles(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "b.tar")
	perStream := func(c *Case) map[string][]event.Event {
		out := make(map[string][]event.Event)
		for e, err := range c.Events() {
			require.NoError(t, err)
			p := c.Infos()[e.Ref.Stream-1].Path
			e.Ref.Stream = 0
			out[p] = append(out[p], *e)
		}
		return out
	}
	for n, bundle := range []string{bundles[1], bundles[14%len(bundles)]} {
		members := membersOf(t, bundle)
		tarFile(t, path, members)
		want := perStream(open(t, Options{}, path))
		for seed := range uint64(10) {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			k := r.IntN(len(members))
			whole := members[k]
			members[k].data = mutate(r, whole.data)
			tarFile(t, path, members)
			c, err := Open(context.Background(), []string{path}, Options{})
			require.NoError(t, err, "seed %d", seed)
			for _, p := range c.Problems() {
				assert.NotContains(t, p.Message, "a bug to report", "seed %d: %s", seed, p)
			}
			got := perStream(c)
			require.NoError(t, c.Close())
			for _, m := range members {
				if p := "b.tar!/" + m.name; m.name != whole.name && len(want[p]) > 0 && want[p][0].Node == firstNode(got[p]) {
					require.Equal(t, len(want[p]), len(got[p]), "seed %d: %s after damage to %s", seed, p, whole.name)
					require.Equal(t, want[p], got[p], "seed %d: %s after damage to %s", seed, p, whole.name)
				}
			}
			members[k] = whole
		}
	}
}

// firstNode is the node of the first event: where the damaged stream was the one
// that named the node, the others cannot be placed.
func firstNode(events []event.Event) string {
	if len(events) == 0 {
		return ""
	}
	return events[0].Node
}

// TestCutArchives cuts a bundle anywhere and expects what came before.
func TestCutArchives(t *testing.T) {
	data, err := os.ReadFile(labBundles(t)[1])
	require.NoError(t, err)
	p := filepath.Join(t.TempDir(), "b.tar.gz")
	last := 0
	for _, part := range []int{10, 30, 50, 70, 95} {
		require.NoError(t, os.WriteFile(p, data[:len(data)*part/100], 0o600))
		c, err := Open(context.Background(), []string{p}, Options{})
		require.NoError(t, err)
		codes := ""
		for _, p := range c.Problems() {
			codes += p.Code + " "
		}
		assert.Contains(t, codes, "truncated", "%d%%", part)
		n := 0
		for _, err := range c.Events() {
			require.NoError(t, err)
			n++
		}
		assert.GreaterOrEqual(t, n, last)
		last = n
		require.NoError(t, c.Close())
	}
	assert.Positive(t, last)
}

func TestFullDiskIsAnError(t *testing.T) {
	p := tarGz(t, t.TempDir(), "b.tgz", member{"timestamp", stampFile})
	_, err := Open(context.Background(), []string{p}, Options{MemoryLimit: 1, TempDir: filepath.Join(t.TempDir(), "gone")})
	require.ErrorContains(t, err, "temporary file")
}

func TestCancelledOpenLeavesNothing(t *testing.T) {
	f := labBundles(t)[1]
	tmp := t.TempDir()
	for n := range 6 {
		ctx, cancel := context.WithCancel(context.Background())
		p := &source.Progress{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for p.Members.Load() < int64(n*3) && ctx.Err() == nil {
			}
			cancel()
		}()
		c, err := Open(ctx, []string{f}, Options{MemoryLimit: 1, TempDir: tmp, Progress: p})
		cancel()
		<-done
		if err == nil { // it was faster than the cancellation
			require.NoError(t, c.Close())
		} else {
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	assert.Empty(t, left)
}
