package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/cmd/probe-forensics-cloud/objects"
	"github.com/probe-forensics/probe-forensics/fixtures/gen/workload"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// role says what a process of this test binary is: the program, a server of S3
// that keeps everything in memory, or the tests.
const role = "PROBE_FORENSICS_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "program":
		main()
	case "server":
		serve()
	default:
		os.Exit(m.Run())
	}
}

// serve serves S3 on a loopback address, prints it, and ends with its standard
// input.
func serve() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	backend := s3mem.New()
	err = errors.Join(err, backend.CreateBucket("archive"), backend.CreateBucket("out"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Fprintln(os.Stderr, http.Serve(l, gofakes3.New(backend).Server()))
	os.Exit(1)
}

// cloud is a server of S3 in a process of its own, and what its objects are.
type cloud struct {
	t       *testing.T
	address string
	objects *objects.Store
}

func startCloud(t *testing.T) *cloud {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	server := exec.Command(self)
	server.Env = append(os.Environ(), role+"=server")
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	require.NoError(t, err)
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = server.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": "http://" + strings.TrimSpace(address), "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}
	return &cloud{t: t, address: strings.TrimSpace(address), objects: objects.New(os.Getenv)}
}

func (c *cloud) put(name string, data []byte) {
	c.t.Helper()
	require.NoError(c.t, c.objects.Put(c.t.Context(), name, bytes.NewReader(data)))
}

// tree returns the objects below a prefix.
func (c *cloud) tree(prefix string) map[string]string {
	c.t.Helper()
	out := map[string]string{}
	files, _, err := source.ListInput(c.t.Context(), c.objects, prefix)
	require.NoError(c.t, err)
	for _, f := range files {
		r, err := c.objects.Open(c.t.Context(), f.Object)
		require.NoError(c.t, err)
		data, err := io.ReadAll(r)
		require.NoError(c.t, errors.Join(err, r.Close()))
		out[f.Rel] = string(data)
	}
	return out
}

// program is the command line as a process of its own.
func program(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(append(os.Environ(), role+"=program", "TMPDIR="+cmd.Dir), env...)
	cmd.Stdout, cmd.Stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return cmd
}

// run runs the program to its end and returns what it printed.
func run(t *testing.T, wantExit int, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := program(t, nil, args...)
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	assert.Equal(t, wantExit, cmd.ProcessState.ExitCode(), "%s", cmd.Stderr)
	left, err := os.ReadDir(cmd.Dir)
	require.NoError(t, err)
	for _, file := range left {
		assert.False(t, strings.HasPrefix(file.Name(), "probe-forensics-"), "%s was left in the temporary directory", file.Name())
	}
	return fmt.Sprint(cmd.Stdout), fmt.Sprint(cmd.Stderr)
}

// bundle is a small must-gather of a cluster of its own.
func bundle(t *testing.T, seed int, logBytes int64) []byte {
	t.Helper()
	c := workload.NewCluster(workload.Config{Seed: uint64(seed), Pods: 10, FaultEvery: 5})
	var b bytes.Buffer
	_, err := c.WriteGather(&b, workload.Gather{Events: 20, LogBytes: logBytes, LogNodes: 1, Audit: 5, Capture: 200, Compression: "gz"})
	require.NoError(t, err)
	return b.Bytes()
}

// archive puts n bundles, two of them broken, and a list of them.
func (c *cloud) archive(n int) {
	c.t.Helper()
	var list strings.Builder
	for i := range n {
		name := fmt.Sprintf("s3://archive/2026/bundle-%02d.tar.gz", i)
		fmt.Fprintln(&list, name)
		data := []byte("no archive\n")
		if i%15 != 7 {
			data = bundle(c.t, i, 10_000)
		}
		c.put(name, data)
	}
	c.put("s3://archive/list.txt", []byte(list.String()))
}

// TestSharesOverS3 runs three shares as processes of their own over a server in
// a fourth, one of them killed half-way and started again: their outputs
// together are those of one run.
func TestSharesOverS3(t *testing.T) {
	c := startCloud(t)
	c.archive(30)
	args := []string{"analyze", "--input-list", "s3://archive/list.txt", "-f", "json,md,parquet", "--workers", "1"}
	run(t, 0, append(args, "-o", "s3://out/whole")...)

	share := func(i int) *exec.Cmd {
		return program(t, []string{"JOB_COMPLETION_INDEX=" + strconv.Itoa(i)},
			append(args, "--shard", "auto", "--shard-count", "3", "--skip-existing", "-o", "s3://out/shares")...)
	}
	killed := share(0)
	require.NoError(t, killed.Start())
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if rows, _, err := source.ListInput(t.Context(), c.objects, "s3://out/shares/runs"); err == nil && len(rows) >= 2 {
			break
		}
	}
	require.NoError(t, killed.Process.Kill())
	require.Error(t, killed.Wait(), "the share was to be killed before its end")
	var shares []*exec.Cmd
	for i := range 3 {
		cmd := share(i)
		require.NoError(t, cmd.Start())
		shares = append(shares, cmd)
	}
	for i, cmd := range shares {
		require.NoError(t, cmd.Wait(), "share %d: %s", i, cmd.Stderr)
	}
	assert.Contains(t, fmt.Sprint(shares[0].Stderr), "left as they were", "the restarted share began anew")

	want, got := c.tree("s3://out/whole"), c.tree("s3://out/shares")
	assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
	assert.True(t, maps.Equal(want, got), "the union of the shares is not the single run, byte for byte")
	rows := 0
	for name, row := range want {
		if strings.HasPrefix(name, "runs/") {
			rows++
			assert.Contains(t, row, "s3://archive/2026/bundle-")
		}
	}
	assert.Equal(t, 30, rows)

	// Nothing is analysed twice, and nothing but the rows is read for it.
	_, told := run(t, 0, append(args, "-o", "s3://out/whole", "--skip-existing")...)
	assert.Contains(t, told, "0 of 30 bundles analysed, 28 left as they were, 2 failed")
	c.equalsLocal(want)
}

