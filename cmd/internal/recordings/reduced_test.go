package recordings

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/fixtures"
	"github.com/probe-forensics/probe-forensics/parsers"
)

// expectation is what EXPECT.json says about a recording.
type expectation struct {
	Subjects []struct {
		Subject string   `json:"subject"` // NAMESPACE/POD, or "node:" and a pattern
		Accept  []string `json:"accept"`
	} `json:"subjects"`
	Healthy []string `json:"healthy"`
	MayHave []string `json:"healthy_may_have"`
}

// reductions are inputs that a collector may have left out.
var reductions = []struct {
	name string
	drop func(path string) bool
	// named are observations, one of which an answer made less sure must ask for.
	named []string
}{
	{"no captures", func(p string) bool { return strings.HasSuffix(p, ".pcap") },
		[]string{rules.MissNodeCapture, rules.MissPodCapture}},
	{"no journal", func(p string) bool {
		return strings.HasSuffix(p, ".journal") || strings.HasSuffix(p, "/kubelet_service.log")
	},
		[]string{rules.MissKubeletLog}},
}

// TestReducedRecordings takes from every recording its captures, then its
// journal: what is said gets less sure and names what would help; no other cause
// is put in the place of the right one.
func TestReducedRecordings(t *testing.T) {
	expected := map[string]expectation{}
	if text, err := os.ReadFile(filepath.Join(lab, "EXPECT.json")); err == nil {
		require.NoError(t, json.Unmarshal(text, &expected))
	}
	each(t, func(t *testing.T, name, dir string) {
		t.Parallel()
		full := run(t, dir, nil)
		for _, red := range reductions {
			t.Run(red.name, func(t *testing.T) {
				part, dropped := analyzeWithout(t, filepath.Join(dir, "bundle.tar.gz"), red.drop)
				if dropped == 0 {
					t.Skip("the recording has none of these inputs")
				}
				for _, pod := range expected[name].Healthy {
					for _, i := range incidentsOf(part, pod) {
						if !slices.Contains(expected[name].MayHave, i.Cause.ID) && i.Cause.ID != rules.Inconclusive {
							assert.LessOrEqual(t, i.Cause.Confidence, 0.7, "false alarm: %s: %s", pod, i.Cause.ID)
						}
					}
				}
				for _, s := range expected[name].Subjects {
					was, is := incidentsOf(full, s.Subject), incidentsOf(part, s.Subject)
					require.NotEmpty(t, was, s.Subject)
					for _, i := range is {
						before := counterpart(was, i)
						said := fmt.Sprintf("%s: %s %.2f was %s %.2f", s.Subject, i.Cause.ID, i.Cause.Confidence, before.Cause.ID, before.Cause.Confidence)
						same := i.Cause.ID == before.Cause.ID
						if same {
							assert.LessOrEqual(t, i.Cause.Confidence, before.Cause.Confidence, "surer with less: %s", said)
						} else if i.Cause.ID != rules.Inconclusive && !slices.Contains(s.Accept, i.Cause.ID) {
							assert.LessOrEqual(t, i.Cause.Confidence, 0.7, "another cause: %s", said)
						}
						// A confirmed cause leaves nothing to ask for.
						if (!same || i.Cause.Confidence < before.Cause.Confidence) && i.Cause.Word != model.Confirmed {
							assert.True(t, asksFor(i, red.named), "what was taken away is not asked for: %s: %v", said, i.Missing)
						}
					}
				}
			})
		}
	})
}

// counterpart returns what was said of the subject before: the surest incident of
// the same cause, else the one with most failed attempts.
func counterpart(was []*model.Incident, i *model.Incident) *model.Incident {
	best := slices.MaxFunc(was, func(a, b *model.Incident) int { return a.FailedAttempts - b.FailedAttempts })
	for _, o := range was {
		if o.Cause.ID == i.Cause.ID && (best.Cause.ID != i.Cause.ID || o.Cause.Confidence > best.Cause.Confidence) {
			best = o
		}
	}
	return best
}

// incidentsOf returns the incidents of a subject of EXPECT.json.
func incidentsOf(r *model.Result, subject string) []*model.Incident {
	var out []*model.Incident
	for k := range r.Incidents {
		i := &r.Incidents[k]
		if node, ok := strings.CutPrefix(subject, "node:"); ok {
			if m, _ := filepath.Match(node, i.Node); m && i.Scope == model.ScopeNode {
				out = append(out, i)
			}
			continue
		}
		if slices.ContainsFunc(i.Subjects, func(s model.Subject) bool { return s.Namespace+"/"+s.Pod == subject }) {
			out = append(out, i)
		}
	}
	return out
}

// asksFor reports whether an incident asks for one of the observations.
func asksFor(i *model.Incident, ids []string) bool {
	return slices.ContainsFunc(ids, func(id string) bool {
		want, _ := rules.MissingObservation(id)
		return slices.ContainsFunc(i.Missing, func(m model.Missing) bool { return m.What == want.What })
	})
}

// analyzeWithout analyses the members of a bundle that drop does not name, and
// counts those that it does.
func analyzeWithout(t *testing.T, bundle string, drop func(string) bool) (*model.Result, int) {
	t.Helper()
	f, err := os.Open(bundle)
	require.NoError(t, err)
	defer f.Close()
	dir, dropped := t.TempDir(), 0
	_, err = fixtures.Unpack(f, dir, func(name string) bool {
		if drop(name) {
			dropped++
			return false
		}
		return true
	})
	require.NoError(t, err)
	c, err := parsers.Open(context.Background(), []string{dir}, parsers.Options{Workers: 1})
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close()) }()
	r, err := analyze.Run(context.Background(), c, nil, analyze.Options{})
	require.NoError(t, err)
	return r, dropped
}
