package source

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var stamp = time.Date(2026, 12, 2, 5, 0, 0, 0, time.UTC)

// pack compresses data with one of the supported compressors.
func pack(t testing.TB, how string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch how {
	case "gz":
		w = gzip.NewWriter(&b)
	case "xz":
		w, err = xz.NewWriter(&b)
	case "zst":
		w, err = zstd.NewWriter(&b)
	case "lz4":
		w = lz4.NewWriter(&b)
	default:
		t.Fatalf("no compressor for %s", how)
	}
	require.NoError(t, err)
	_, err = w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

type member struct {
	name string
	data []byte
	hdr  func(*tar.Header)
}

func tarOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	tw := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Size: int64(len(m.data)), Mode: 0o644, ModTime: stamp, Typeflag: tar.TypeReg}
		if m.hdr != nil {
			m.hdr(h)
		}
		require.NoError(t, tw.WriteHeader(h))
		_, err := tw.Write(m.data)
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	return b.Bytes()
}

func zipOf(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := zip.NewWriter(&b)
	for _, m := range members {
		w, err := zw.CreateHeader(&zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: stamp})
		require.NoError(t, err)
		_, err = w.Write(m.data)
		require.NoError(t, err)
	}
	require.NoError(t, zw.Close())
	return b.Bytes()
}

func write(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
	require.NoError(t, os.WriteFile(p, data, 0o644))
	return p
}

type visited struct{ path, data string }

// walkAll reads every file of the inputs.
func walkAll(t testing.TB, opts Options, inputs ...string) ([]visited, Result) {
	t.Helper()
	var out []visited
	res, err := Walk(context.Background(), inputs, opts, func(f *File) error {
		b, err := io.ReadAll(f)
		out = append(out, visited{f.Path, string(b)})
		return err
	})
	require.NoError(t, err)
	return out, res
}

func problemLines(ps []event.Problem) []string {
	var out []string
	for _, p := range ps {
		out = append(out, fmt.Sprintf("%s x%d", p.String(), p.Count))
	}
	return out
}

func TestContainersNestInEachOther(t *testing.T) {
	dir := t.TempDir()
	inner := tarOf(t, member{name: "./node-a/kubelet.log.gz", data: pack(t, "gz", []byte("one\ntwo\n"))}, member{name: "b.txt", data: []byte("bee")})
	for how, want := range map[string]string{"gz": "in.tar.gz", "xz": "in.tar.xz", "zst": "in.tar.zst", "lz4": "in.tar.lz4"} {
		t.Run(how, func(t *testing.T) {
			p := write(t, dir, "case.zip", zipOf(t, member{name: "deep/" + want, data: pack(t, how, inner)}, member{name: "top.txt", data: []byte("top")}))
			got, res := walkAll(t, Options{}, p)
			assert.Equal(t, []visited{
				{"case.zip!/deep/" + want + "!/node-a/kubelet.log.gz!/kubelet.log", "one\ntwo\n"},
				{"case.zip!/deep/" + want + "!/b.txt", "bee"},
				{"case.zip!/top.txt", "top"},
			}, got)
			assert.Empty(t, problemLines(res.Problems))
			data, err := os.ReadFile(p)
			require.NoError(t, err)
			sum := sha256.Sum256(data)
			assert.Equal(t, hex.EncodeToString(sum[:]), res.Inputs[0].SHA256)
			assert.EqualValues(t, len(data), res.Inputs[0].Bytes)
		})
	}
}

func TestBzip2IsKnownByContent(t *testing.T) {
	// printf 'hello probe\n' | bzip2, and another stream after it.
	data, err := hex.DecodeString("425a6839314159265359d29f0ab7000002d180001040001244d000200021a0c4d0832623582896274f177245385090d29f0ab7")
	require.NoError(t, err)
	got, res := walkAll(t, Options{}, write(t, t.TempDir(), "no-suffix", append(data, data...)))
	assert.Equal(t, []visited{{"no-suffix!/no-suffix", "hello probe\nhello probe\n"}}, got)
	assert.Empty(t, res.Problems)
	assert.Equal(t, kindPlain, sniff([]byte("BZh9 is how a text may begin")))
}

