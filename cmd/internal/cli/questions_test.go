package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

// Every cause rests on a question, so that the inventory can say what stays
// unproven; what rests on one is a cause.
func TestQuestionsNameEveryCause(t *testing.T) {
	named := map[string]bool{}
	for _, q := range questions {
		assert.NotEmpty(t, q.rests, q.text)
		assert.IsIncreasing(t, q.rests, q.text)
		for _, id := range q.rests {
			assert.NotNil(t, rules.Lookup(id), "%s: no cause has the id %s", q.text, id)
			named[id] = true
		}
	}
	for _, r := range rules.Rules() {
		if r.ID != "inconclusive" {
			assert.True(t, named[r.ID], "%s rests on no question", r.ID)
		}
	}
}
