package cli

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInterruptibleReadsEverything(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	for name, r := range map[string]io.Reader{
		"large reads": bytes.NewReader(want), "half reads": iotest.HalfReader(bytes.NewReader(want)),
		"data with the error": iotest.DataErrReader(bytes.NewReader(want)),
	} {
		got, err := io.ReadAll(newInterruptible(t.Context(), r))
		require.NoError(t, err, name)
		assert.True(t, bytes.Equal(want, got), name)
	}
	_, err := io.ReadAll(newInterruptible(t.Context(), iotest.ErrReader(io.ErrUnexpectedEOF)))
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestInterruptibleEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	silent, _ := io.Pipe()
	in := newInterruptible(ctx, silent)
	cancel()
	_, err := in.Read(make([]byte, 1))
	assert.ErrorIs(t, err, context.Canceled)
}

// TestInterrupt sends the signal while the tool waits for input: it must end at
// once, with its own exit code, and leave nothing behind.
func TestInterrupt(t *testing.T) {
	self, err := exec.LookPath(os.Args[0])
	require.NoError(t, err)
	dir := t.TempDir()
	link := filepath.Join(dir, programName) // the name under which the test binary is the tool
	require.NoError(t, os.Symlink(self, link))
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer write.Close()
	cmd := exec.Command(link, "analyze", "-", "-o", filepath.Join(dir, "report"), "--log-level", "debug")
	cmd.Dir, cmd.Stdin = dir, read
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = write.WriteString("Dec 02 05:50:55 node-a kubelet[81]: I1202 05:50:55.000001      81 server.go:1] \"Starting\"\n")
	require.NoError(t, err)
	messages := bufio.NewReader(pipe)
	first, err := messages.ReadString('\n') // by then the handler is in place
	require.NoError(t, err)
	require.Contains(t, first, "reading")
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	var stderr []byte
	done := make(chan error, 1)
	go func() {
		stderr, _ = io.ReadAll(messages)
		done <- cmd.Wait()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("did not end after the signal")
	}
	assert.Equal(t, ExitInterrupted, cmd.ProcessState.ExitCode(), string(stderr))
	assert.Contains(t, string(stderr), "interrupted")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, left, 1, "only the link itself")
}
