//go:build linux

// Package faults runs the tool as a process and takes away what it stands on:
// the disk, its input, its life. Outputs must be whole or absent, exit codes
// right, and nothing may be left behind without a name that says what it is.
package faults

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/cmd/internal/cli"
)

// asTool makes the test binary be the tool.
const asTool = "PROBE_FORENSICS_FAULTS_AS_TOOL"

func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
	}
	os.Exit(m.Run())
}

func tool(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	stderr := &bytes.Buffer{}
	cmd.Stderr = stderr
	// Temporary files must be inside the test's own folder to be found.
	cmd.Env = append(os.Environ(), asTool+"=1", "TMPDIR="+t.TempDir())
	return cmd, stderr
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return cli.ExitDone
	}
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	return exit.ExitCode()
}

// bundle copies the demo bundle into a folder of its own.
func bundle(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../../fixtures/demo/bundle.tar.gz")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "bundle.tar.gz")
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

// whole fails unless a report holds every file that its manifest names, byte
// for byte, and nothing else.
func whole(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	require.NoError(t, err, "a report without its manifest")
	var m struct {
		Files []struct{ Name, SHA256 string }
	}
	require.NoError(t, json.Unmarshal(data, &m))
	require.NotEmpty(t, m.Files)
	named := map[string]bool{"manifest.json": true}
	for _, f := range m.Files {
		named[f.Name] = true
		content, err := os.ReadFile(filepath.Join(dir, f.Name))
		require.NoError(t, err)
		sum := sha256.Sum256(content)
		assert.Equal(t, f.SHA256, hex.EncodeToString(sum[:]), f.Name)
	}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			assert.True(t, named[filepath.ToSlash(rel)], "%s is in the report and not in its manifest", rel)
		}
		return err
	}))
}

// small mounts a file system of a size; the test is skipped where that is not
// allowed.
func small(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("probe-forensics-test", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("a file system of its own cannot be mounted: %v", err)
	}
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(dir, 0)) })
	return dir
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestDiskFull(t *testing.T) {
	in := bundle(t)
	// Full at the first file, in the middle, and at the last ones.
	for _, size := range []string{"4k", "64k", "160k", "260k"} {
		t.Run(size, func(t *testing.T) {
			disk := small(t, "size="+size)
			cmd, stderr := tool(t, "analyze", in, "-o", filepath.Join(disk, "out"))
			code := exitCode(t, cmd.Run())
			assert.Equal(t, cli.ExitFailed, code, stderr.String())
			assert.Contains(t, stderr.String(), "no space left on device")
			assert.Contains(t, stderr.String(), disk, "the place is not named")
			assert.Contains(t, stderr.String(), "try: free space there")
			assert.Empty(t, names(t, disk), "something was left behind")
		})
	}
}

