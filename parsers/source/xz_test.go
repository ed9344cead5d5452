package source

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
)

func xzOf(t testing.TB, cfg xz.WriterConfig, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := cfg.NewWriter(&b)
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func unxz(data []byte) ([]byte, error) {
	r, err := newXZ(bufio.NewReader(bytes.NewReader(data)))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func TestXZ(t *testing.T) {
	text := bytes.Repeat([]byte("a line of a log, and another one\n"), 20000)
	for name, cfg := range map[string]xz.WriterConfig{
		"crc32": {CheckSum: xz.CRC32}, "crc64": {CheckSum: xz.CRC64}, "sha256": {CheckSum: xz.SHA256},
		"none": {NoCheckSum: true}, "many blocks": {BlockSize: 100_000},
	} {
		t.Run(name, func(t *testing.T) {
			packed := xzOf(t, cfg, text)
			got, err := unxz(packed)
			require.NoError(t, err)
			assert.Equal(t, text, got)

			padded := append(append(bytes.Clone(packed), 0, 0, 0, 0, 0, 0, 0, 0), packed...)
			got, err = unxz(padded)
			require.NoError(t, err)
			assert.Len(t, got, 2*len(text))

			for cut := 1; cut < len(packed); cut += 1 + len(packed)/16 {
				_, err = unxz(packed[:len(packed)-cut])
				require.ErrorIs(t, err, io.ErrUnexpectedEOF, "cut by %d", cut)
			}
			if !cfg.NoCheckSum {
				flipped := bytes.Clone(packed)
				flipped[len(flipped)/2] ^= 1
				_, err = unxz(flipped)
				require.Error(t, err)
			}
		})
	}
	empty, err := unxz(xzOf(t, xz.WriterConfig{}, nil))
	require.NoError(t, err)
	assert.Empty(t, empty)
}

// TestXZDictionary asks for a dictionary of 4 GiB in a block that is otherwise
// sound.
func TestXZDictionary(t *testing.T) {
	packed := xzOf(t, xz.WriterConfig{}, []byte("small"))
	header := packed[12 : 12+(int(packed[12])+1)*4]
	at := bytes.Index(header, []byte{0x21, 1})
	require.Positive(t, at)
	header[at+2] = 40
	binary.LittleEndian.PutUint32(header[len(header)-4:], crc32.ChecksumIEEE(header[:len(header)-4]))
	_, err := unxz(packed)
	require.ErrorContains(t, err, "a dictionary of 4294967295 bytes")
	assert.Equal(t, "limit", classify(err))
}

// TestXZOfTheReferenceImplementation covers what our writer does not produce:
// sizes in block headers, several threads.
func TestXZOfTheReferenceImplementation(t *testing.T) {
	tool, err := exec.LookPath("xz")
	if err != nil {
		t.Skip("no xz program to compare with")
	}
	text := bytes.Repeat([]byte("a line of a log, and another one\n"), 100000)
	p := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(p, text, 0o644))
	for _, args := range [][]string{{"-0"}, {"-9e"}, {"-T2", "--block-size=1MiB"}, {"-C", "none"}, {"-C", "sha256"}} {
		packed, err := exec.Command(tool, append(args, "-k", "-c", p)...).Output()
		require.NoError(t, err)
		got, err := unxz(packed)
		require.NoError(t, err, args)
		assert.True(t, bytes.Equal(text, got), args)
	}
	packed, err := exec.Command(tool, "--x86", "--lzma2", "-k", "-c", p).Output()
	require.NoError(t, err)
	_, err = unxz(packed)
	assert.ErrorContains(t, err, "filters other than LZMA2")
}

func FuzzXZ(f *testing.F) {
	f.Add(xzOf(f, xz.WriterConfig{}, []byte("seed")))
	f.Add(xzOf(f, xz.WriterConfig{BlockSize: 4096}, bytes.Repeat([]byte("seed"), 4096)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := newXZ(bufio.NewReader(bytes.NewReader(data))); err == nil {
			_, _ = io.CopyN(io.Discard, r, 16<<20)
		}
	})
}