func TestDirectoryIsSortedAndHashedLikeSha256sum(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "case/b/2.log", []byte("two"))
	write(t, dir, "case/a.log", []byte("one"))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "case", "link")))
	got, res := walkAll(t, Options{}, filepath.Join(dir, "case"))
	assert.Equal(t, []visited{{"case/a.log", "one"}, {"case/b/2.log", "two"}}, got)
	one, two := sha256.Sum256([]byte("one")), sha256.Sum256([]byte("two"))
	list := sha256.Sum256(fmt.Appendf(nil, "%x  ./a.log\n%x  ./b/2.log\n", one, two))
	assert.Equal(t, hex.EncodeToString(list[:]), res.Inputs[0].SHA256)
	assert.EqualValues(t, 6, res.Inputs[0].Bytes)
	assert.Empty(t, res.Problems)
	assert.Equal(t, []Skipped{{Reason: whyLinks, Count: 1, Example: "case/link"}}, res.Skipped)
}

func TestStdinIsDetectedByContentToo(t *testing.T) {
	data := pack(t, "gz", tarOf(t, member{name: "a", data: []byte("x")}))
	got, res := walkAll(t, Options{Stdin: bytes.NewReader(data)}, "-")
	assert.Equal(t, []visited{{"stdin!/a", "x"}}, got)
	sum := sha256.Sum256(data)
	assert.Equal(t, hex.EncodeToString(sum[:]), res.Inputs[0].SHA256)
	got, _ = walkAll(t, Options{Stdin: bytes.NewReader(zipOf(t, member{name: "z", data: []byte("zz")}))}, "-")
	assert.Equal(t, []visited{{"stdin!/z", "zz"}}, got)
}

func TestTruncatedGzipKeepsWhatWasRead(t *testing.T) {
	body := strings.Repeat("a line of text that is long enough to need several blocks\n", 20000)
	noise := make([]byte, 200000)
	for i := range noise {
		noise[i] = byte(i * i >> 3 * 7)
	}
	whole := pack(t, "gz", tarOf(t, member{name: "first", data: []byte(body)}, member{name: "second", data: noise}))
	p := write(t, t.TempDir(), "cut.tar.gz", whole[:len(whole)-400])
	got, res := walkAll(t, Options{}, p)
	require.NotEmpty(t, got)
	assert.Equal(t, body, got[0].data)
	require.NotEmpty(t, res.Problems)
	assert.Equal(t, "truncated", res.Problems[0].Code)
	assert.Equal(t, "cut.tar.gz", res.Problems[0].Path)
	assert.NotZero(t, res.Problems[0].Ref.Offset)
	assert.NotEmpty(t, res.Inputs[0].SHA256, "a damaged archive still has a digest")
}

func TestHostileTarMembersAreLeftAlone(t *testing.T) {
	data := tarOf(t,
		member{name: "../../etc/cron.d/x", data: []byte("evil")},
		member{name: "/abs/ok.log", data: []byte("fine")},
		member{name: "dev", hdr: func(h *tar.Header) { h.Typeflag = tar.TypeChar }},
		member{name: "ln", hdr: func(h *tar.Header) { h.Typeflag, h.Linkname = tar.TypeSymlink, "/etc/passwd" }},
		member{name: "hl", hdr: func(h *tar.Header) { h.Typeflag, h.Linkname = tar.TypeLink, "abs/ok.log" }},
		member{name: "abs/ok.log", data: []byte("again")},
		member{name: "a\x1b[31mb\u202ec", data: []byte("t")},
	)
	got, res := walkAll(t, Options{}, write(t, t.TempDir(), "h.tar", data))
	assert.Equal(t, []visited{
		{"h.tar!/abs/ok.log", "fine"}, {"h.tar!/abs/ok.log (2)", "again"}, {`h.tar!/a\x1b[31mb\u202ec`, "t"},
	}, got)
	codes := map[string]int64{}
	for _, p := range res.Problems {
		codes[p.Code] += p.Count
	}
	assert.Equal(t, map[string]int64{"unsafe-name": 1, "special-file": 1, "duplicate-member": 1}, codes)
	assert.Equal(t, []Skipped{{Reason: whyLinks, Count: 2, Example: "h.tar!/ln"}}, res.Skipped)
}

