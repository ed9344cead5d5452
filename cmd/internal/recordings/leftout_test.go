package recordings

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

var every = flag.Bool("every", false, "leave every input of every recording out in turn (minutes)")

// unsure is the confidence up to which another cause may take the place of the
// right one while something is missing.
const unsure = 0.5

// TestEachInputLeftOut takes the inputs away one by one: whichever it is, no other
// cause is put in the place of the one that all of them tell. With -every it does
// so with the recordings beside the checkout, whose causes are known.
func TestEachInputLeftOut(t *testing.T) {
	bundles, err := filepath.Glob("../../../fixtures/recordings/*/bundle.tar.gz")
	require.NoError(t, err)
	require.NotEmpty(t, bundles)
	expected := map[string]expectation{}
	if *every {
		more, err := filepath.Glob(filepath.Join(lab, "*", "bundle.tar.gz"))
		require.NoError(t, err)
		bundles = append(bundles, more...)
		text, err := os.ReadFile(filepath.Join(lab, "EXPECT.json"))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &expected))
	}
	for _, bundle := range bundles {
		name := filepath.Base(filepath.Dir(bundle))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var names []string
			full, _ := analyzeWithout(t, bundle, func(p string) bool { names = append(names, p); return false })
			told := map[string]int{}
			for _, left := range names {
				part, _ := analyzeWithout(t, bundle, func(p string) bool { return p == left })
				for pod, is := range causes(part) {
					told[compare(t, fmt.Sprintf("%s without %s", pod, left), causes(full)[pod], is, accepted(expected[name], full, pod))]++
				}
			}
			t.Logf("%d inputs left out in turn: %v", len(names), told)
		})
	}
}

// compare holds a verdict with less against that with all, and says what became
// of it.
func compare(t *testing.T, what string, was, is model.Cause, accept []string) string {
	t.Helper()
	switch {
	case is.ID == was.ID || slices.Contains(accept, is.ID):
		return "the same"
	case is.ID == rules.Inconclusive:
		return "open"
	case is.Confidence <= unsure:
		return "another, unsure"
	}
	assert.Fail(t, "another cause", "%s: %s %.2f became %s %.2f", what, was.ID, was.Confidence, is.ID, is.Confidence)
	return "another"
}

// accepted are the causes that count as right for a pod: those that EXPECT.json
// names, and those that the verdict with all inputs names as part of it.
func accepted(e expectation, full *model.Result, pod string) []string {
	var out []string
	for _, s := range e.Subjects {
		if s.Subject == pod || strings.HasPrefix(s.Subject, "node:") {
			out = append(out, s.Accept...)
		}
	}
	if slices.Contains(e.Healthy, pod) {
		out = append(out, e.MayHave...)
	}
	for _, i := range incidentsOf(full, pod) {
		out = append(out, i.Cause.ID)
		for _, c := range i.Contributing {
			if c.Confidence >= rules.AbstainBelow {
				out = append(out, c.ID)
			}
		}
	}
	return out
}
