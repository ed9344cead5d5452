package rules

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// causes is how many ids the catalogue has; a new cause raises it knowingly.
const causes = 51

func TestCatalogue(t *testing.T) {
	all := Rules()
	require.Len(t, all, causes)
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$|^inconclusive$`)
	for i, r := range all {
		t.Run(r.ID, func(t *testing.T) {
			assert.Regexp(t, kebab, r.ID)
			if i > 0 {
				assert.Less(t, all[i-1].ID, r.ID, "sorted by id")
			}
			assert.Same(t, r, Lookup(r.ID))
			assert.NotEmpty(t, r.Family)
			assert.NotEmpty(t, r.Title)
			assert.Contains(t, []int{1, 2}, r.Tier)
			assert.Positive(t, r.Rank)
			assert.NotEmpty(t, r.Precedents)
			for name, section := range map[string][]string{"notes": r.Notes, "needs": r.Needs, "supports": r.Supports, "contradicts": r.Contradicts} {
				assert.NotEmpty(t, section, name)
				for _, s := range section {
					assert.True(t, strings.HasSuffix(s, "."), "%s: a sentence ends with a period: %s", name, s)
				}
			}
			assert.NotEmpty(t, r.Definition)
			assert.NotEmpty(t, r.LookAlikes)
			assert.NotEmpty(t, r.Limits)
			assert.Equal(t, 1, strings.Count(r.Sentence, "%s"), "the sentence names its subject once")
			assert.Equal(t, r.ID == Inconclusive, r.Eval == nil, "every cause but the abstention is judged")
		})
	}
}

// What a rule names must exist: other rules, recommendations, sane numbers.
func TestCatalogueHoldsTogether(t *testing.T) {
	used := map[string]bool{}
	for _, r := range Rules() {
		for _, l := range r.LookAlikes {
			assert.NotNil(t, Lookup(l.ID), "%s: look-alike %s", r.ID, l.ID)
			assert.NotEqual(t, r.ID, l.ID)
			assert.NotEmpty(t, l.Discriminator, r.ID)
		}
		for _, id := range r.Explains {
			require.NotNil(t, Lookup(id), "%s explains %s", r.ID, id)
			assert.NotEqual(t, r.ID, id)
		}
		require.NotEmpty(t, r.Recommend, r.ID)
		for _, id := range r.Recommend {
			assert.NotEmpty(t, Recommendation(id), "%s: recommendation %s", r.ID, id)
			used[id] = true
		}
		require.NotEmpty(t, r.Collect, r.ID)
		for _, id := range r.Collect {
			_, ok := MissingObservation(id)
			assert.True(t, ok, "%s: observation %s", r.ID, id)
		}
		for _, l := range r.Limits {
			assert.True(t, l.Max > 0 && l.Max < 1, "%s: limit %s", r.ID, l.Inputs)
		}
		seen := map[string]bool{}
		for _, h := range r.Thresholds {
			assert.False(t, seen[h.Name], "%s: %s twice", r.ID, h.Name)
			seen[h.Name] = true
			assert.NotEmpty(t, h.Unit, r.Key(h))
			assert.NotEmpty(t, h.Doc, r.Key(h))
		}
		for _, p := range r.Precedents {
			assert.True(t, strings.HasPrefix(p, "https://"), "%s: %s", r.ID, p)
		}
	}
	for _, id := range RecommendationIDs() {
		assert.True(t, used[id], "recommendation %s belongs to no cause", id)
	}
}

// The pairs that explain each other, cause first.
func TestCausalOrder(t *testing.T) {
	for _, pair := range [][2]string{
		{"duplicate-pod-ip", "bridge-fdb-flip"}, {"sandbox-recreated-ip-changed", "stale-status-ip"},
		{"stale-neighbour", "ip-reused"}, {"probe-startup-budget-too-short", "app-slow-start"},
		{"cpu-starvation", "app-hang"}, {"packet-loss-latency", "probe-timeout-too-tight"},
		{"runtime-down", "sandbox-recreated-ip-changed"}, {"ip-pool-exhausted", "cni-add-failed"},
		{"probe-target-misconfigured", "app-not-listening"}, {"runtime-down", "stale-status-ip"},
	} {
		assert.True(t, explains(pair[0], pair[1]), "%s explains %s", pair[0], pair[1])
		assert.Less(t, Lookup(pair[0]).Rank, Lookup(pair[1]).Rank, "%s is earlier than %s", pair[0], pair[1])
	}
	assert.False(t, linked("app-http-error", "policy-drop"))
}

func TestThresholds(t *testing.T) {
	get := DefaultThresholds(map[string]float64{"ip-reused.hold": 7})
	assert.InDelta(t, 7, get("ip-reused", "hold"), 0)
	assert.InDelta(t, 0.7, get("probe-timeout-too-tight", "near"), 0)
	assert.Panics(t, func() { get("ip-reused", "no-such") })
	assert.Panics(t, func() { get("no-such", "hold") })
}

func TestRulesHash(t *testing.T) {
	h := RulesHash()
	assert.Len(t, h, 64)
	assert.Equal(t, h, RulesHash())
	r := Lookup("ip-reused")
	old := r.Definition
	r.Definition += " More."
	assert.NotEqual(t, h, RulesHash(), "documentation is part of the hash")
	r.Definition = old
	assert.Equal(t, h, RulesHash())
}

func TestRegisterRefusesRepeats(t *testing.T) {
	assert.Panics(t, func() { register(Rule{ID: "ip-reused"}) })
}

func TestMissingTable(t *testing.T) {
	for id, m := range missingTable {
		assert.NotEmpty(t, m.What, id)
		assert.NotEmpty(t, m.WouldSettle, id)
		assert.NotEmpty(t, m.HowToCollect, id)
	}
	rows := missingOf([]string{MissPodCapture, "no-such", MissPodCapture, MissAudit})
	require.Len(t, rows, 2)
	assert.Equal(t, missingTable[MissPodCapture], rows[0])
}
