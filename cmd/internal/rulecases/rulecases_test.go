// Package rulecases runs cases through the whole command line, all rules at
// once. A case is a txtar archive: its files are the inputs, "want" says what
// must come out.
//
//	fixtures/rules/<id>/fires-*.txtar   the rule names the cause
//	fixtures/rules/<id>/quiet-*.txtar   a look-alike: another cause, or none
//	fixtures/cases/*.txtar              whole cases, after public reports
//	fixtures/pairs/<a>--<b>.txtar       two look-alikes, with and without what tells them apart
//
// The comment of a case may hold lines of its own:
//
//	inputs: rules/<id>/<file>.txtar     take that case's inputs; own files are added or replace them
//	without: <file> ...                 leave these inputs out
//	unsaid: <file> TEXT                 leave out the lines that hold TEXT
//	reworded: <file> OLD => NEW         say NEW for OLD
//
// In a case of a pair these lines make what is left of it, held against
// "want-without"; "unsaid: *" and "reworded: *" change the whole case.
//
// Lines of "want":
//
//	primary ID [pod=NS/NAME] [node=NAME] [sub=REASON] [min=0.40] [max=0.97]
//	contributing ID      of the primary incident named before
//	alternative ID       not chosen there, with the reason told
//	missing TEXT         asked for there, TEXT being part of what
//	present TEXT         not asked for there, for it is at hand
//	told TEXT            a claim of its evidence says TEXT
//	silent TEXT          no claim of its evidence says TEXT
//	ambiguous A B        neither is claimed above 0.7, both are named, and what would settle it is asked for
//	unclaimed A B        neither is claimed above 0.7, and where there is a verdict, it asks for something
//	none                 no incident at all
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

func TestCases(t *testing.T) {
	for _, f := range list(t, "rules/*/*.txtar") {
		id := path.Base(path.Dir(f))
		t.Run(id+"/"+strings.TrimSuffix(path.Base(f), ".txtar"), func(t *testing.T) {
			t.Parallel()
			require.NotNil(t, rules.Lookup(id), "no rule has this id")
			c := load(t, f)
			r := analyze(t, c.inputs)
			switch name := path.Base(f); {
			case strings.HasPrefix(name, "fires-"):
				assert.True(t, slices.ContainsFunc(c.want, func(w wish) bool { return w.id == id && w.verb != "alternative" }), "the case does not ask for its own rule")
			case strings.HasPrefix(name, "quiet-"):
				for _, i := range r.Incidents {
					assert.NotEqual(t, id, i.Cause.ID, "the rule must stay quiet")
				}
			default:
				t.Errorf("%s: neither fires- nor quiet-", name)
			}
			check(t, c.want, r)
		})
	}
}

// TestWholeCases runs cases made after public reports.
func TestWholeCases(t *testing.T) {
	for _, f := range list(t, "cases/*.txtar") {
		t.Run(strings.TrimSuffix(path.Base(f), ".txtar"), func(t *testing.T) {
			t.Parallel()
			c := load(t, f)
			check(t, c.want, analyze(t, c.inputs))
		})
	}
}

// list returns the fixtures that match a pattern.
func list(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := fs.Glob(fixtures.FS, pattern)
	require.NoError(t, err)
	return files
}
