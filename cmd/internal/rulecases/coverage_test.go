package rulecases

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/fixtures"
)

// TestEveryRuleHasCases refuses a rule that nobody showed at work: one input that
// it names, and one that only looks like it.
func TestEveryRuleHasCases(t *testing.T) {
	for _, r := range rules.Rules() {
		for _, kind := range []string{"fires", "quiet"} {
			files, err := fs.Glob(fixtures.FS, "rules/"+r.ID+"/"+kind+"-*.txtar")
			require.NoError(t, err)
			assert.NotEmpty(t, files, "%s has no case fixtures/rules/%s/%s-*.txtar", r.ID, r.ID, kind)
		}
	}
}
