package rulecases

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/fixtures"
)

// TestPairs shows for two look-alikes that what tells them apart does so, and that
// without it the verdict says that it cannot tell.
func TestPairs(t *testing.T) {
	for _, f := range list(t, "pairs/*.txtar") {
		name := strings.TrimSuffix(path.Base(f), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, _ := strings.Cut(name, "--")
			c := load(t, f)
			require.NotEmpty(t, c.wants, "the case has no file \"want-without\"")
			primary := slices.IndexFunc(c.want, func(w wish) bool { return w.verb == "primary" && (w.id == a || w.id == b) })
			assert.GreaterOrEqual(t, primary, 0, "neither of the two is to come out")
			unsettled := slices.ContainsFunc(c.wants, func(w wish) bool {
				return (w.verb == "ambiguous" || w.verb == "unclaimed") && strings.HasPrefix(w.text, a+" "+b)
			})
			assert.True(t, unsettled, "the case does not say what is left open")
			check(t, c.want, analyze(t, c.inputs))
			check(t, c.wants, analyze(t, c.fewer))
		})
	}
}

// TestEveryPairHasACase refuses a look-alike that nobody put beside its cause.
// What remains open without any cause is no pair.
func TestEveryPairHasACase(t *testing.T) {
	pairs := map[string]bool{}
	for _, r := range rules.Rules() {
		for _, l := range r.LookAlikes {
			if r.ID == rules.Inconclusive || l.ID == rules.Inconclusive {
				continue
			}
			pairs[min(r.ID, l.ID)+"--"+max(r.ID, l.ID)] = true
		}
	}
	for p := range pairs {
		_, err := fs.Stat(fixtures.FS, "pairs/"+p+".txtar")
		assert.NoError(t, err, "no case shows what tells the two apart")
	}
	for _, f := range list(t, "pairs/*.txtar") {
		assert.True(t, pairs[strings.TrimSuffix(path.Base(f), ".txtar")], "%s: no rule names the two as look-alikes", f)
	}
}
