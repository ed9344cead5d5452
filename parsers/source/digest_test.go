package source

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDigest: what is computed without looking into an input is what a walk
// computes.
func TestDigest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"b/kubelet.log": "one\n", "a": "two\n", "odd\\name": "three\n", "x" + ReportSuffix + "/report.md": "own\n"} {
		p := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
	}
	require.NoError(t, os.Symlink("a", filepath.Join(dir, "link")))
	for _, input := range []string{dir, filepath.Join(dir, "a")} {
		res, err := Walk(t.Context(), []string{input}, Options{}, func(*File) error { return nil })
		require.NoError(t, err)
		sum, size, err := Digest(t.Context(), input)
		require.NoError(t, err)
		assert.Equal(t, res.Inputs[0].SHA256, sum)
		assert.Equal(t, res.Inputs[0].Bytes, size)
	}
	_, _, err := Digest(t.Context(), filepath.Join(dir, "nowhere"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = Digest(ended, dir)
	assert.ErrorIs(t, err, context.Canceled)
}
