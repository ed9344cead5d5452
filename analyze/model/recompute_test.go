package model

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRecompute(t *testing.T) {
	verdict := func(change func(*Incident)) *Incident {
		i := &Incident{Cause: Cause{ID: "a", Confidence: 0.55, Word: Word(0.55)},
			Evidence: []Evidence{{Role: RoleFor, Rule: "a", Claim: "One.", Weight: 0.5}, {Role: RoleFor, Rule: "a", Claim: "Two.", Weight: 0.5}, {Role: RoleAgainst, Rule: "a", Claim: "But.", Weight: 0.2}},
			Score: []ScoreStep{{Text: "One.", Group: "x", Weight: 0.5, Result: 0.5}, {Text: "Two.", Group: "y", Weight: 0.5, Result: 0.75},
				{Text: Against + "But.", Group: "z", Weight: 0.2, Result: 0.6}, {Text: "limit: packets alone", Weight: 0.55, Result: 0.55}, {Text: "confidence, possible", Result: 0.55}}}
		change(i)
		return i
	}
	got, err := verdict(func(*Incident) {}).Recompute()
	assert.NoError(t, err)
	assert.InDelta(t, 0.55, got, 1e-9)

	for name, change := range map[string]func(*Incident){
		"gives 0.7500, printed is 0.8000": func(i *Incident) { i.Score[1].Result = 0.8 },
		"rests on no evidence: Two.":      func(i *Incident) { i.Evidence = i.Evidence[:1] },
		"support after a limit":           func(i *Incident) { i.Score[1], i.Score[2] = i.Score[2], i.Score[1]; i.Score[1].Result = 0.4 },
		"the steps give 0.5500":           func(i *Incident) { i.Score[4].Result = 0.9 },
		"no steps":                        func(i *Incident) { i.Score = nil },
	} {
		_, err := verdict(change).Recompute()
		assert.ErrorContains(t, err, name)
	}

	open := &Incident{Cause: Cause{Word: Inconclusive}, Alternatives: []Alternative{{Confidence: 0.3}, {Confidence: 0.45}}}
	got, err = open.Recompute()
	assert.NoError(t, err)
	assert.InDelta(t, 0.45, got, 1e-9)
}
