package parsers

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/fixtures"
)

// demoFolder unpacks the demo bundle and adds what makes shares differ from a
// whole: archives, unknown files beyond the bound, links, damage.
func demoFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "case")
	bundle, err := os.ReadFile("../fixtures/demo/bundle.tar.gz")
	require.NoError(t, err)
	_, err = fixtures.Unpack(bytes.NewReader(bundle), dir, nil)
	require.NoError(t, err)
	put := func(name string, data []byte) {
		p := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, data, 0o644))
	}
	put("nested/bundle.tar.gz", bundle)
	put("nested/cut.tar.gz", bundle[:len(bundle)/2])
	for i := range maxUnknown + 40 {
		put(fmt.Sprintf("odd%d/kubelet-%d.log", i%7, i), fmt.Appendf(nil, "nothing known %d\n", i))
		put(fmt.Sprintf("odd%d-/kubelet-%d.log", i%7, i), fmt.Appendf(nil, "nothing known %d\n", i))
	}
	require.NoError(t, os.Symlink("nested", filepath.Join(dir, "link")))
	return dir
}

func eventsOf(t *testing.T, c *Case) []byte {
	t.Helper()
	defer c.Close()
	var b bytes.Buffer
	require.NoError(t, c.WriteEvents(&b))
	return b.Bytes()
}

// TestShares: the shares of a case give the same case as its inputs at once, to
// the last byte, however its files are dealt out.
func TestShares(t *testing.T) {
	dir := demoFolder(t)
	single := filepath.Join(t.TempDir(), "single.log")
	require.NoError(t, os.WriteFile(single, []byte("nothing known\n"), 0o644))
	inputs := []string{dir, single}
	whole, err := Open(t.Context(), inputs, Options{})
	require.NoError(t, err)
	want := eventsOf(t, whole)

	for _, n := range []int{1, 3} {
		out := t.TempDir()
		var paths []string
		for i := range n {
			p := filepath.Join(out, fmt.Sprint(i))
			f, err := os.Create(p)
			require.NoError(t, err)
			take := func(name string) bool { // any assignment will do
				sum := 0
				for _, c := range []byte(name) {
					sum += int(c)
				}
				return sum%n == i
			}
			_, err = WriteShare(t.Context(), f, inputs, Share{Index: i, Count: n, Take: take}, Options{})
			require.NoError(t, err)
			require.NoError(t, f.Close())
			paths = append([]string{p}, paths...)
		}
		c, err := OpenShares(t.Context(), paths, Options{})
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, eventsOf(t, c)), "%d shares", n)
		if n == 1 {
			continue
		}
		_, err = OpenShares(t.Context(), paths[1:], Options{})
		assert.ErrorContains(t, err, "share 2 of the case is missing")
		_, err = OpenShares(t.Context(), append(paths, paths[0]), Options{})
		assert.ErrorContains(t, err, "is there already")
		_, err = OpenEvents(t.Context(), paths, Options{})
		assert.ErrorContains(t, err, "of a case")
	}
	p := filepath.Join(t.TempDir(), "whole.events")
	require.NoError(t, os.WriteFile(p, want, 0o644))
	_, err = OpenShares(t.Context(), []string{p}, Options{})
	assert.ErrorContains(t, err, "not a share")
}
