package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/internal/sample"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares bytes with a file under testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update to create it")
	if bytes.Equal(want, got) {
		return
	}
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			assert.Fail(t, "differs from its golden file", "%s:%d (make generate rewrites it)\nwant %.400s\ngot  %.400s", path, i+1, w[i], g[i])
			return
		}
	}
	assert.Fail(t, "differs from its golden file", "%s has %d lines, now %d (make generate rewrites it)", path, len(w), len(g))
}

// render renders formats into memory.
func render(t *testing.T, res *model.Result, o Options, formats ...string) *Memory {
	t.Helper()
	m := new(Memory)
	require.NoError(t, Render(t.Context(), res, m, o, formats...))
	return m
}

func TestGoldenFiles(t *testing.T) {
	for name, res := range map[string]*model.Result{"incidents": sample.Result(), "healthy": sample.Healthy(), "empty": sample.Empty()} {
		t.Run(name, func(t *testing.T) {
			m := render(t, res, Options{}, "json", "md", "html", "sarif", "junit", "timesketch")
			for _, f := range m.Written() {
				golden(t, name+"/"+f.Name, m.File(f.Name))
			}
		})
	}
}

func TestEqualResultsGiveEqualBytes(t *testing.T) {
	a := render(t, sample.Result(), Options{}, Formats()...)
	b := render(t, sample.Result(), Options{}, Formats()...)
	require.Equal(t, a.Written(), b.Written())
	assert.Equal(t, a.Printed(), b.Printed())
	assert.Greater(t, len(a.Written()), 10)
}
