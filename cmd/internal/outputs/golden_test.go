package outputs

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite golden files")

// neutral replaces what changes without a change of the report: the version of
// the program, the hash of its rules, and the run id made of both.
func neutral(t *testing.T, m made) *strings.Replacer {
	t.Helper()
	var manifest struct {
		RunID string `json:"run_id"`
		Tool  struct {
			Version   string `json:"version"`
			RulesHash string `json:"rules_hash"`
		} `json:"tool"`
	}
	require.NoError(t, json.Unmarshal(m.read(t, "manifest.json"), &manifest))
	hash := manifest.Tool.RulesHash
	require.Greater(t, len(hash), 12)
	pairs := []string{manifest.RunID, "RUN", hash, "RULES", hash[:12], "RULES"}
	if v := manifest.Tool.Version; v != "devel" {
		pairs = append(pairs, v, "devel")
	}
	return strings.NewReplacer(pairs...)
}

// golden compares a text with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run with -update to create it")
	if string(want) == got {
		return
	}
	w, g := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			t.Fatalf("%s:%d differs (make generate rewrites it)\nwant %s\ngot  %s", path, i+1, w[i], g[i])
		}
	}
	t.Fatalf("%s has %d lines, now %d (make generate rewrites it)", path, len(w), len(g))
}

func TestGoldenReports(t *testing.T) {
	for name, bundle := range committed {
		t.Run(name, func(t *testing.T) {
			m := reportOf(t, bundle)
			n := neutral(t, m)
			for _, file := range []string{"report.md", "summary.md", "report.html", "report.json", "report.sarif", "junit.xml", "timesketch.jsonl"} {
				t.Run(file, func(t *testing.T) { golden(t, name+"/"+file, n.Replace(string(m.read(t, file)))) })
			}
			text, _, ok := strings.Cut(m.stdout, "\nWrote ")
			require.True(t, ok)
			golden(t, name+"/terminal.txt", text+"\n")
		})
	}
}

// TestFlavors compares the dialects of Markdown; report.md of github is among the
// golden reports.
func TestFlavors(t *testing.T) {
	for _, flavor := range []string{"gitlab", "plain"} {
		dir := t.TempDir()
		o := program("analyze", demo, "-o", dir, "-f", "md", "--flavor", flavor)
		require.Zero(t, o.code, o.stderr)
		m := made{dir, o}
		golden(t, "demo/report."+flavor+".md", neutral(t, m).Replace(string(m.read(t, "report.md"))))
		golden(t, "demo/summary."+flavor+".md", neutral(t, m).Replace(string(m.read(t, "summary.md"))))
	}
	plain, err := os.ReadFile("testdata/demo/report.plain.md")
	require.NoError(t, err)
	for _, not := range []string{"<details>", "<summary>", "```mermaid"} {
		assert.NotContains(t, string(plain), not)
	}
}
