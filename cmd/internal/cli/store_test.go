package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/report/manifest"
)

// shelves is a store in memory, with faults.
type shelves struct {
	mu      sync.Mutex
	objects map[string]string
	order   []string       // of everything written and removed
	broken  string         // this object's connection breaks half-way
	replace string         // this object is another one after it was first seen
	refuse  map[string]int // how often what ends so may be written
}

func (s *shelves) Schemes() []string { return []string{"mem"} }

func (s *shelves) object(name string) source.Object {
	data := s.objects[name]
	return source.Object{Name: name, Size: int64(len(data)), Version: fmt.Sprintf("%d-%q", len(data), data[:min(len(data), 9)])}
}

func (s *shelves) Stat(_ context.Context, name string) (source.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[name]; ok {
		o := s.object(name)
		if name == s.replace {
			s.objects[name] = "new " + s.objects[name]
		}
		return o, nil
	}
	for other := range s.objects {
		if _, below := store.Within(name, other); below {
			return source.Object{Name: name, Directory: true}, nil
		}
	}
	return source.Object{}, &store.Error{URL: name, Doing: "asking", Err: fs.ErrNotExist}
}

func (s *shelves) List(_ context.Context, name string, visit func(string, source.Object) error) error {
	s.mu.Lock()
	names := slices.Sorted(maps.Keys(s.objects))
	s.mu.Unlock()
	for _, other := range names {
		if rel, ok := store.Within(name, other); ok {
			if err := visit(rel, s.object(other)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *shelves) Open(_ context.Context, o source.Object) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.object(o.Name).Version != o.Version {
		return nil, &store.Error{URL: o.Name, Doing: "reading", Err: errors.New("it was changed")}
	}
	data := s.objects[o.Name]
	if o.Name == s.broken {
		return io.NopCloser(io.MultiReader(strings.NewReader(data[:len(data)/2]), failing{o.Name})), nil
	}
	return io.NopCloser(strings.NewReader(data)), nil
}

type failing struct{ name string }

func (f failing) Read([]byte) (int, error) {
	return 0, &store.Error{URL: f.name, Doing: "reading at byte 7 of 9", Err: errors.New("connection reset"), Try: "again"}
}

func (s *shelves) Put(_ context.Context, name string, r io.Reader) error {
	data, err := io.ReadAll(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	for suffix, n := range s.refuse {
		if strings.HasSuffix(name, suffix) {
			if n == 0 {
				return &store.Error{URL: name, Doing: "writing", Err: errors.New("no space")}
			}
			s.refuse[suffix]--
		}
	}
	s.objects[name] = string(data)
	s.order = append(s.order, "put "+name)
	return err
}

func (s *shelves) Remove(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, name)
	s.order = append(s.order, "remove "+name)
	return nil
}

// on runs the command line with the store.
func (s *shelves) on(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	temp := t.TempDir()
	var out, errs bytes.Buffer
	code = Main(args, strings.NewReader(""), &out, &errs, func(key string) string {
		if key == "TMPDIR" {
			return temp
		}
		return ""
	}, s)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left, "left in the temporary directory")
	return code, out.String(), errs.String()
}

func shelvesWith(t *testing.T) *shelves {
	t.Helper()
	demo, err := os.ReadFile("../../../fixtures/demo/bundle.tar.gz")
	require.NoError(t, err)
	return &shelves{objects: map[string]string{"mem://b/in/one.tar.gz": string(demo), "mem://b/in/two.tar.gz": string(demo)}, refuse: map[string]int{}}
}

// TestUploads: the manifest is what comes last, and first goes the one of an
// earlier report; an upload that fails leaves no report.
func TestUploads(t *testing.T) {
	s := shelvesWith(t)
	analyze := []string{"analyze", "mem://b/in/one.tar.gz", "-f", "json,md", "-o", "mem://b/out"}
	code, _, stderr := s.on(t, analyze...)
	require.Equal(t, ExitDone, code, stderr)
	assert.Equal(t, "put mem://b/out/manifest.json", s.order[len(s.order)-1])
	first := maps.Clone(s.objects)

	s.order = nil
	code, _, stderr = s.on(t, analyze...)
	require.Equal(t, ExitDone, code, stderr)
	assert.Equal(t, "remove mem://b/out/manifest.json", s.order[0])
	assert.Equal(t, first, s.objects, "the same bytes again")

	s.refuse["report.md"] = 0
	code, _, stderr = s.on(t, analyze...)
	assert.Equal(t, ExitFailed, code)
	assert.Contains(t, stderr, "mem://b/out/report.md: writing: no space; without a new manifest.json nothing there is taken for a report")
	assert.NotContains(t, s.objects, "mem://b/out/manifest.json")
}

// TestStoreFailures: a connection that breaks and an object that changes are
// failures of their bundle, never a report about half of it.
func TestStoreFailures(t *testing.T) {
	s := shelvesWith(t)
	s.broken = "mem://b/in/one.tar.gz"
	code, _, stderr := s.on(t, "analyze", s.broken, "-f", "json", "-o", "mem://b/out")
	assert.Equal(t, ExitFailed, code)
	assert.Contains(t, stderr, "mem://b/in/one.tar.gz: reading at byte 7 of 9: connection reset\nprobe-forensics: try: again")
	assert.NotContains(t, s.objects, "mem://b/out/manifest.json")

	s.replace = "mem://b/in/two.tar.gz"
	code, stdout, _ := s.on(t, "analyze", "--each", "mem://b/in/", "-f", "term", "-o", "mem://b/fleet")
	assert.Equal(t, ExitFailed, code, "none could be analysed")
	assert.Contains(t, stdout, "connection reset")
	assert.Contains(t, stdout, "it was changed")
}

// TestSkipVersions: a bundle of a store is left out by its version, and analysed
// again when that changes.
func TestSkipVersions(t *testing.T) {
	s := shelvesWith(t)
	fleet := []string{"analyze", "--each", "mem://b/in/*.tar.gz", "--skip-existing", "-f", "json", "-o", "mem://b/fleet"}
	_, _, stderr := s.on(t, fleet...)
	assert.Contains(t, stderr, "2 of 2 bundles analysed\n")
	s.broken = "mem://b/in/one.tar.gz" // it is not opened again
	_, _, stderr = s.on(t, fleet...)
	assert.Contains(t, stderr, "0 of 2 bundles analysed, 2 left as they were\n")
	s.broken = ""
	s.objects["mem://b/in/one.tar.gz"] += "more"
	_, _, stderr = s.on(t, fleet...)
	assert.Contains(t, stderr, "1 of 2 bundles analysed, 1 left as they were\n")
	_, _, stderr = s.on(t, append(fleet, "--cluster", "other")...)
	assert.Contains(t, stderr, "2 of 2 bundles analysed\n")
}

// TestRunKey: everything that can change what is written is in the key.
func TestRunKey(t *testing.T) {
	key := func(change func(*caseJob), sum, hash string) string {
		j := &caseJob{formats: []string{"json"}, flavor: "github"}
		j.options.ToolVersion = "1"
		change(j)
		return j.runKey(sum, hash)
	}
	same := func(*caseJob) {}
	keys := map[string]bool{
		key(same, "a", "r"): true, key(same, "b", "r"): true, key(same, "a", "s"): true,
		key(func(j *caseJob) { j.formats = append(j.formats, "md") }, "a", "r"):                           true,
		key(func(j *caseJob) { j.flavor = "gitlab" }, "a", "r"):                                           true,
		key(func(j *caseJob) { j.redact = true }, "a", "r"):                                               true,
		key(func(j *caseJob) { j.options.ToolVersion = "2" }, "a", "r"):                                   true,
		key(func(j *caseJob) { j.settings = []manifest.Setting{{Key: "cluster", Value: "c"}} }, "a", "r"): true,
	}
	assert.Len(t, keys, 8)
	assert.Equal(t, key(same, "a", "r"), key(same, "a", "r"))
	assert.Empty(t, key(same, "", "r"), "without a digest nothing is known to be the same")
}

// TestFleetProgress: the line counts bundles and bytes.
func TestFleetProgress(t *testing.T) {
	f := &fleetRun{bundles: make([]string, 30), total: 40_000_000}
	f.done.Store(12)
	f.counter.Read.Store(10_000_000)
	assert.Equal(t, "analysed 12 of 30 bundles, 25% of 40.0 MB", f.progress())
	f.failed.Store(2)
	f.total = 0
	assert.Equal(t, "analysed 12 of 30 bundles, 2 failed, 10.0 MB", f.progress())
}