func TestDamagedTarHeaderIsSkipped(t *testing.T) {
	data := tarOf(t, member{name: "a", data: []byte("A")}, member{name: "b", data: []byte("B")}, member{name: "c", data: []byte("C")})
	data[1024+3] ^= 0xff // header of b
	got, res := walkAll(t, Options{}, write(t, t.TempDir(), "d.tar", data))
	assert.Equal(t, []visited{{"d.tar!/a", "A"}, {"d.tar!/c", "C"}}, got)
	require.Len(t, res.Problems, 1)
	assert.Equal(t, "corrupt", res.Problems[0].Code)
}

func TestConcatenatedTars(t *testing.T) {
	data := append(tarOf(t, member{name: "a", data: []byte("A")}), tarOf(t, member{name: "b", data: []byte("B")})...)
	got, res := walkAll(t, Options{}, write(t, t.TempDir(), "d.tar", data))
	assert.Equal(t, []visited{{"d.tar!/a", "A"}, {"d.tar!/b", "B"}}, got)
	assert.Empty(t, problemLines(res.Problems))
}

func TestLimits(t *testing.T) {
	zeros := make([]byte, 4<<20)
	bomb := pack(t, "gz", zeros)
	nest := []byte("core")
	for range 6 {
		nest = pack(t, "gz", nest)
	}
	good := member{name: "z.log", data: []byte("after")}
	for _, c := range []struct {
		name, say string
		lim       Limits
		in        []byte
		after     bool // the rest of the archive is still read
	}{
		{"ratio", "more than 100 to 1", Limits{Ratio: 100, RatioFloor: 1 << 20}, tarOf(t, member{name: "bomb.gz", data: bomb}, good), true},
		{"member", "in one member", Limits{MemberBytes: 1 << 20}, tarOf(t, member{name: "bomb.gz", data: bomb}, good), true},
		{"total", "in all", Limits{TotalBytes: 1 << 20}, tarOf(t, member{name: "bomb.gz", data: bomb}, good), false},
		{"depth", "within each other", Limits{Depth: 4}, tarOf(t, member{name: "deep.gz", data: nest}, good), true},
		{"members", "more than 2 members", Limits{Members: 2}, tarOf(t, good, good, good), false},
		{"zip-members", "claims 3 members", Limits{Members: 2}, zipOf(t, good, good, good), false},
		{"zip-ratio", "more than 100 to 1", Limits{Ratio: 100, RatioFloor: 1 << 20}, zipOf(t, member{name: "bomb", data: zeros}, good), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, res := walkAll(t, Options{Limits: c.lim}, write(t, t.TempDir(), "b.bin", c.in))
			require.NotEmpty(t, res.Problems)
			assert.Contains(t, strings.Join(problemLines(res.Problems), "\n"), c.say)
			assert.Equal(t, "limit", res.Problems[0].Code)
			if c.after {
				require.NotEmpty(t, got)
				assert.Equal(t, "after", got[len(got)-1].data)
			}
			for _, v := range got {
				assert.LessOrEqual(t, len(v.data), 2<<20)
			}
		})
	}
}

