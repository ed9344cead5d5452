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

// recompute holds an incident's confidence against its printed steps, and these
// against evidence that is quoted.
func recompute(t *testing.T, i *model.Incident) {
	t.Helper()
	got, err := i.Recompute()
	require.NoError(t, err)
	assert.InDelta(t, got, i.Cause.Confidence, 1e-9, i.Cause.ID)
	if i.Cause.ID == rules.Inconclusive {
		return
	}
	assert.Equal(t, model.Word(i.Cause.Confidence), i.Cause.Word, i.Cause.ID)
	assert.LessOrEqual(t, i.Cause.Confidence, rules.Ceiling, i.Cause.ID)
	for _, s := range i.Score {
		claim := strings.TrimPrefix(s.Text, model.Against)
		assert.True(t, s.Group == "" || slices.ContainsFunc(i.Evidence, func(e model.Evidence) bool {
			return e.Rule == i.Cause.ID && e.Claim == claim && e.Excerpt != ""
		}), "%s: the step %q has no evidence that is quoted", i.Cause.ID, s.Text)
	}
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
