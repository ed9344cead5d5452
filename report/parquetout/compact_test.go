package parquetout

import (
	"bytes"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/report/internal/sample"
)

type opened struct{ *bytes.Reader }

func (opened) Close() error { return nil }

func filesOf(m memory) []File {
	var out []File
	for name, f := range m {
		data := f.Bytes()
		out = append(out, File{Name: name, Size: int64(len(data)), Open: func() (ReadAtCloser, error) { return opened{bytes.NewReader(data)}, nil }})
	}
	return out
}

// compacted rewrites all files of several results.
func compacted(t *testing.T, partSize int64, ms ...memory) memory {
	t.Helper()
	var files []File
	for _, m := range ms {
		files = append(files, filesOf(m)...)
	}
	out := memory{}
	_, err := Compact(t.Context(), files, partSize, out)
	require.NoError(t, err)
	return out
}

// twoBundles are the tables of two results that differ in their bundle alone.
func twoBundles(t *testing.T) (a, b memory) {
	a = write(t, sample.Result())
	other := *sample.Result()
	other.BundleID = strings.Repeat("0f", 32)
	return a, write(t, &other)
}

func TestCompactKeepsRows(t *testing.T) {
	a, b := twoBundles(t)
	out := compacted(t, PartSize, a, b)
	for name := range a {
		dir, file := path.Split(name)
		assert.Contains(t, out, dir+"part-00000.parquet", file)
	}
	for name := range out {
		if tableOf(path.Dir(name)) != "incidents" {
			continue
		}
		dir := path.Dir(name) + "/"
		want := append(read[incidentRow](t, b, dir+strings.Repeat("0f", 8)+".parquet"), read[incidentRow](t, a, dir+bundle+".parquet")...)
		assert.Equal(t, want, read[incidentRow](t, out, name), "by bundle, every field as it was")
	}
}

// TestCompactAgain: neither the order of files nor how rows are spread over them
// shows.
func TestCompactAgain(t *testing.T) {
	a, b := twoBundles(t)
	out := compacted(t, PartSize, a, b)
	small := compacted(t, 1500, b, a)
	assert.Greater(t, len(small), len(out))
	for _, again := range []memory{compacted(t, PartSize, b, a), compacted(t, PartSize, out), compacted(t, PartSize, small)} {
		require.Len(t, again, len(out))
		for name, f := range out {
			assert.True(t, bytes.Equal(f.Bytes(), again[name].Bytes()), name)
		}
	}
}

func TestCompactRefusesDamage(t *testing.T) {
	a, _ := twoBundles(t)
	for _, f := range filesOf(a) {
		r, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(io.NewSectionReader(r, 0, f.Size))
		require.NoError(t, err)
		for _, n := range []int{0, 4, len(data) / 2, len(data) - 1} {
			cut := File{Name: f.Name, Size: int64(n), Open: func() (ReadAtCloser, error) { return opened{bytes.NewReader(data[:n])}, nil }}
			_, err := Compact(t.Context(), []File{cut}, PartSize, memory{})
			assert.ErrorContains(t, err, f.Name)
		}
		other := f
		other.Name = "tables/unheard-of/cluster=x/date=y/z.parquet"
		_, err = Compact(t.Context(), []File{other}, PartSize, memory{})
		assert.ErrorContains(t, err, "no table of this version")
	}
	assert.False(t, IsTableFile("tables/incidents/x.parquet"))
	assert.True(t, IsTableFile("tables/incidents/cluster=x/date=y/z.parquet"))
}
