package store

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/source"
)

func TestNames(t *testing.T) {
	for name, scheme := range map[string]string{
		"s3://bucket/a": "s3", "azblob://c": "azblob", "file:///x": "file",
		"a/b": "", "C://x": "", "://x": "", "a b://c": "", "must-gather.tar.gz": "",
	} {
		assert.Equal(t, scheme, Scheme(name), name)
		assert.Equal(t, scheme != "", IsURL(name), name)
	}
	assert.Equal(t, "s3://b/x/runs/a.json", Join("s3://b/x/", "runs/a.json"))
	assert.Equal(t, filepath.Join("x", "runs", "a.json"), Join("x", "runs/a.json"))
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		dir, name, rel string
		ok             bool
	}{
		{"s3://b/x", "s3://b/x/y/z", "y/z", true},
		{"s3://b/x/", "s3://b/x", ".", true},
		{"s3://b/x", "s3://b/xy", "", false},
		{"s3://b", "gs://b/x", "", false},
		{"a", "a/b/c", "b/c", true},
		{"a/b", "a", "", false},
		{"./a", "a", ".", true},
		{"a", "s3://a/b", "", false},
	} {
		rel, ok := Within(c.dir, c.name)
		assert.Equal(t, c.ok, ok, "%s in %s", c.name, c.dir)
		if c.ok {
			assert.Equal(t, c.rel, rel)
		}
	}
}

// TestLocal: the file system in the terms of a store.
func TestLocal(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a", "b.json")
	require.NoError(t, Local{}.Put(t.Context(), name, strings.NewReader("one")))
	require.NoError(t, Local{}.Put(t.Context(), name, strings.NewReader("two")))
	broken := io.MultiReader(strings.NewReader("half"), &brokenReader{})
	require.Error(t, Local{}.Put(t.Context(), name, broken))

	var all []string
	require.NoError(t, Local{}.List(t.Context(), dir, func(rel string, o source.Object) error {
		all = append(all, rel)
		assert.EqualValues(t, 3, o.Size)
		return nil
	}))
	assert.Equal(t, []string{"a/b.json"}, all, "what failed is not there")
	o, err := Local{}.Stat(t.Context(), name)
	require.NoError(t, err)
	r, err := Local{}.Open(t.Context(), o)
	require.NoError(t, err)
	defer r.Close()
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.Equal(t, "two", string(data))

	require.NoError(t, Local{}.Remove(t.Context(), name))
	require.NoError(t, Local{}.Remove(t.Context(), name))
	_, err = Local{}.Stat(t.Context(), name)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

type brokenReader struct{}

func (*brokenReader) Read([]byte) (int, error) { return 0, errors.New("broken") }
