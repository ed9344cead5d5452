package outputs

import (
	"encoding/json"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// TestNoOriginalInAnyOutput collects names and addresses from the plain report
// of a recording, without asking the redaction, and looks for each of them in
// every output of the redacted one.
func TestNoOriginalInAnyOutput(t *testing.T) {
	inputs := maps.Clone(committed)
	for _, name := range []string{"02-sandbox-recreated", "17-dualstack-family-switch", "18-mesh-redirect"} {
		if bundle := filepath.Join(lab, name, "bundle.tar.gz"); exists(bundle) {
			inputs[name] = bundle
		}
	}
	for name, bundle := range inputs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			originals := originalsOf(t, reportOf(t, bundle))
			require.Greater(t, len(originals), 15)
			dir, mapFile := filepath.Join(t.TempDir(), "shared"), filepath.Join(t.TempDir(), "map.json")
			o := analyze(t, dir, bundle, "--redact", "--redact-map", mapFile)
			files := texts(t, made{dir, o})
			for file, text := range files {
				for _, original := range originals {
					if at := whole(text, original); at >= 0 {
						t.Errorf("%s holds %q: ...%s...", file, original, text[max(0, at-40):min(len(text), at+60)])
					}
				}
			}
			checkMap(t, mapFile, originals)
		})
	}
}

// checkMap checks that the map can be read by its owner only and leads back to
// every original.
func checkMap(t *testing.T, path string, originals []string) {
	info, err := os.Stat(path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var m struct {
		Pairs []struct{ Original, Pseudonym string }
	}
	require.NoError(t, json.Unmarshal(text, &m))
	known := map[string]bool{}
	for _, p := range m.Pairs {
		known[p.Original] = true
		assert.NotEqual(t, p.Original, p.Pseudonym)
	}
	for _, o := range originals {
		assert.True(t, known[o], "the map does not lead back to %s", o)
	}
}

// texts is the text of every output of a report: of Parquet files all values and
// the bytes themselves, which hold statistics and dictionaries.
func texts(t *testing.T, m made) map[string]string {
	t.Helper()
	out := map[string]string{"standard output": strings.ReplaceAll(m.stdout, m.dir, ""), "standard error": m.stderr}
	for name, text := range tree(t, m.dir) {
		out[name] = name + "\n" + text
		if strings.HasSuffix(name, ".parquet") {
			out[name] += "\n" + values(t, []byte(text))
		}
	}
	return out
}

var (
	quadForm = regexp.MustCompile(`\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b`)
	ip6Form  = regexp.MustCompile(`\b[0-9a-f]{1,4}(:[0-9a-f]{0,4}){2,7}\b`)
	macForm  = regexp.MustCompile(`\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b`)
	uuidForm = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
)

// everywhere are names that exist in every cluster, and words of the reports
// themselves that somebody may have given to a container ("api" is the clock of
// the API server).
var everywhere = []string{"", "default", "kube-system", "kube-public", "kube-node-lease", "unknown", "api"}

// originalsOf lists the names that fields of a plain report hold and the
// addresses that stand anywhere in it.
func originalsOf(t *testing.T, m made) []string {
	t.Helper()
	var res model.Result
	require.NoError(t, json.Unmarshal(m.read(t, "report.json"), &res))
	set := map[string]bool{}
	add := func(names ...string) {
		for _, n := range names {
			if !slices.Contains(everywhere, n) {
				set[n] = true
			}
		}
	}
	add(res.Checked.Nodes...)
	for _, p := range res.Pods {
		add(p.Namespace, p.Pod, p.UID, p.Node, p.Owner.Name)
		for _, c := range p.Containers {
			add(c.Name)
		}
		for _, iv := range p.IPIntervals {
			add(iv.IP, iv.MAC)
		}
	}
	for _, in := range res.Incidents {
		add(in.Node)
		for _, s := range in.Subjects {
			add(s.Namespace, s.Pod, s.UID, s.Container)
		}
	}
	for name, text := range tree(t, m.dir) {
		if strings.HasSuffix(name, ".parquet") {
			text = values(t, []byte(text))
		}
		for _, s := range quadForm.FindAllString(text, -1) {
			// Addresses that name no one stay: loopback, groups, masks.
			if a, err := netip.ParseAddr(s); err == nil && !a.IsLoopback() && a.As4()[0] != 0 && a.As4()[0] < 224 {
				add(s)
			}
		}
		for _, s := range ip6Form.FindAllString(text, -1) {
			if a, err := netip.ParseAddr(s); err == nil && !a.IsLoopback() && !a.IsMulticast() && strings.Contains(s, "::") && len(s) > 6 {
				add(a.String())
			}
		}
		for _, s := range macForm.FindAllString(text, -1) {
			if first := s[1]; strings.IndexByte("13579bdf", first) < 0 && s != "00:00:00:00:00:00" {
				add(s)
			}
		}
		add(uuidForm.FindAllString(text, -1)...)
	}
	var out []string
	for o := range set {
		out = append(out, o)
	}
	slices.Sort(out)
	return out
}

// whole finds a name that is not part of a longer word.
func whole(text, name string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return -1
		}
		at := from + i
		end := at + len(name)
		if (at == 0 || !wordByte(text[at-1])) && (end == len(text) || !wordByte(text[end])) {
			return at
		}
		from = at + 1
	}
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
