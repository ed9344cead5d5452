package outputs

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/report"
)

// result reads report.json of a report.
func (m made) result(t *testing.T) *model.Result {
	t.Helper()
	r, err := report.ReadJSON(bytes.NewReader(m.read(t, "report.json")))
	require.NoError(t, err)
	return r
}

// TestConfidenceIsRecomputable redoes the arithmetic of every verdict from what
// report.json prints, the way a reader would with pencil and paper.
func TestConfidenceIsRecomputable(t *testing.T) {
	each(t, func(t *testing.T, _ string, m made) {
		r := m.result(t)
		for i := range r.Incidents {
			recompute(t, &r.Incidents[i])
		}
	})
}

// recompute holds an incident's confidence against its printed steps, and the
// steps against the printed evidence.
func recompute(t *testing.T, i *model.Incident) {
	t.Helper()
	require.NotEmpty(t, i.Score, i.Cause.ID)
	if i.Cause.ID == rules.Inconclusive {
		best := 0.0
		for _, a := range i.Alternatives {
			best = max(best, a.Confidence)
		}
		assert.InDelta(t, best, i.Cause.Confidence, 1e-9, "the confidence of an abstention is that of its best candidate")
		return
	}
	// One more support leaves less to doubt; a contradiction and a limit lower what
	// is there.
	doubt, value, lowered := 1.0, 0.0, false
	for _, s := range i.Score[:len(i.Score)-1] {
		claim, against := strings.CutPrefix(s.Text, "against: ")
		switch {
		case s.Group == "":
			value, lowered = min(value, s.Weight), true
		case against:
			value, lowered = value*(1-s.Weight), true
		default:
			require.False(t, lowered, "%s: a support after a limit", i.Cause.ID)
			doubt *= 1 - s.Weight
			value = 1 - doubt
		}
		assert.InDelta(t, value, s.Result, 1e-4, "%s: %s", i.Cause.ID, s.Text)
		if s.Group != "" {
			role := model.RoleFor
			if against {
				role = model.RoleAgainst
			}
			assert.True(t, slices.ContainsFunc(i.Evidence, func(e model.Evidence) bool {
				return e.Rule == i.Cause.ID && e.Role == role && e.Claim == claim && e.Weight == s.Weight && e.Excerpt != ""
			}), "%s: the step %q has no evidence that is quoted", i.Cause.ID, s.Text)
		}
	}
	last := i.Score[len(i.Score)-1]
	assert.InDelta(t, value, last.Result, 1e-4, i.Cause.ID)
	assert.InDelta(t, last.Result, i.Cause.Confidence, 1e-9, i.Cause.ID)
	assert.Equal(t, model.Word(i.Cause.Confidence), i.Cause.Word, i.Cause.ID)
	assert.LessOrEqual(t, i.Cause.Confidence, rules.Ceiling, i.Cause.ID)
}

// TestWhatWouldChange looks for what would turn each verdict, in the JSON and in
// the page.
func TestWhatWouldChange(t *testing.T) {
	each(t, func(t *testing.T, _ string, m made) {
		r, page := m.result(t), string(m.read(t, "report.md"))
		for _, i := range r.Incidents {
			assert.NotEmpty(t, i.WouldChange, i.Cause.ID)
		}
		assert.Equal(t, len(r.Incidents), strings.Count(page, "### What would change this verdict\n"), "a section in every incident")
	})
}
