package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shelf is a store in memory: names are "shelf:" and a path.
type shelf map[string]string

func (s shelf) Stat(_ context.Context, name string) (Object, error) {
	if data, ok := s[name]; ok {
		return Object{Name: name, Size: int64(len(data)), Version: data}, nil
	}
	for other := range s {
		if strings.HasPrefix(other, strings.TrimSuffix(name, "/")+"/") {
			return Object{Name: name, Directory: true}, nil
		}
	}
	return Object{}, fs.ErrNotExist
}

func (s shelf) List(_ context.Context, name string, visit func(string, Object) error) error {
	for _, other := range slices.Backward(slices.Sorted(maps.Keys(s))) { // in any order
		if rel, ok := strings.CutPrefix(other, strings.TrimSuffix(name, "/")+"/"); ok {
			if err := visit(rel, Object{Name: other, Size: int64(len(s[other])), Version: s[other]}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s shelf) Open(_ context.Context, o Object) (io.ReadCloser, error) {
	if s[o.Name] == "unreadable" {
		return nil, errors.New("access denied")
	}
	return io.NopCloser(strings.NewReader(s[o.Name])), nil
}

// TestStore: a directory of a store is walked as one of the file system, with
// the same digest.
func TestStore(t *testing.T) {
	files := map[string]string{"b-c.log": "hello\n", "b/c.log": "world\n", "a.txt": "x\n", "old.probe-forensics/report.json": "{}"}
	dir := filepath.Join(t.TempDir(), "case")
	s := shelf{}
	for name, data := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(data), 0o644))
		s["shelf:x/case/"+name] = data
	}
	look := func(input string) (paths []string, res Result) {
		opts := Options{Store: func(in string) Store {
			if strings.HasPrefix(in, "shelf:") {
				return s
			}
			return nil
		}}
		res, err := Walk(t.Context(), []string{input}, opts, func(f *File) error {
			data, err := io.ReadAll(f)
			paths = append(paths, f.Path+" "+string(data))
			return err
		})
		require.NoError(t, err)
		for i := range res.Inputs {
			res.Inputs[i].Modified = 0
		}
		return paths, res
	}
	wantPaths, want := look(dir)
	gotPaths, got := look("shelf:x/case/")
	assert.Equal(t, wantPaths, gotPaths)
	assert.Equal(t, want, got)
	assert.NotEmpty(t, got.Inputs[0].SHA256)

	one, res := look("shelf:x/case/a.txt")
	assert.Equal(t, []string{"a.txt x\n"}, one)
	assert.Empty(t, res.Problems)
	_, res = look("shelf:nowhere")
	assert.Equal(t, "unreadable", res.Problems[0].Code)

	// What cannot be opened is a problem, and the input has no digest then.
	s["shelf:x/case/z"] = "unreadable"
	_, res = look("shelf:x/case")
	require.Len(t, res.Problems, 1)
	assert.Equal(t, "access denied", res.Problems[0].Message)
	assert.Empty(t, res.Inputs[0].SHA256)
}

// TestVersionOf: the version of a directory changes with any of its files.
func TestVersionOf(t *testing.T) {
	s := shelf{"shelf:d/a": "1", "shelf:d/b": "2"}
	v, size, err := VersionOf(t.Context(), s, "shelf:d/")
	require.NoError(t, err)
	assert.EqualValues(t, 2, size)
	s["shelf:d/b"] = "3"
	changed, _, err := VersionOf(t.Context(), s, "shelf:d/")
	require.NoError(t, err)
	assert.NotEqual(t, v, changed)

	data, err := ReadAll(t.Context(), s, "shelf:d/a", 1)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(data, []byte("1")))
	_, err = ReadAll(t.Context(), s, "shelf:d/a", 0)
	assert.Error(t, err)
}
