package outputs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// committed are the recordings that lie in the repository, by the name of their
// golden files.
var committed = map[string]string{
	"demo":    demo,
	"mixed":   "../../../fixtures/recordings/mixed/bundle.tar.gz",
	"healthy": "../../../fixtures/recordings/healthy/bundle.tar.gz",
	"reuse":   "../../../fixtures/recordings/reuse/bundle.tar.gz",
}

// TestLargestInputsRenderInAllFormats takes the three largest recordings and
// the must-gathers of other people, whose directories nobody here made.
func TestLargestInputsRenderInAllFormats(t *testing.T) {
	for _, name := range []string{"23-mixed-incidents", "10-exec-probe", "09-http-status"} {
		bundle := filepath.Join(lab, name, "bundle.tar.gz")
		if _, err := os.Stat(bundle); err != nil {
			t.Skip("the recordings are not beside the checkout")
		}
		complete(t, reportOf(t, bundle))
	}
	gathers, err := filepath.Glob(filepath.Join(public, "mustgather", "*.tar.xz"))
	require.NoError(t, err)
	if len(gathers) == 0 {
		t.Skip("the public must-gathers are not beside the checkout")
	}
	m := reportOf(t, gathers[0])
	complete(t, m)
	s := schemas{report: compile(t, "../../../docs/schema/report.schema.json"), sarif: compile(t, "testdata/sarif.schema.json")}
	s.check(t, m)
}

// complete checks that a report has a file of every format, listed with its
// size in the manifest.
func complete(t *testing.T, m made) {
	t.Helper()
	var manifest struct {
		Files []struct {
			Name  string `json:"name"`
			Bytes int64  `json:"bytes"`
		} `json:"files"`
	}
	require.NoError(t, json.Unmarshal(m.read(t, "manifest.json"), &manifest))
	have := map[string]bool{}
	for _, f := range manifest.Files {
		info, err := os.Stat(filepath.Join(m.dir, filepath.FromSlash(f.Name)))
		require.NoError(t, err)
		assert.Equal(t, f.Bytes, info.Size(), f.Name)
		have[strings.SplitN(f.Name, "/", 3)[0]] = true
	}
	for _, name := range []string{"report.md", "summary.md", "report.html", "report.json", "report.sarif", "junit.xml", "timesketch.jsonl", "tables"} {
		assert.True(t, have[name], name)
	}
	assert.Contains(t, m.stdout, "Wrote ")
}

// TestEqualBytesHoweverItRan runs on one processor and on several, with every
// option that can't change a result: all files are equal, and so none of them
// mentions any of it.
func TestEqualBytesHoweverItRan(t *testing.T) {
	inputs := []string{demo, committed["mixed"]}
	for _, name := range []string{"02-sandbox-recreated", "17-dualstack-family-switch"} {
		if bundle := filepath.Join(lab, name, "bundle.tar.gz"); exists(bundle) {
			inputs = append(inputs, bundle)
		}
	}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, bundle := range inputs {
		runtime.GOMAXPROCS(1)
		one := filepath.Join(t.TempDir(), "one")
		analyze(t, one, bundle, "--workers", "1", "--color", "never")
		want := tree(t, one)
		assert.Greater(t, len(want), 15, "all formats and tables")
		for _, run := range []struct {
			processors int
			flags      []string
		}{
			{2, []string{"--workers", "8"}},
			{4, []string{"--workers", "4", "--memory-limit", "64MiB", "--no-progress", "--color", "always", "--log-level", "error", "--log-format", "json"}},
			{8, []string{"--workers", "2"}},
		} {
			runtime.GOMAXPROCS(run.processors)
			out := filepath.Join(t.TempDir(), "elsewhere", "out")
			analyze(t, out, bundle, run.flags...)
			got := tree(t, out)
			require.Equal(t, len(want), len(got))
			for name, text := range want {
				assert.True(t, text == got[name], "%s of %s differs on %d processors", name, bundle, run.processors)
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// tree reads all files below a directory.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return out
}

// Four pods of one node fail in the same minutes for four reasons: overlap makes
// no group.
func TestOverlapMergesNothing(t *testing.T) {
	r := reportOf(t, committed["mixed"]).result(t)
	causes := map[string]bool{}
	for _, i := range r.Incidents {
		assert.Equal(t, model.ScopePod, i.Scope, i.Summary)
		causes[i.Cause.ID] = true
	}
	assert.Len(t, r.Incidents, 4)
	assert.Len(t, causes, 4)
}

// A healthy bundle gets an answer: no incident, what was looked at, and nothing
// that disagrees.
func TestHealthyBundleIsAnswered(t *testing.T) {
	m := reportOf(t, committed["healthy"])
	r := m.result(t)
	assert.Empty(t, r.Incidents)
	assert.Empty(t, r.IPDisagreements)
	assert.Positive(t, r.Checked.Probes)
	assert.False(t, r.Checked.From.IsZero())
	assert.NotNil(t, r.Checked.CouldNot)
	assert.Contains(t, string(m.read(t, "report.md")), "What was checked")
}
