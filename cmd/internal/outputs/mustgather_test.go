package outputs

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

// gathers runs f on the report of every public must-gather: bundles of other
// people's clusters, with journals and objects and without a capture. Nobody
// knows the truth about them; what they can't prove is known.
func gathers(t *testing.T, f func(t *testing.T, r *model.Result)) {
	found, err := filepath.Glob(filepath.Join(public, "mustgather", "*.tar.xz"))
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("the public must-gathers are not beside the checkout")
	}
	for _, g := range found {
		t.Run(strings.TrimSuffix(filepath.Base(g), ".tar.xz"), func(t *testing.T) {
			t.Parallel()
			f(t, reportOf(t, g).result(t))
		})
	}
}

func subjectKey(uid, container, probe string) string { return uid + " " + container + " " + probe }

// Every probe that failed is explained: by a cause, or by an abstention that says
// which candidates there are and what would settle it.
func TestMustGathersExplainEveryFailingProbe(t *testing.T) {
	gathers(t, func(t *testing.T, r *model.Result) {
		explained := map[string]int{}
		for _, i := range r.Incidents {
			for _, s := range i.Subjects {
				explained[subjectKey(s.UID, s.Container, s.Probe)] += s.FailedAttempts
			}
			assert.NotEmpty(t, i.Evidence, i.Summary)
			assert.NotEmpty(t, i.Recommend, i.Summary)
			assert.NotEmpty(t, i.WouldChange, i.Summary)
			if i.Cause.ID == rules.Inconclusive {
				assert.NotEmpty(t, i.Alternatives, "an abstention without candidates: %s", i.Summary)
				assert.NotEmpty(t, i.Missing, "an abstention that asks for nothing: %s", i.Summary)
			}
		}
		failing := 0
		for _, p := range r.Pods {
			for _, q := range p.Probes {
				if q.Failed > 0 {
					failing++
					assert.Equal(t, q.Failed, explained[subjectKey(p.UID, q.Container, q.Probe)], "%s/%s %s %s", p.Namespace, p.Pod, q.Container, q.Probe)
				}
			}
		}
		assert.Greater(t, failing, 20)
	})
}

// A restart of a kubelet, a stall, an outage of the runtime or a clock step is
// one finding about the node, however many pods it touched.
func TestMustGathersGroupNodeCauses(t *testing.T) {
	ofNode := map[string]bool{"kubelet-restart": true, "kubelet-stall": true, "runtime-down": true, "clock-jump": true, "conntrack-exhausted": true}
	gathers(t, func(t *testing.T, r *model.Result) {
		last := map[string]model.Incident{}
		for _, i := range r.Incidents {
			if !ofNode[i.Cause.ID] {
				continue
			}
			assert.Equal(t, model.ScopeNode, i.Scope, i.Summary)
			k := i.Node + " " + i.Cause.ID
			if o, ok := last[k]; ok {
				assert.Greater(t, i.Window.First.Nanos, o.Window.Last.Nanos, "%s twice at one time", k)
			}
			last[k] = i
		}
		// All three began with the boot of their nodes: starts of a kubelet that had not
		// run before are none of its restarts.
		assert.Empty(t, last)
	})
}

// Without a capture nothing can be located between node and pod, so no cause
// there is more than possible; and what is called probable or better rests on a
// quoted record that weighs enough.
func TestMustGathersClaimNoMoreThanTheyProve(t *testing.T) {
	gathers(t, func(t *testing.T, r *model.Result) {
		for _, in := range r.Inputs {
			for _, s := range in.Streams {
				assert.NotContains(t, s.Format, "pcap")
			}
		}
		for n := range r.Incidents {
			i := &r.Incidents[n]
			recompute(t, i)
			if i.Cause.Confidence <= 0.7 || i.Cause.ID == rules.Inconclusive {
				continue
			}
			rule := rules.Lookup(i.Cause.ID)
			require.NotNil(t, rule, i.Cause.ID)
			switch rule.Family {
			case rules.FamilyL2, rules.FamilyPath, rules.FamilyMesh:
				t.Errorf("%.2f without a packet: %s", i.Cause.Confidence, i.Summary)
			}
			most, rests := 0.0, false
			for _, l := range rule.Limits {
				most = max(most, l.Max)
			}
			assert.LessOrEqual(t, i.Cause.Confidence, most, "%s: above every limit of its page", i.Cause.ID)
			for _, e := range i.Evidence {
				rests = rests || e.Rule == rule.ID && e.Role == model.RoleFor && e.Weight >= rules.WeightState && e.Excerpt != ""
			}
			assert.True(t, rests, fmt.Sprintf("%.2f %s rests on nothing that is quoted", i.Cause.Confidence, i.Cause.ID))
		}
	})
}

// Operators whose containers ended together when the API server did not answer
// are one incident with all of them as subjects, not a dozen.
func TestMustGathersGroupCommonExits(t *testing.T) {
	gathers(t, func(t *testing.T, r *model.Result) {
		grouped := map[string]bool{}
		for _, i := range r.Incidents {
			if i.Cause.SubReason != incident.SharedUpstream {
				continue
			}
			assert.Equal(t, "app-crash-loop", i.Cause.ID)
			assert.GreaterOrEqual(t, i.Cause.Confidence, 0.7)
			assert.NotEqual(t, model.ScopePod, i.Scope)
			for _, s := range i.Subjects {
				grouped[s.UID] = true
			}
			quoted := 0
			for _, e := range i.Evidence {
				if e.Role == model.RoleContext && e.Ref.Stream != 0 {
					quoted++
				}
			}
			assert.Greater(t, quoted, 10, "what the other pods and the failure before rest on")
		}
		assert.Greater(t, len(grouped), 10)
	})
}
