package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Every observation that a rule may ask for answers one question, so that each
// cause rests on one and the inventory can say what stays unproven.
func TestQuestionsCoverEveryObservation(t *testing.T) {
	answers := map[string]string{}
	for _, q := range questions {
		assert.NotEmpty(t, restingOn(q.observed), q.text)
		for _, id := range q.observed {
			_, ok := rules.MissingObservation(id)
			assert.True(t, ok, "%s: no observation %s", q.text, id)
			assert.Empty(t, answers[id], "%s answers two questions", id)
			answers[id] = q.text
		}
	}
	for _, id := range rules.ObservationIDs() {
		assert.NotEmpty(t, answers[id], "%s answers no question", id)
	}
	for _, a := range ask(map[event.Kind][]event.StreamID{event.KindFlow: {3}}) {
		assert.Equal(t, len(a.Streams) == 0, len(a.Unproven) > 0, a.Question)
	}
	assert.Contains(t, restingOn([]string{rules.MissL2Tables}), "stale-neighbour")
}
