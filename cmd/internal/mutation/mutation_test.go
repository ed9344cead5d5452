package mutation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/fixtures"
	"github.com/probe-forensics/probe-forensics/parsers"
)

var (
	rounds = flag.Int("rounds", 0, "damage every recording this often in each way; 0 damages the demo bundle only")
	update = flag.Bool("update", false, "write the figures to docs/reliability.md")
)

// patience is how long one small bundle may take on a busy machine before it
// counts as a hang.
const patience = 2 * time.Minute

// sure is the confidence from which people act on a verdict.
const sure = 0.7

// figures count the outcomes of one way to damage a bundle.
type figures struct{ runs, unreadable, same, weaker, changed, untouched int }

// TestDamagedBundles damages bundles in every way. Nothing may panic, hang, or
// fail other than with "nothing readable"; another order of members must change
// nothing, and damage to a pod's own files must leave all other verdicts alone.
func TestDamagedBundles(t *testing.T) {
	bundles := []string{"../../../fixtures/demo/bundle.tar.gz"}
	n := 6
	if *rounds > 0 {
		var err error
		bundles, err = filepath.Glob("../../../../shared/corpus/lab/*/bundle.tar.gz")
		require.NoError(t, err)
		n = *rounds
		if len(bundles) == 0 {
			t.Skip("the recordings are not beside the checkout")
		}
	}
	total := make([]figures, len(kinds))
	for b, path := range bundles {
		name := filepath.Base(filepath.Dir(path))
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		members, err := fixtures.Members(bytes.NewReader(whole))
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "bundle.tar.gz")
		base, err := analyse(t, file, whole)
		require.NoError(t, err)
		for k := range kinds {
			for round := range n {
				r := rand.New(rand.NewPCG(uint64(b), uint64(k*1000+round)))
				what := fmt.Sprintf("%s: %s, round %d", name, kinds[k].name, round)
				damaged, touched, err := kinds[k].apply(r, whole, members)
				require.NoError(t, err, what)
				got, err := analyse(t, file, damaged)
				f := &total[k]
				f.runs++
				if unreadable := (*parsers.UnreadableError)(nil); errors.As(err, &unreadable) {
					f.unreadable++
					continue
				}
				if !assert.NoError(t, err, what) {
					continue
				}
				if kinds[k].same {
					assert.Equal(t, asJSON(t, base.Incidents), asJSON(t, got.Incidents), "%s: the order of members changed a verdict", what)
				}
				if pod, ok := podOf(touched); ok {
					f.untouched++
					assert.Equal(t, verdicts(base, pod), verdicts(got, pod), "%s: damage to the files of %s changed another's verdict", what, pod)
				}
				if from, to := f.count(base, got); to != "" {
					t.Logf("%s: %s became %s", what, from, to)
				}
			}
		}
	}
	for k, f := range total {
		t.Logf("%-12s %+v", kinds[k].name, f)
	}
	if *update {
		require.NoError(t, os.WriteFile("../../../docs/reliability.md", page(total, len(bundles)), 0o644))
	}
}

// count sorts a run by what became of the sure verdicts: all kept, some weaker
// or gone, or one joined or replaced by a sure cause that was not there before;
// that one is returned.
func (f *figures) count(base, got *model.Result) (subject, to string) {
	before, after := causes(base), causes(got)
	same := true
	for _, subject := range slices.Sorted(maps.Keys(before)) {
		for id := range after[subject] {
			if !before[subject][id] {
				f.changed++
				return subject + ": " + strings.Join(slices.Sorted(maps.Keys(before[subject])), ", "), id
			}
		}
		same = same && len(after[subject]) == len(before[subject])
	}
	if same {
		f.same++
	} else {
		f.weaker++
	}
	return "", ""
}

// causes maps each failing probe to its sure causes.
func causes(r *model.Result) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, i := range r.Incidents {
		for _, s := range i.Subjects {
			key := s.Namespace + "/" + s.Pod + " " + s.Container + " " + s.Probe
			if out[key] == nil {
				out[key] = map[string]bool{}
			}
			if i.Cause.Confidence >= sure {
				out[key][i.Cause.ID] = true
			}
		}
	}
	return out
}

// verdicts lists the incidents that do not concern a pod: cause and confidence.
func verdicts(r *model.Result, except string) []string {
	out := []string{}
	for _, i := range r.Incidents {
		var subjects []string
		for _, s := range i.Subjects {
			subjects = append(subjects, s.Namespace+"/"+s.Pod)
		}
		if text := strings.Join(subjects, " "); !strings.Contains(text, except) {
			out = append(out, fmt.Sprintf("%s: %s %.2f", text, i.Cause.ID, i.Cause.Confidence))
		}
	}
	return out
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(b)
}

// analyse runs the whole path over a bundle.
func analyse(t *testing.T, path string, bundle []byte) (*model.Result, error) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, bundle, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := parsers.Open(ctx, []string{path}, parsers.Options{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return analyze.Run(ctx, c, nil, analyze.Options{})
}

// page renders docs/reliability.md.
func page(total []figures, bundles int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Reliability

What damage does to an analysis. `+"`make mutation`"+` damages every recording (%d of them) in each of these ways, from a fixed
seed, runs the whole analysis, and writes this page. None of the runs may panic, hang or end in an error other than
"nothing readable"; the test fails otherwise.

- **unreadable**: nothing was left to read, and the tool said so.
- **kept**: every sure verdict (%.1f and above) was as before.
- **weaker**: a sure verdict was gone or no longer sure; no other took its place.
- **changed**: a failing probe got a sure cause that it had not before: a more general one, as when the file that
  declares the container's ports is gone, or the cause of failures that a stronger verdict had explained.
- **others alone**: runs in which only the files of one pod were damaged; the verdicts of all others were equal to the
  second digit of their confidence.

| damage | runs | unreadable | kept | weaker | changed | others alone |
|---|---|---|---|---|---|---|
`, bundles, sure)
	var sum figures
	for k, f := range total {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d |\n", kinds[k].doc, f.runs, f.unreadable, f.same, f.weaker, f.changed, f.untouched)
		sum = figures{sum.runs + f.runs, sum.unreadable + f.unreadable, sum.same + f.same, sum.weaker + f.weaker, sum.changed + f.changed, sum.untouched + f.untouched}
	}
	fmt.Fprintf(&b, "| all | %d | %d | %d | %d | %d | %d |\n", sum.runs, sum.unreadable, sum.same, sum.weaker, sum.changed, sum.untouched)
	return b.Bytes()
}
