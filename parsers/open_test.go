package parsers

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

const lab = "../../shared/corpus/lab"

func labBundles(t testing.TB) []string {
	t.Helper()
	files, _ := filepath.Glob(lab + "/*/bundle.tar.gz")
	if len(files) == 0 {
		t.Skip("no recordings beside the repository: " + lab)
	}
	return files
}

func open(t testing.TB, opts Options, inputs ...string) *Case {
	t.Helper()
	c, err := Open(context.Background(), inputs, opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

// dump renders everything a case holds.
func dump(t testing.TB, c *Case) string {
	t.Helper()
	var b strings.Builder
	for _, i := range c.Infos() {
		row := *i
		row.Capture = nil // a pointer would print as one
		fmt.Fprintf(&b, "stream %+v\n", row)
		if i.Capture != nil {
			fmt.Fprintf(&b, "  capture %+v\n", *i.Capture)
		}
	}
	for _, p := range c.Problems() {
		fmt.Fprintf(&b, "problem %+v\n", p)
	}
	for _, g := range c.Ignored() {
		fmt.Fprintf(&b, "ignored %+v\n", g)
	}
	for e, err := range c.Events() {
		require.NoError(t, err)
		fmt.Fprintf(&b, "%+v %q %d %+v %+v\n", e.Time, e.Node, e.PID, e.Ref, reflect.ValueOf(e.Payload).Elem().Interface())
	}
	return b.String()
}

// same compares two dumps and shows the first line that differs, not all.
func same(t testing.TB, want, got string, what ...any) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		require.Equal(t, w[i], g[i], what...)
	}
	require.Len(t, g, len(w), what...)
}

type member struct{ name, data string }

func tarGz(t testing.TB, dir, name string, members ...member) string {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	tw := tar.NewWriter(zw)
	for _, m := range members {
		require.NoError(t, tw.WriteHeader(&tar.Header{Name: m.name, Size: int64(len(m.data)), Mode: 0o644, Typeflag: tar.TypeReg, ModTime: time.Unix(1796187486, 0)}))
		_, err := tw.Write([]byte(m.data))
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	require.NoError(t, zw.Close())
	p := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(p, b.Bytes(), 0o644))
	return p
}

const stampFile = "2026-12-02 05:00:00.806743 +0000 UTC m=+0.98\n2026-12-02 05:00:01.008737 +0000 UTC\n"

func TestBundleContextIsAnEvent(t *testing.T) {
	p := tarGz(t, t.TempDir(), "b.tar.gz", member{"mg/timestamp", stampFile}, member{"mg/version", "lab/must-gather\nv1.34.4\n"}, member{"mg/logo.png", "\x89PNG"})
	c := open(t, Options{}, p)
	var got []string
	for e, err := range c.Events() {
		require.NoError(t, err)
		n := e.Payload.(*event.Notice)
		got = append(got, fmt.Sprintf("%d:%d %s %d %s", e.Ref.Stream, e.Ref.Line, n.Code, n.Value, n.Message))
	}
	assert.Equal(t, []string{
		"1:1 collected-at 1796187600806743000 2026-12-02 05:00:00.806743 +0000 UTC m=+0.98",
		"1:2 collected-at 1796187601008737000 2026-12-02 05:00:01.008737 +0000 UTC",
		"2:1 bundle-version 0 lab/must-gather v1.34.4",
	}, got)
	assert.Equal(t, []Ignored{{Reason: "images", Files: 1, Bytes: 4, Example: "b.tar.gz!/mg/logo.png"}}, c.Ignored())
	assert.Len(t, c.Inputs()[0].SHA256, 64)
	assert.Equal(t, c.Inputs()[0].SHA256, c.Infos()[0].Hash)
}

func TestUnknownAndEmptyAreProblems(t *testing.T) {
	p := tarGz(t, t.TempDir(), "b.tar.gz", member{"timestamp", stampFile}, member{"notes.txt", "nothing that is known\n"},
		member{"node-a.pcap", ""}, member{"pods/x/current.log", ""}, member{"core", "\x00\x01\x02"})
	c := open(t, Options{}, p)
	var got []string
	for _, p := range c.Problems() {
		got = append(got, fmt.Sprintf("%d %s", p.Ref.Stream, p.Code))
	}
	assert.Equal(t, []string{"1 empty", "2 unknown-format"}, got)
	assert.Contains(t, c.Problems()[1].Message, `it begins with "nothing that is known\n"`)
	var why []string
	for _, g := range c.Ignored() {
		why = append(why, g.Reason)
	}
	assert.Equal(t, []string{"binary data", "empty files"}, why)
}

func TestNothingReadableGivesEveryReason(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty.gz"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "poem.txt"), []byte("roses are red\n"), 0o644))
	_, err := Open(context.Background(), []string{filepath.Join(dir, "empty.gz"), filepath.Join(dir, "poem.txt"), filepath.Join(dir, "gone")}, Options{})
	var un *UnreadableError
	require.ErrorAs(t, err, &un)
	text := err.Error()
	assert.Contains(t, text, "gone: unreadable: no such file or directory")
	assert.Contains(t, text, "empty.gz: empty: no bytes at all")
	assert.Contains(t, text, "poem.txt: unknown-format: none of ")
}