// equalsLocal runs the same on copies in the file system, and merge and compact
// on both.
func (c *cloud) equalsLocal(overS3 map[string]string) {
	t := c.t
	dir := t.TempDir()
	for name, data := range overS3 {
		path := filepath.Join(dir, "whole", filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(data), 0o644))
	}
	for name, data := range c.tree("s3://archive/2026/") {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644))
	}
	one := filepath.Join(dir, "one")
	run(t, 0, "analyze", "-f", "json,md,parquet", "-o", one, filepath.Join(dir, "bundle-00.tar.gz"))
	local, err := os.ReadFile(filepath.Join(one, "report.json"))
	require.NoError(t, err)
	found := 0
	for name, data := range overS3 {
		if strings.HasPrefix(name, "cases/bundle-00.tar.gz-") && strings.HasSuffix(name, "/report.json") {
			assert.Equal(t, string(local), data, "a report depends on where the bundle lies")
			found++
		}
	}
	assert.Equal(t, 1, found)

	run(t, 0, "merge", filepath.Join(dir, "whole"), "-o", filepath.Join(dir, "merged"))
	run(t, 0, "merge", "s3://out/whole", "-o", "s3://out/merged")
	run(t, 0, "compact", filepath.Join(dir, "whole"), "-o", filepath.Join(dir, "lake"))
	for range 2 { // the second time over the lake of the first
		run(t, 0, "compact", "s3://out/whole/", "s3://out/shares", "-o", "s3://out/lake")
	}
	for _, what := range []string{"merged", "lake"} {
		inCloud := c.tree("s3://out/" + what)
		require.NotEmpty(t, inCloud)
		for name, data := range inCloud {
			local, err := os.ReadFile(filepath.Join(dir, what, filepath.FromSlash(name)))
			require.NoError(t, err)
			assert.True(t, string(local) == data, "%s/%s", what, name)
		}
	}
}

// TestPrefixes: patterns and prefixes name many bundles with --each, one case
// without it; events of shares are read from a prefix.
func TestPrefixes(t *testing.T) {
	c := startCloud(t)
	c.put("s3://archive/a/one.tar.gz", bundle(t, 1, 30_000))
	c.put("s3://archive/a/b/two.tar.gz", bundle(t, 2, 30_000))
	c.put("s3://archive/a/notes.txt", []byte("no bundle\n"))
	stdout, _ := run(t, 0, "analyze", "--each", "s3://archive/a/*.tar.gz", "-f", "term,json", "-o", "s3://archive/a/fleet")
	assert.Equal(t, 1, strings.Count(stdout, "s3://archive/a/"), stdout)
	stdout, _ = run(t, 0, "analyze", "--each", "s3://archive/a/", "-f", "term", "-o", "s3://archive/a/fleet")
	assert.Equal(t, 3, strings.Count(stdout, "s3://archive/a/"), "what lies below the output is no bundle:\n%s", stdout)
	_, stderr := run(t, 1, "analyze", "--each", "s3://archive/x/*.tar.gz", "-o", "s3://out/x")
	assert.Contains(t, stderr, "s3://archive/x/*.tar.gz: there is no such object")

	run(t, 0, "analyze", "s3://archive/a/b/", "s3://archive/a/one.tar.gz", "-f", "json", "-o", "s3://out/case")
	for i := range 2 {
		run(t, 0, "extract", "s3://archive/a/b/", "s3://archive/a/one.tar.gz", "--shard", fmt.Sprintf("%d/2", i), "-o", fmt.Sprintf("s3://out/events/%d.events", i))
	}
	run(t, 0, "analyze", "--from-events", "s3://out/events/", "s3://archive/a/b/", "s3://archive/a/one.tar.gz", "-f", "json", "-o", "s3://out/again")
	assert.Equal(t, c.tree("s3://out/case"), c.tree("s3://out/again"))
	run(t, 0, "verify", "s3://out/case", "s3://archive/a/b/", "s3://archive/a/one.tar.gz")
	run(t, 0, "diff", "--exit-code", "s3://out/case/report.json", "s3://out/again")
}