func TestZipWithoutItsDirectory(t *testing.T) {
	big := make([]byte, 300_000)
	for i := range big {
		big[i] = byte(i * i >> 5)
	}
	var b bytes.Buffer
	zw := zip.NewWriter(&b)
	for _, m := range []struct {
		name   string
		raw    bool
		method uint16
	}{{"d/", false, zip.Store}, {"described", false, zip.Deflate}, {"sized", true, zip.Deflate}, {"../up", true, zip.Store}, {"stored", true, zip.Store}} {
		h := &zip.FileHeader{Name: m.name, Method: m.method, Modified: stamp}
		data := big
		if !m.raw {
			w, err := zw.CreateHeader(h)
			require.NoError(t, err)
			if m.name != "d/" {
				_, err = w.Write(big)
				require.NoError(t, err)
			}
			continue
		}
		packed := data
		if m.method == zip.Deflate {
			var f bytes.Buffer
			fw, err := flate.NewWriter(&f, 6)
			require.NoError(t, err)
			_, _ = fw.Write(data)
			require.NoError(t, fw.Close())
			packed = f.Bytes()
		}
		h.CRC32, h.UncompressedSize64, h.CompressedSize64 = crc32.ChecksumIEEE(data), uint64(len(data)), uint64(len(packed))
		w, err := zw.CreateRaw(h)
		require.NoError(t, err)
		_, err = w.Write(packed)
		require.NoError(t, err)
	}
	require.NoError(t, zw.Close())
	whole := b.Bytes()
	dir := t.TempDir()

	// Cut inside the directory: every member is there.
	got, res := walkAll(t, Options{}, write(t, dir, "cut.zip", whole[:len(whole)-60]))
	assert.Equal(t, []visited{{"cut.zip!/described", string(big)}, {"cut.zip!/sized", string(big)}, {"cut.zip!/stored", string(big)}}, got)
	require.Len(t, res.Problems, 2)
	assert.Contains(t, res.Problems[1].Message, "members are read one after the other")
	assert.Equal(t, "unsafe-name", res.Problems[0].Code)

	// Cut inside the last member: what there is of it is read.
	got, res = walkAll(t, Options{}, write(t, dir, "cut.zip", whole[:len(whole)-100_000]))
	require.Len(t, got, 3)
	assert.Less(t, len(got[2].data), len(big))
	assert.NotEmpty(t, got[2].data)
	assert.Contains(t, strings.Join(problemLines(res.Problems), "\n"), "cut.zip!/stored")

	// Too large for memory inside another archive.
	got, res = walkAll(t, Options{Limits: Limits{ZipMemory: 1000}}, write(t, dir, "o.tar", tarOf(t, member{name: "in.zip", data: whole}, member{name: "z", data: []byte("after")})))
	require.Len(t, got, 4)
	assert.Equal(t, visited{"o.tar!/in.zip!/stored", string(big)}, got[2])
	assert.Equal(t, visited{"o.tar!/z", "after"}, got[3])
	assert.Len(t, res.Problems, 1)
}

func TestUnreadableInputsAreProblems(t *testing.T) {
	dir := t.TempDir()
	got, res := walkAll(t, Options{}, filepath.Join(dir, "nowhere.tgz"), write(t, dir, "a.7z", []byte("7z\xbc\xaf\x27\x1c rest")), write(t, dir, "e.gz", nil))
	assert.Equal(t, []visited{{"e.gz", ""}}, got)
	assert.Equal(t, []string{
		"nowhere.tgz@0: unreadable: no such file or directory x1",
		"a.7z@0: unsupported-container: 7z archives are not read: unpack it first x1",
	}, problemLines(res.Problems))
}

func TestEqualBaseNamesAreToldApart(t *testing.T) {
	assert.Equal(t, []string{"a/b.tgz", "c/b.tgz", "x.log", "stdin"}, displayNames([]string{"/case/a/b.tgz", "/case/c/b.tgz", "/case/x.log", "-"}))
	assert.Equal(t, []string{"b.tgz", "b.tgz (2)"}, displayNames([]string{"b.tgz", "b.tgz"}))
}

func TestDetachedFilesOutliveTheCallback(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		write(t, dir, fmt.Sprintf("c/%02d.log", i), bytes.Repeat([]byte{byte('a' + i)}, 300_000))
	}
	sums := make(chan string, 20)
	res, err := Walk(context.Background(), []string{filepath.Join(dir, "c")}, Options{}, func(f *File) error {
		require.True(t, f.Detach())
		go func() {
			defer f.Close()
			b, _ := io.ReadAll(f)
			sums <- fmt.Sprintf("%s %c %d", f.Path, b[0], len(b))
		}()
		return nil
	})
	require.NoError(t, err)
	close(sums)
	assert.Len(t, sums, 20)
	_, again := walkAll(t, Options{}, filepath.Join(dir, "c"))
	assert.Equal(t, again.Inputs[0].SHA256, res.Inputs[0].SHA256)
	assert.NotEmpty(t, res.Inputs[0].SHA256)
}

func TestCancelEndsTheWalk(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	data := tarOf(t, member{name: "a", data: make([]byte, 8<<20)}, member{name: "b", data: []byte("x")})
	_, err := Walk(ctx, []string{write(t, t.TempDir(), "c.tar", data)}, Options{}, func(f *File) error {
		cancel()
		_, err := io.Copy(io.Discard, f)
		return err
	})
	assert.ErrorIs(t, err, context.Canceled)
}
