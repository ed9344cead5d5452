package logs_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/logs"
)

// recorded keeps what one stream gave.
type recorded struct {
	events   []event.Event
	problems []event.Problem
	info     *event.StreamInfo
}

func (c *recorded) Emit(e event.Event)      { c.events = append(c.events, e) }
func (c *recorded) Problem(p event.Problem) { c.problems = append(c.problems, p) }

// readLog reads data in the format that detection picks.
func readLog(t testing.TB, path string, data []byte) *recorded {
	t.Helper()
	f, err := logs.Detect(data[:min(len(data), 64<<10)], path)
	require.NoError(t, err, path)
	c := &recorded{info: &event.StreamInfo{ID: 1, Path: path, Format: f.Name, Verbosity: -1}}
	err = f.Parse(context.Background(), &logs.Input{Path: path, R: bytes.NewReader(data), Info: c.info, Sink: c})
	require.NoError(t, err, path)
	return c
}

// shared returns a directory of the data that lies beside the repository.
func shared(t testing.TB, dir string) string {
	t.Helper()
	p := filepath.Join("..", "..", "..", "shared", dir)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("the shared recordings are not here: %v", err)
	}
	return p
}

func gunzip(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(z)
	require.NoError(t, err, path)
	return b
}

// member returns the first file of a tar.gz whose path ends with suffix.
func member(t testing.TB, archive, suffix string) []byte {
	t.Helper()
	f, err := os.Open(archive)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		require.NoError(t, err, "%s in %s", suffix, archive)
		if strings.HasSuffix(h.Name, suffix) {
			b, err := io.ReadAll(r)
			require.NoError(t, err)
			return b
		}
	}
}

var sourcePort = regexp.MustCompile(`(\d|\]):\d+->`)

// failureKey names a group of failures the way truth.yaml counts them.
func failureKey(p *event.ProbeResult) string {
	out := sourcePort.ReplaceAllString(p.Output, "$1->")
	return fmt.Sprintf("%s %s %s %s %s", p.Pod, p.Pod.UID, p.Container, p.Probe, strings.TrimSpace(firstLine(out)))
}

func firstLine(s string) string {
	s = strings.ReplaceAll(s, `"`, "")
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func failures(events []event.Event) map[string]int {
	n := map[string]int{}
	for _, e := range events {
		if p, ok := e.Payload.(*event.ProbeResult); ok && (p.Outcome == event.OutcomeFailed || p.Outcome == event.OutcomeErrored) {
			n[failureKey(p)]++
		}
	}
	return n
}

// sameInAllForms prints what of an event does not depend on the form of the log:
// everything but references, precision and the parts of a stamp that a short
// form lacks.
func sameInAllForms(events []event.Event) []string {
	var out []string
	for _, e := range events {
		p := e.Payload
		if k, ok := p.(*event.K8sEvent); ok {
			c := *k
			c.First, c.Last = event.Stamp{}, event.Stamp{}
			p = &c
		}
		out = append(out, fmt.Sprintf("%s %s %d %s %+v", e.Time.At.Time().Format("01-02T15:04:05"), e.Node, e.PID, e.Payload.Kind(), p))
	}
	return out
}

type truth struct {
	Failures struct {
		Total  int `yaml:"total"`
		Groups []struct {
			Pod, UID, Container, Probe, IP, Output string
			Count                                  int
		} `yaml:"groups"`
	} `yaml:"kubelet_probe_failures"`
}

// TestLabCounts reads every recording in every form it was kept in; each must
// give the failures that were counted when it was made.
func TestLabCounts(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(shared(t, "corpus/lab"), "*", "truth.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	for _, file := range dirs {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			var want truth
			require.NoError(t, yaml.Unmarshal(b, &want))
			forms := map[string][]byte{
				"bundle": member(t, filepath.Join(dir, "bundle.tar.gz"), "kubelet_service.log"),
			}
			for _, form := range []string{"short.log", "short-iso.log", "json", "export"} {
				forms[form] = gunzip(t, filepath.Join(dir, "raw", "kubelet."+form+".gz"))
			}
			forms["binary"] = member(t, filepath.Join(dir, "bundle.tar.gz"), ".journal")
			reference := readLog(t, "json", forms["json"])
			for form, data := range forms {
				read := readLog(t, form, data)
				if form != "bundle" { // the bundle has the kubelet's own lines only
					assert.Equal(t, sameInAllForms(reference.events), sameInAllForms(read.events), form)
					assert.Equal(t, reference.info.Verbosity, read.info.Verbosity, form)
				}
				assert.Empty(t, read.problems, form)
				got := failures(read.events)
				total := 0
				for _, n := range got {
					total += n
				}
				assert.Equal(t, want.Failures.Total, total, form)
				for _, g := range want.Failures.Groups {
					out := strings.TrimSpace(firstLine(strings.TrimPrefix(g.Output, "ERRORED ")))
					n := 0
					for k, c := range got {
						if strings.HasPrefix(k, fmt.Sprintf("%s %s %s %s %s", g.Pod, g.UID, g.Container, strings.ToLower(g.Probe), out)) {
							n += c
						}
					}
					assert.GreaterOrEqual(t, n, g.Count, "%s: %s %s %q", form, g.Pod, g.Probe, g.Output)
				}
			}
		})
	}
}