func TestDiskReadOnly(t *testing.T) {
	in, disk := bundle(t), small(t, "size=64k")
	require.NoError(t, syscall.Mount("", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	cmd, stderr := tool(t, "analyze", in, "-o", filepath.Join(disk, "out"))
	assert.Equal(t, cli.ExitFailed, exitCode(t, cmd.Run()))
	assert.Contains(t, stderr.String(), "read-only file system")
	assert.Contains(t, stderr.String(), "try: choose a directory that can be written to")
	assert.Contains(t, stderr.String(), disk)
}

// A report that is there already survives a run that cannot replace it.
func TestDiskFullKeepsTheReportBefore(t *testing.T) {
	in, disk := bundle(t), small(t, "size=64k")
	out := filepath.Join(disk, "out")
	cmd, stderr := tool(t, "analyze", in, "-f", "sarif", "-o", out)
	require.NoError(t, cmd.Run(), stderr.String())
	before := names(t, out)
	cmd, _ = tool(t, "analyze", in, "-o", out)
	assert.Equal(t, cli.ExitFailed, exitCode(t, cmd.Run()))
	assert.Equal(t, before, names(t, out))
	assert.Equal(t, []string{"out"}, names(t, disk))
	whole(t, out)
}

// An input that vanishes after the run began is a problem of the report; the
// others are judged.
func TestInputVanishes(t *testing.T) {
	in := bundle(t)
	dir := t.TempDir()
	gone := filepath.Join(dir, "gone.log")
	require.NoError(t, os.WriteFile(gone, []byte("Dec 02 05:50:55 node-a kubelet[81]: started\n"), 0o644))
	out := filepath.Join(dir, "out")
	cmd, stderr := tool(t, "analyze", "-", in, gone, "--workers", "1", "-f", "json", "-o", out)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = stdin.Write([]byte("Dec 02 05:50:55 node-a kubelet[81]: started\n"))
	require.NoError(t, err)
	time.Sleep(50 * time.Millisecond) // the run has begun and waits for more
	require.NoError(t, os.Remove(gone))
	require.NoError(t, stdin.Close())
	assert.Equal(t, cli.ExitDone, exitCode(t, cmd.Wait()), stderr.String())
	assert.Contains(t, stderr.String(), "gone.log")
	whole(t, out)
}

// A pipe that breaks in the middle of an archive is a truncated archive.
func TestInputBreaksOff(t *testing.T) {
	data, err := os.ReadFile(bundle(t))
	require.NoError(t, err)
	out := filepath.Join(t.TempDir(), "out")
	cmd, stderr := tool(t, "analyze", "-", "-f", "json", "-o", out)
	cmd.Stdin = bytes.NewReader(data[:len(data)/2])
	assert.Equal(t, cli.ExitDone, exitCode(t, cmd.Run()), stderr.String())
	assert.Contains(t, stderr.String(), "truncated")
	whole(t, out)
}

// TestSignals ends runs at random moments. After SIGINT nothing is left but a
// whole report or none; SIGKILL may leave a temporary folder, named as such,
// and the next run replaces what it finds.
func TestSignals(t *testing.T) {
	in := bundle(t)
	// The longest of three whole runs bounds the moments.
	var longest time.Duration
	for range 3 {
		begin := time.Now()
		cmd, stderr := tool(t, "analyze", in, "-o", filepath.Join(t.TempDir(), "out"))
		require.NoError(t, cmd.Run(), stderr.String())
		longest = max(longest, time.Since(begin))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(signal.String(), func(t *testing.T) {
			dir := t.TempDir()
			out := filepath.Join(dir, "out")
			ended := map[int]int{}
			for range 8 {
				require.NoError(t, os.RemoveAll(out))
				cmd, stderr := tool(t, "analyze", in, "-o", out)
				require.NoError(t, cmd.Start())
				time.Sleep(time.Duration(r.Int64N(int64(longest))))
				_ = cmd.Process.Signal(signal) // it may have ended
				err := cmd.Wait()
				code := exitCode(t, err)
				ended[code]++
				var exit *exec.ExitError
				if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
					// Killed, or met before the handler was there.
				} else {
					assert.Contains(t, []int{cli.ExitDone, cli.ExitInterrupted}, code, stderr.String())
				}
				if _, err := os.Stat(out); err == nil {
					whole(t, out)
				} else {
					require.ErrorIs(t, err, fs.ErrNotExist)
					assert.NotEqual(t, cli.ExitDone, code, "done, and no report")
				}
				for _, name := range names(t, dir) {
					if name == "out" {
						continue
					}
					assert.Equal(t, syscall.SIGKILL, signal, "%s was left behind", name)
					assert.True(t, strings.HasPrefix(name, ".out."), "%s does not say whose it is", name)
				}
			}
			t.Logf("exit codes: %v", ended)
			cmd, stderr := tool(t, "analyze", in, "-o", out)
			require.NoError(t, cmd.Run(), stderr.String())
			whole(t, out)
		})
	}
}