func TestNeitherWorkersNorMemoryShow(t *testing.T) {
	for _, f := range labBundles(t)[:3] {
		want := dump(t, open(t, Options{Workers: 1}, f))
		for _, o := range []Options{{Workers: 2}, {Workers: 8}, {Workers: 3, MemoryLimit: 1}} {
			same(t, want, dump(t, open(t, o, f)), "%s %+v", f, o)
		}
	}
}

// TestMemberOrderDoesNotShow packs a recording again with its members in other
// orders, and in other containers.
func TestMemberOrderDoesNotShow(t *testing.T) {
	f := labBundles(t)[2]
	var members []member
	_, err := source.Walk(context.Background(), []string{f}, source.Options{}, func(f *source.File) error {
		data, err := io.ReadAll(f)
		if !strings.HasSuffix(f.Path, ".journal") { // large, and read by the tests of its format
			_, name, _ := strings.Cut(f.Path, "!/")
			name, _, _ = strings.Cut(name, "!/")
			members = append(members, member{strings.TrimSuffix(name, ".gz"), string(data)})
		}
		return err
	})
	require.NoError(t, err)
	hash := regexp.MustCompile(`Hash:[0-9a-f]*`)
	plain := func(c *Case) string { return hash.ReplaceAllString(dump(t, c), "") }
	dir := t.TempDir()
	want := plain(open(t, Options{Workers: 1}, tarGz(t, dir, "b.tar.gz", members...)))
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		same(t, want, plain(open(t, Options{Workers: 1 + int(seed)*2}, tarGz(t, dir, "b.tar.gz", members...))))
	}
}

func TestDirectoryOfFilesIsReadByManyWorkers(t *testing.T) {
	captures, _ := filepath.Glob(lab + "/*/raw/*.pcap")
	if len(captures) == 0 {
		t.Skip("no recordings beside the repository: " + lab)
	}
	dir := t.TempDir()
	for i, f := range captures[:6] {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.pcap", i)), data, 0o644))
	}
	want := dump(t, open(t, Options{Workers: 1}, dir))
	same(t, want, dump(t, open(t, Options{Workers: 4}, dir)))
}

// TestStreamsAreBounded reads an archive of more logs than a case may hold: the
// first ones are read, and what is left out is a problem and counted.
func TestStreamsAreBounded(t *testing.T) {
	var members []member
	for i := range 9 {
		members = append(members, member{fmt.Sprintf("logs/%d.log", i), "Dec 02 05:50:55 node-a kubelet[81]: I1202 05:50:55.000001      81 server.go:1] \"Starting\"\n"})
	}
	c := open(t, Options{maxStreams: 4}, tarGz(t, t.TempDir(), "b.tar.gz", members...))
	require.Len(t, c.Infos(), 5)
	for _, s := range c.Infos()[:4] {
		assert.Equal(t, "journal-short", s.Format)
	}
	require.Len(t, c.Problems(), 1)
	assert.Equal(t, "limit", c.Problems()[0].Code)
	assert.Contains(t, c.Problems()[0].Path, "logs/4.log")
	require.Len(t, c.Ignored(), 1)
	assert.Equal(t, int64(4), c.Ignored()[0].Files)
}

func TestNodesComeFromPaths(t *testing.T) {
	names := nodeNames(map[string]struct{}{"node-a": {}, "node-a-2": {}, "ip-10-0-1-7.ec2.internal": {}, "w1.one": {}, "w1.two": {}})
	for path, want := range map[string]string{
		"b.tgz!/node-a/node-bridge.pcap":            "node-a",
		"oc-adm-node-logs-node-a.log":               "node-a",
		"x/node-a-2.pcap":                           "node-a-2",
		"x/node-a-2026-12-02_05_14_30/journald/k3s": "node-a",
		"x/node-ab.pcap":                            "",
		"x/ip-10-0-1-7_logs_kubelet":                "ip-10-0-1-7.ec2.internal",
		"w1/any.pcap":                               "",
		"node-a/captures/w1.two.pcap!/w1.two":       "w1.two",
	} {
		assert.Equal(t, want, nodeInPath(path, names), path)
	}
}

func TestHostsBearTheNamesOfTheirNodes(t *testing.T) {
	set := func(names ...string) map[string]struct{} {
		m := make(map[string]struct{})
		for _, n := range names {
			m[n] = struct{}{}
		}
		return m
	}
	known := set("ip-10-0-1-7", "ip-10-0-1-7.ec2.internal", "W1", "w1", "m0.example.com", "m0", "x", "x.one", "x.two")
	assert.Equal(t, map[string]string{"ip-10-0-1-7": "ip-10-0-1-7.ec2.internal", "W1": "w1", "m0.example.com": "m0"},
		hostNames(known, set("ip-10-0-1-7.ec2.internal", "w1", "m0", "x.one", "x.two")))
	assert.Equal(t, map[string]string{"a": "a.b"}, hostNames(set("a", "a.b", "c"), nil))
}
