package report

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/internal/sample"
	"github.com/probe-forensics/probe-forensics/report/manifest"
)

// tree lists the files below a directory, none when it does not exist.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && p != root {
			rel, _ := filepath.Rel(root, p)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
	}
	return out
}

func TestFilesAppearTogether(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "out")
	d := NewDir(dir, nil)
	require.NoError(t, Render(t.Context(), sample.Result(), d, Options{}, "json", "parquet"))

	f, err := os.Open(filepath.Join(dir, manifest.FileName))
	require.NoError(t, err)
	defer f.Close()
	m, err := manifest.Read(f)
	require.NoError(t, err)
	assert.Equal(t, manifest.RunID(sample.Result(), nil), m.RunID)
	for _, file := range m.Files {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(file.Name)))
		require.NoError(t, err)
		assert.Equal(t, file.Bytes, info.Size())
		assert.Len(t, file.SHA256, 64)
	}
	assert.Equal(t, manifest.FileName, d.done[len(d.done)-1].Name, "the manifest comes last")
	for _, name := range tree(t, dir) {
		assert.NotContains(t, name, ".tmp")
	}
}

func TestOtherFilesStay(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "report.json"), []byte("old"), 0o644))
	require.NoError(t, Render(t.Context(), sample.Healthy(), NewDir(dir, nil), Options{}, "json"))
	assert.Equal(t, []string{"manifest.json", "notes.txt", "report.json"}, tree(t, dir))
	b, err := os.ReadFile(filepath.Join(dir, "report.json"))
	require.NoError(t, err)
	assert.Greater(t, len(b), 100)
}

func TestNothingStaysBehind(t *testing.T) {
	failing := sample.Result()
	broken := renderer{"broken", files("broken.txt"), func(_ context.Context, _ *model.Result, out Output, _ Options) error {
		w, err := out.Create("sub/broken.txt")
		if err != nil {
			return err
		}
		_, _ = w.Write([]byte("half"))
		return errors.New("disk is full")
	}}
	parent := t.TempDir()
	fresh, old := filepath.Join(parent, "fresh"), filepath.Join(parent, "old")
	require.NoError(t, os.MkdirAll(old, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(old, "report.json"), []byte("old"), 0o644))
	for _, dir := range []string{fresh, old} {
		jsonRenderer, err := Lookup("json")
		require.NoError(t, err)
		err = renderFiles(t.Context(), failing, NewDir(dir, nil), Options{}, []Renderer{jsonRenderer, broken})
		assert.ErrorContains(t, err, "broken: disk is full")
	}
	assert.NoDirExists(t, fresh)
	assert.Equal(t, []string{"report.json"}, tree(t, old))
	b, err := os.ReadFile(filepath.Join(old, "report.json"))
	require.NoError(t, err)
	assert.Equal(t, "old", string(b))
}

func TestCancelledRunsLeaveNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := filepath.Join(t.TempDir(), "out")
	assert.ErrorIs(t, Render(ctx, sample.Result(), NewDir(dir, nil), Options{}, "json"), context.Canceled)
	assert.NoDirExists(t, dir)
}

func TestNamesStayInside(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "tables")))
	d := NewDir(dir, nil)
	for _, name := range []string{"../x", "/x", "a/../../x", ".", "", "tables/events/x.parquet"} {
		_, err := d.Create(name)
		assert.Error(t, err, name)
	}
	require.NoError(t, d.Discard())
	assert.Empty(t, tree(t, outside))
}

func TestUnknownFormatsAreRefused(t *testing.T) {
	err := Render(t.Context(), sample.Result(), new(Memory), Options{}, "json", "pdf")
	assert.EqualError(t, err, `unknown format "pdf": want one of html, json, junit, md, parquet, sarif, term, timesketch`)
}

func TestSettingsChangeTheRun(t *testing.T) {
	res := sample.Result()
	a := manifest.RunID(res, nil)
	b := manifest.RunID(res, []manifest.Setting{{Key: "tz", Value: "Europe/Berlin"}, {Key: "since", Value: "1h"}})
	c := manifest.RunID(res, []manifest.Setting{{Key: "since", Value: "1h"}, {Key: "tz", Value: "Europe/Berlin"}})
	assert.NotEqual(t, a, b)
	assert.Equal(t, b, c, "their order does not")
}