// cutter is a proxy that breaks the connection in the middle of one object.
type cutter struct {
	cuts   atomic.Int32    // how many times it did
	before func(cut int32) // called before each
}

// start serves in front of the server; whatever asks for it by AWS_ENDPOINT_URL
// goes through it from then on.
func (p *cutter) start(c *cloud, object string, every int) {
	target, err := url.Parse("http://" + c.address)
	require.NoError(c.t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.ModifyResponse = func(r *http.Response) error {
		if r.Request.Method == http.MethodGet && strings.HasSuffix(r.Request.URL.Path, object) {
			r.Body = &cut{ReadCloser: r.Body, left: every, p: p}
		}
		return nil
	}
	forward.ErrorLog = log.New(io.Discard, "", 0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(c.t, err)
	server := &http.Server{Handler: forward}
	go func() { _ = server.Serve(l) }()
	c.t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	c.t.Setenv("AWS_ENDPOINT_URL", "http://"+l.Addr().String())
}

type cut struct {
	io.ReadCloser
	left int
	p    *cutter
}

func (c *cut) Read(p []byte) (int, error) {
	if c.left == 0 {
		n := c.p.cuts.Add(1)
		if c.p.before != nil {
			c.p.before(n)
		}
		return 0, errors.New("cut")
	}
	n, err := c.ReadCloser.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// TestBrokenConnection: an object whose connection breaks time and again gives
// the report of the file.
func TestBrokenConnection(t *testing.T) {
	c := startCloud(t)
	data := bundle(t, 3, 2_000_000)
	c.put("s3://archive/big.tar.gz", data)
	file := filepath.Join(t.TempDir(), "big.tar.gz")
	require.NoError(t, os.WriteFile(file, data, 0o644))
	p := &cutter{}
	p.start(c, "/big.tar.gz", len(data)/3)
	run(t, 0, "analyze", "s3://archive/big.tar.gz", "-f", "json", "-o", "s3://out/big")
	assert.GreaterOrEqual(t, p.cuts.Load(), int32(3))
	out := filepath.Join(t.TempDir(), "out")
	run(t, 0, "analyze", file, "-f", "json", "-o", out)
	want, err := os.ReadFile(filepath.Join(out, "report.json"))
	require.NoError(t, err)
	assert.True(t, string(want) == c.tree("s3://out/big")["report.json"])
}

// TestChangedObject: an object that is replaced between two connections fails
// its bundle, and no other.
func TestChangedObject(t *testing.T) {
	c := startCloud(t)
	data := bundle(t, 4, 1_000_000)
	c.put("s3://archive/changing.tar.gz", data)
	c.put("s3://archive/steady.tar.gz", bundle(t, 5, 30_000))
	p := &cutter{before: func(n int32) {
		if n == 1 {
			_ = c.objects.Put(context.Background(), "s3://archive/changing.tar.gz", bytes.NewReader(append([]byte{data[0] + 1}, data[1:]...)))
		}
	}}
	p.start(c, "/changing.tar.gz", len(data)/2)
	stdout, _ := run(t, 0, "analyze", "--each", "s3://archive/changing.tar.gz", "s3://archive/steady.tar.gz", "-f", "term,json", "-o", "s3://out/fleet")
	assert.Contains(t, stdout, "changed while it was read")
	for name, row := range c.tree("s3://out/fleet/runs") {
		switch {
		case strings.HasPrefix(name, "steady"):
			assert.Contains(t, row, `"status":"done"`)
		default:
			assert.Contains(t, row, fmt.Sprintf(`s3://archive/changing.tar.gz: reading at byte %d of %d: `, len(data)/2, len(data)))
			assert.Contains(t, row, "its ETag was")
		}
	}
}

// TestErrors: what, where, why, and what to try.
func TestErrors(t *testing.T) {
	startCloud(t)
	_, stderr := run(t, 1, "analyze", "s3://archive/none.tar.gz", "-o", "s3://out/x")
	assert.Contains(t, stderr, "none.tar.gz: unreadable: s3://archive/none.tar.gz: asking for it: file does not exist")
	_, stderr = run(t, 1, "analyze", "--input-list", "s3://nowhere/list.txt", "-o", "s3://out/x")
	assert.Contains(t, stderr, "--input-list: s3://nowhere/list.txt")
	_, stderr = run(t, 2, "analyze", "https://archive/x")
	assert.Contains(t, stderr, "https://archive/x: no scheme of a store: there are s3://, gs://, azblob://, file://")
	_, stderr = run(t, 1, "analyze", "s3:///x", "-o", "s3://out/x")
	assert.Contains(t, stderr, "the URL names no bucket")
	_, stderr = run(t, 2, "analyze", "s3://archive/x", "-o", "s3://archive/x/")
	assert.Contains(t, stderr, "is an input")

	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	_, stderr = run(t, 1, "merge", "s3://out/x")
	assert.Contains(t, stderr, "s3://out/x: listing: ")
	assert.Contains(t, stderr, "try: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
}
