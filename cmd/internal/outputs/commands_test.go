package outputs

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// TestCommandsShowTheirRecords runs what reports print under "Check it yourself",
// where the inputs lie, and looks for the record each piece of evidence quotes.
func TestCommandsShowTheirRecords(t *testing.T) {
	for _, tool := range []string{"bash", "tar", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	_, noTshark := exec.LookPath("tshark")
	inputs := maps.Clone(committed)
	delete(inputs, "healthy") // nothing to check
	if bundle := filepath.Join(lab, "05-crash-loop", "bundle.tar.gz"); exists(bundle) {
		inputs["05-crash-loop"] = bundle
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		t.Run(name, func(t *testing.T) {
			r := reportOf(t, inputs[name]).result(t)
			c := view.Index(r)
			seen := map[string]bool{}
			for _, in := range c.Incidents {
				for _, e := range in.Evidence {
					cmd := c.Command(e.Ref)
					if cmd == "" || noTshark != nil && strings.Contains(cmd, "tshark") {
						continue
					}
					assert.Contains(t, in.Reproduce, cmd)
					if !seen[cmd] {
						shows(t, filepath.Dir(inputs[name]), cmd, e)
					}
					seen[cmd] = true
				}
			}
			if len(seen) == 0 && noTshark != nil {
				t.Skip("all evidence is packets: ", noTshark)
			}
			assert.NotEmpty(t, seen)
		})
	}
}

// shows runs a command and checks that it prints the record of e.
func shows(t *testing.T, dir, cmd string, e model.Evidence) {
	t.Helper()
	out := shell(t, dir, cmd)
	if e.Ref.Packet > 0 && strings.Contains(cmd, "tshark") {
		fields := strings.Fields(out)
		require.NotEmpty(t, fields, cmd)
		assert.Equal(t, e.Ref.Event().Place()[1:], fields[0], cmd)
		assert.Equal(t, 1, strings.Count(strings.TrimSpace(out), "\n")+1, "one packet: %s", cmd)
		return
	}
	first, _, _ := strings.Cut(e.Excerpt, "\n")
	first = first[:min(len(first), 300)] // a long one is cut
	require.NotEmpty(t, first, cmd)
	assert.True(t, strings.HasPrefix(out, first), "%s\nprints %.200s\nwant   %.200s", cmd, out, first)
}

func shell(t *testing.T, dir, cmd string) string {
	t.Helper()
	c := exec.Command("bash", "-o", "pipefail", "-c", cmd)
	c.Dir = dir
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	require.NoError(t, err, "%s\n%s", cmd, stderr.String())
	return string(out)
}

// TestCommandsForJournalFiles reads binary journals, alone and in an archive.
func TestCommandsForJournalFiles(t *testing.T) {
	if _, err := exec.LookPath("journalctl"); err != nil {
		t.Skip(err)
	}
	bundle := filepath.Join(lab, "05-crash-loop", "bundle.tar.gz")
	if !exists(bundle) {
		t.Skip("the recordings are not beside the checkout")
	}
	abs, err := filepath.Abs(bundle)
	require.NoError(t, err)
	alone, packed := t.TempDir(), t.TempDir()
	// The archive's own journal is the only log.
	list := strings.Fields(shell(t, alone, "tar -tzf '"+abs+"'"))
	i := slices.IndexFunc(list, func(s string) bool { return strings.HasSuffix(s, ".journal") })
	require.GreaterOrEqual(t, i, 0)
	shell(t, alone, "tar -xzOf '"+abs+"' '"+list[i]+"' > kubelet.journal")
	shell(t, alone, "tar -czf '"+filepath.Join(packed, "logs.tar.gz")+"' kubelet.journal")
	for _, where := range []struct{ dir, name string }{{alone, "kubelet.journal"}, {packed, "logs.tar.gz"}} {
		r := made{t.TempDir(), outcome{}}
		o := program("analyze", filepath.Join(where.dir, where.name), "-o", r.dir, "-f", "json")
		require.Zero(t, o.code, o.stderr)
		ran := 0
		for _, in := range r.result(t).Incidents {
			for _, cmd := range in.Reproduce {
				if !strings.Contains(cmd, "journalctl --file") {
					continue
				}
				out := shell(t, where.dir, "TZ=Asia/Tokyo; export TZ; "+cmd)
				assert.Contains(t, out, "kubelet[", cmd)
				assert.Less(t, strings.Count(out, "\n"), 500, "not the whole journal: %s", cmd)
				ran++
			}
		}
		assert.Positive(t, ran, where.name)
	}
	_ = os.Remove(filepath.Join(packed, "extracted.journal"))
}
