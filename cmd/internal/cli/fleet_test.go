package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/fixtures"
)

// archiveOf writes n small bundles, made of the cases of the rules, and a list
// of them. Two of them are broken.
func archiveOf(t *testing.T, n int) (dir, list string) {
	t.Helper()
	cases, err := fs.Glob(fixtures.FS, "rules/*/fires*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	dir = t.TempDir()
	var names strings.Builder
	for i := range n {
		name := fmt.Sprintf("bundle-%02d.tar.gz", i)
		fmt.Fprintln(&names, name)
		data := []byte("no archive\n")
		if i%15 != 7 {
			data = bundleOf(t, cases[i%len(cases)])
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	list = filepath.Join(dir, "list.txt")
	require.NoError(t, os.WriteFile(list, []byte(names.String()), 0o644))
	return dir, list
}

// bundleOf packs the inputs of a case.
func bundleOf(t *testing.T, name string) []byte {
	t.Helper()
	text, err := fs.ReadFile(fixtures.FS, name)
	require.NoError(t, err)
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for _, f := range txtar.Parse(text).Files {
		if strings.HasPrefix(f.Name, "want") {
			continue
		}
		head := &tar.Header{Name: "case/" + f.Name, Mode: 0o644, Size: int64(len(f.Data)), ModTime: time.Unix(1_772_000_000, 0)}
		require.NoError(t, tw.WriteHeader(head))
		_, err := tw.Write(f.Data)
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	require.NoError(t, zw.Close())
	return b.Bytes()
}

// treeOf returns the digests of all files below a directory.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(p string, de fs.DirEntry, err error) error {
		if err != nil || de.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		sum := sha256.Sum256(data)
		rel, _ := filepath.Rel(dir, p)
		out[rel] = hex.EncodeToString(sum[:])
		return err
	}))
	return out
}

// tool starts the command line as a process of its own in dir.
func tool(t *testing.T, dir string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(programName, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stderr = &bytes.Buffer{}
	return cmd
}

// TestShares runs three shares as processes of their own, one of them killed
// half-way and started again: their outputs together are those of one run.
func TestShares(t *testing.T) {
	dir, _ := archiveOf(t, 30)
	args := []string{"analyze", "--input-list", "list.txt", "-f", "json,md,parquet", "--workers", "1"}
	whole := tool(t, dir, nil, append(args, "-o", "whole")...)
	require.NoError(t, whole.Run(), "%s", whole.Stderr)

	share := func(i int, more ...string) *exec.Cmd {
		return tool(t, dir, []string{"JOB_COMPLETION_INDEX=" + strconv.Itoa(i)},
			append(append(args, "--shard", "auto", "--shard-count", "3", "--skip-existing", "-o", "shares"), more...)...)
	}
	killed := share(0)
	require.NoError(t, killed.Start())
	runs := filepath.Join(dir, "shares", "runs")
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if rows, err := os.ReadDir(runs); err == nil && len(rows) >= 2 {
			break
		}
	}
	require.NoError(t, killed.Process.Kill())
	require.Error(t, killed.Wait(), "the share was to be killed before its end")
	half, err := filepath.Glob(filepath.Join(runs, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, half)

	var others []*exec.Cmd
	for i := range 3 {
		cmd := share(i)
		require.NoError(t, cmd.Start())
		others = append(others, cmd)
	}
	for i, cmd := range others {
		require.NoError(t, cmd.Wait(), "share %d: %s", i, cmd.Stderr)
	}
	assert.Contains(t, fmt.Sprint(others[0].Stderr), "left as they were", "the restarted share began anew")

	want, got := treeOf(t, filepath.Join(dir, "whole")), treeOf(t, filepath.Join(dir, "shares"))
	for name := range got { // what a killed process was writing has a name of its own and is never read
		if strings.HasPrefix(filepath.Base(name), ".") {
			delete(got, name)
		}
	}
	assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	assert.Equal(t, want, got, "the union of the shares is not the single run, byte for byte")
	assert.Len(t, slices.DeleteFunc(slices.Collect(maps.Keys(want)), func(n string) bool { return filepath.Dir(n) != "runs" }), 30)
}

// TestShareOfName: every name is in exactly one share, whatever else there is.
func TestShareOfName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 20).Draw(t, "shares")
		name := rapid.StringN(1, 40, 80).Draw(t, "name")
		in := 0
		for i := range n {
			if (shard{i, n}).has(name) {
				in++
			}
		}
		assert.Equal(t, 1, in)
	})
	assert.Equal(t, (shard{0, 3}).has("a/b.tar.gz"), (shard{0, 3}).has("./a//b.tar.gz"))
}

// TestCaseName: safe, stable, different for different bundles.
func TestCaseName(t *testing.T) {
	assert.Equal(t, caseName("x/must-gather.tar.gz", true), caseName("./x//must-gather.tar.gz", true))
	assert.NotEqual(t, caseName("x/a", true), caseName("y/a", true))
	assert.Equal(t, "s3://bucket/a/b", bundleName("s3://bucket//a/./b"))
	rapid.Check(t, func(t *rapid.T) {
		name := caseName(rapid.String().Draw(t, "bundle"), true)
		assert.True(t, fs.ValidPath(name) && !strings.HasPrefix(name, ".") && !strings.Contains(name, "/"), name)
		assert.LessOrEqual(t, len(name), maxCaseName+9)
	})
}
