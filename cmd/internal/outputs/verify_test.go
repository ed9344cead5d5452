package outputs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/fixtures"
)

func TestVerifyPassesOnEveryRecording(t *testing.T) {
	each(t, func(t *testing.T, bundle string, m made) {
		o := program("verify", m.dir, bundle)
		assert.Zero(t, o.code, o.stdout+o.stderr)
		assert.Contains(t, o.stdout, "inputs: 1 of 1 have the digest of the report\n")
	})
}

// unpacked is the demo bundle without its compression, where each byte of a
// member is a byte of the file.
type unpacked struct {
	tar     []byte
	members map[string]span // by base name
}

type span struct{ from, to int }

func unpack(t *testing.T) unpacked {
	t.Helper()
	f, err := os.Open(demo)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	u := unpacked{members: map[string]span{}}
	u.tar, err = io.ReadAll(z)
	require.NoError(t, err)
	r := bytes.NewReader(u.tar)
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return u
		}
		require.NoError(t, err)
		from := len(u.tar) - r.Len()
		u.members[filepath.Base(h.Name)] = span{from, from + int(h.Size)}
	}
}

// verifyChanged verifies a report against data with one bit of one byte changed.
func verifyChanged(t require.TestingT, report, path string, data []byte, at int) outcome {
	changed := bytes.Clone(data)
	changed[at] ^= 1
	require.NoError(t, os.WriteFile(path, changed, 0o600))
	return program("verify", report, path)
}

// TestVerifyFailsOnOneChangedByte changes single bytes in every layer of a
// bundle.
func TestVerifyFailsOnOneChangedByte(t *testing.T) {
	u := unpack(t)
	dir := t.TempDir()
	path, report := filepath.Join(dir, "bundle.tar"), filepath.Join(dir, "report")
	require.NoError(t, os.WriteFile(path, u.tar, 0o600))
	analyze(t, report, path)
	o := program("verify", report, path)
	require.Zero(t, o.code, o.stdout)

	places := map[string]int{"first byte of the archive": 0, "last byte of the archive": len(u.tar) - 1}
	for _, name := range []string{"kubelet_service.log", "node-bridge.pcap", "pods.yaml", "master-0-audit-2026-12-02T05-50-51.592.log.gz"} {
		m, ok := u.members[name]
		require.True(t, ok, name)
		places["first byte of "+name], places["middle of "+name], places["last byte of "+name] = m.from, (m.from+m.to)/2, m.to-1
		places["tar header of "+name] = m.from - 500
	}
	for what, at := range places {
		o := verifyChanged(t, report, path, u.tar, at)
		assert.Equal(t, 1, o.code, "%s: %s", what, o.stdout)
		assert.Contains(t, o.stdout, "inputs: 0 of 1 have the digest", what)
	}
	rapid.Check(t, func(rt *rapid.T) {
		at := rapid.IntRange(0, len(u.tar)-1).Draw(rt, "byte")
		if o := verifyChanged(rt, report, path, u.tar, at); o.code != 1 {
			rt.Fatalf("exit code %d: %s", o.code, o.stdout)
		}
	})
}

// TestVerifyNamesTheChangedRecord changes what evidence quotes: verify tells
// which record, not only that something differs.
func TestVerifyNamesTheChangedRecord(t *testing.T) {
	u := unpack(t)
	dir := t.TempDir()
	path, report := filepath.Join(dir, "bundle.tar"), filepath.Join(dir, "report")
	require.NoError(t, os.WriteFile(path, u.tar, 0o600))
	analyze(t, report, path)

	quoted := program("verify", report, path).stdout
	require.Regexp(t, `[1-9][0-9]* of [1-9][0-9]* quotes match`, quoted)
	pcap := u.members["node-bridge.pcap"]
	// The port of the first refused connection, 33594, in its SYN.
	at := bytes.Index(u.tar[pcap.from:pcap.to], []byte{33594 >> 8, 33594 & 0xff})
	require.Positive(t, at)
	o := verifyChanged(t, report, path, u.tar, pcap.from+at)
	assert.Equal(t, 1, o.code)
	assert.Contains(t, o.stdout, "node-a/node-bridge.pcap#89: holds")
	assert.Contains(t, o.stdout, "10.244.1.1.33338 > ")
}

// TestVerifyOfDirectoriesAndCompressedFiles changes bytes of files in a
// directory, and of a compressed stream.
func TestVerifyOfDirectoriesAndCompressedFiles(t *testing.T) {
	tree, report := filepath.Join(t.TempDir(), "bundle"), filepath.Join(t.TempDir(), "report")
	bundle, err := os.Open(demo)
	require.NoError(t, err)
	defer bundle.Close()
	files, err := fixtures.Unpack(bundle, tree, nil)
	require.NoError(t, err)
	analyze(t, report, tree)
	o := program("verify", report, tree)
	require.Zero(t, o.code, o.stdout)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		if len(data) == 0 || !strings.HasSuffix(name, "kubelet_service.log") && !strings.HasSuffix(name, ".pcap") && !strings.HasSuffix(name, "version") {
			continue
		}
		for _, at := range []int{0, len(data) / 2, len(data) - 1} {
			changed := bytes.Clone(data)
			changed[at] ^= 1
			require.NoError(t, os.WriteFile(name, changed, 0o600))
			o := program("verify", report, tree)
			assert.Equal(t, 1, o.code, "%s, byte %d: %s", name, at, o.stdout)
		}
		require.NoError(t, os.WriteFile(name, data, 0o600))
	}

	packed, err := os.ReadFile(demo)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "bundle.tar.gz")
	m := reportOf(t, demo)
	for _, at := range []int{20, len(packed) / 3, len(packed) / 2, len(packed) - 9, len(packed) - 2} {
		o := verifyChanged(t, m.dir, path, packed, at)
		assert.Equal(t, 1, o.code, "byte %d: %s", at, o.stdout)
	}
}
