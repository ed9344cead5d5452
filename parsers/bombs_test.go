package parsers

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	bin "encoding/binary"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// repeated is a text over and over, n bytes of it.
type repeated struct {
	text string
	n    int64
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), r.n)]
	for i := 0; i < len(p); {
		k := copy(p[i:], r.text[r.at:])
		i, r.at = i+k, (r.at+k)%len(r.text)
	}
	r.n -= int64(len(p))
	return len(p), nil
}

func times(n int64, text string) io.Reader { return &repeated{text: text, n: n * int64(len(text))} }

func sequence(parts ...any) io.Reader {
	var readers []io.Reader
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			readers = append(readers, strings.NewReader(p))
		case []byte:
			readers = append(readers, bytes.NewReader(p))
		case io.Reader:
			readers = append(readers, p)
		}
	}
	return io.MultiReader(readers...)
}

const (
	oneLine     = "Dec 02 05:50:55 node-a kubelet[81]: I1202 05:50:55.000000      81 server.go:1262] \"Started kubelet\"\n"
	longPattern = "abcdefghijklmnopqrstuvwxyz-0123456789 ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// claims is a capture whose record claims more bytes than a capture ever holds.
func claims(size uint32, ng bool) []byte {
	le := bin.LittleEndian
	if ng {
		b := []byte{0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
			0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 28, 0, 0, 0}
		b = append(b, 1, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0)
		return le.AppendUint32(append(b, 6, 0, 0, 0), size)
	}
	b := le.AppendUint32(nil, 0xa1b2c3d4)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0)
	for _, v := range []uint32{1764654600, 0, size, size} {
		b = le.AppendUint32(b, v)
	}
	return b
}

// circle is a binary journal of entry arrays that point to each other and an
// entry whose data lies at wild offsets, again and again.
func circle(n int) []byte {
	le := bin.LittleEndian
	b := make([]byte, 272)
	copy(b, "LPKSHHRH")
	le.PutUint64(b[88:], 272)
	object := func(kind byte, body ...uint64) {
		b = append(b, kind, 0, 0, 0, 0, 0, 0, 0)
		b = le.AppendUint64(b, uint64(16+8*len(body)))
		for _, v := range body {
			b = le.AppendUint64(b, v)
		}
	}
	for range n {
		at := uint64(len(b))
		object(6, at, at, at, at)                                                         // next and items: itself
		object(3, 1, 1796187780000000, 1, 0, 0, 0, at, 0, 1<<63, 0, ^uint64(0), 0, 3, 12) // items anywhere
	}
	le.PutUint64(b[136:], uint64(len(b)))
	return append(b, make([]byte, 64)...)
}

// TestBombs reads inputs that claim, nest or repeat beyond all reason: each run
// ends, says what it met, and needs little memory.
func TestBombs(t *testing.T) {
	header := func(name string, size int64) []byte {
		var b bytes.Buffer
		require.NoError(t, tar.NewWriter(&b).WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o644, Typeflag: tar.TypeReg, Format: tar.FormatGNU}))
		return b.Bytes()
	}
	object := "apiVersion: v1\nkind: List\nitems:\n- kind: Node\n  metadata:\n    name: n\n  x: "
	for _, c := range []struct {
		name, say string
		in        io.Reader
	}{
		{"a line of a gigabyte", "", sequence(oneLine, "Dec 02 05:50:56 node-a kubelet[81]: ", times(16<<20, longPattern), "\n", oneLine)},
		{"a gigabyte without a line", "nothing readable", times(1<<24, longPattern)},
		{"a journal entry without end", "entry-too-large", sequence("__REALTIME_TIMESTAMP=1796187780000000\n", times(64<<10, "MESSAGE="+strings.Repeat("x", 1015)+"\n"))},
		{"a printed journal entry without end", "", sequence("Wed 2026-12-02 05:50:55.000000 UTC [s=0;i=1;b=a;m=1;t=1;x=1]\n    _HOSTNAME=node-a\n    MESSAGE=a\n", times(1<<20, "            more\n"))},
		{"a scalar of 100 MB", "object-too-large", sequence(object, times(100<<14, longPattern), "\n- kind: Node\n  metadata:\n    name: last\n")},
		{"JSON of great depth", "bad-json", sequence(`{"kind":"List","apiVersion":"v1","items":[`, times(8<<20, "["))},
		{"YAML of great depth", "bad-yaml", sequence(object, times(4<<20, "["), "\n")},
		{"a packet that claims 4 GB", "is impossible", sequence(claims(0xffffffff, false), times(1<<16, longPattern))},
		{"a packet that claims 4 GB in pcapng", "truncated", sequence(claims(0xfffffff0, true), times(1<<20, longPattern))},
		{"journal arrays in circles", "", bytes.NewReader(circle(20_000))},
		{"a member that claims an exabyte", "truncated", sequence(header("a.log", 1<<60), oneLine)},
		{"more members than allowed", "more than 20000 members", times(40_000, string(header("d/e.log", 0)))},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			told := ""
			k, err := Open(ctx, []string{"-"}, Options{Stdin: c.in, Limits: source.Limits{Members: 20_000}})
			if err != nil {
				told = err.Error()
			} else {
				for _, p := range k.Problems() {
					told += p.String() + "\n"
				}
				require.NoError(t, k.Close())
			}
			runtime.ReadMemStats(&after)
			assert.Contains(t, told, c.say)
			assert.NotContains(t, told, "a bug to report")
			require.NoError(t, ctx.Err(), "it took too long")
			assert.Less(t, int64(after.HeapSys)-int64(before.HeapSys), int64(64<<20), "heap growth in bytes")
		})
	}
}

// TestLyingZip has members whose sizes, checksums and offsets in the archive's
// directory are not those of the data.
func TestLyingZip(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := range 3 {
		m, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("n%d.log", i), Method: zip.Deflate})
		require.NoError(t, err)
		_, err = io.WriteString(m, strings.Repeat(oneLine, 200))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	le := bin.LittleEndian
	for name, c := range map[string]struct {
		lie     func(entry []byte)
		records int64 // of 600
	}{
		"less than there is":    {func(e []byte) { le.PutUint32(e[24:], 100) }, 600},
		"more than there is":    {func(e []byte) { le.PutUint32(e[24:], 1<<31) }, 600},
		"packed beyond the end": {func(e []byte) { le.PutUint32(e[20:], 1<<31) }, 600},
		"packed too short":      {func(e []byte) { le.PutUint32(e[20:], 20) }, 400},
		"checksum":              {func(e []byte) { le.PutUint32(e[16:], 1) }, 600},
		"offset beyond the end": {func(e []byte) { le.PutUint32(e[42:], 1<<31) }, 400},
	} {
		t.Run(name, func(t *testing.T) {
			data := bytes.Clone(b.Bytes())
			c.lie(data[bytes.Index(data, []byte("PK\x01\x02")):])
			k := open(t, Options{Stdin: bytes.NewReader(data)}, "-")
			told, records := "", int64(0)
			for _, p := range k.Problems() {
				told += p.String() + "\n"
			}
			for _, s := range k.Infos() {
				records += s.Records
			}
			assert.GreaterOrEqual(t, records, c.records, told)
			if records < 600 || name == "checksum" {
				assert.NotEmpty(t, told, "the loss is not told")
			}
		})
	}
}
