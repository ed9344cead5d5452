package rulecases

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/cmd/internal/cli"
	"github.com/probe-forensics/probe-forensics/report"
)

var (
	update     = flag.Bool("update", false, "rewrite the part about the cases in docs/evaluation.md")
	recordings = flag.String("recordings", "", "folder of labelled recordings: evaluate them too and rewrite docs/evaluation.md")
)

const evaluationPage = "../../../docs/evaluation.md"

// judged is what became of one subject whose cause is known.
type judged struct {
	where, subject string
	accept         []string // causes that count as right, the best first
	got            string   // "" when no incident is about the subject
	confidence     float64
	right          bool
}

// tally is the outcome of a set of inputs.
type tally struct {
	inputs      int
	verdicts    []judged
	falseAlarms []string
}

// TestEvaluation counts how often verdicts are right and holds the page against
// it. What the cases give must be in step; the recordings are counted when they
// are asked for: make eval.
func TestEvaluation(t *testing.T) {
	committed, err := os.ReadFile(evaluationPage)
	if !*update && *recordings == "" {
		require.NoError(t, err)
	}
	cases := evaluateCases(t)
	measured := section(string(committed), headRecordings)
	if *recordings != "" {
		measured = evaluateRecordings(t, *recordings).section(headRecordings, introRecordings)
	}
	page := evaluationIntro + measured + cases.section(headCases, introCases)
	if *update || *recordings != "" {
		require.NoError(t, os.WriteFile(evaluationPage, []byte(page), 0o644))
		return
	}
	assert.Equal(t, string(committed), page, "%s is not in step: run make generate", path.Base(evaluationPage))
}

// evaluateCases runs the firing cases of all rules, the whole cases, and the
// quiet cases, whose rule must not fire.
func evaluateCases(t *testing.T) tally {
	files := slices.Concat(list(t, "rules/*/*.txtar"), list(t, "cases/*.txtar"))
	each := make([]tally, len(files))
	t.Run("cases", func(t *testing.T) {
		for n, f := range files {
			t.Run(strings.TrimSuffix(f, ".txtar"), func(t *testing.T) {
				t.Parallel()
				each[n] = evaluateCase(t, f, load(t, f))
			})
		}
	})
	return sum(each)
}

func evaluateCase(t *testing.T, name string, c testcase) tally {
	out := tally{inputs: 1}
	r := analyze(t, c.inputs)
	if strings.HasPrefix(path.Base(name), "quiet-") {
		id := path.Base(path.Dir(name))
		for _, i := range r.Incidents {
			if i.Cause.ID == id {
				out.falseAlarms = append(out.falseAlarms, name+": "+id)
			}
		}
		return out
	}
	for _, w := range c.want {
		switch w.verb {
		case "none":
			for _, i := range r.Incidents {
				out.falseAlarms = append(out.falseAlarms, name+": "+i.Cause.ID)
			}
		case "primary":
			most := rules.Ceiling
			if s := w.opts["max"]; s != "" {
				most = number(t, s, most)
			}
			j := judged{where: name, subject: w.opts["pod"] + w.opts["node"], accept: []string{w.id}}
			j.judge(r.Incidents, most, func(i *model.Incident) bool { return matches(i, w) })
			out.verdicts = append(out.verdicts, j)
		}
	}
	return out
}

// judge takes the incident about the subject with most failed attempts, of equals
// the one that is right.
func (j *judged) judge(all []model.Incident, most float64, about func(*model.Incident) bool) {
	var best *model.Incident
	for n := range all {
		i := &all[n]
		if !about(i) {
			continue
		}
		if best == nil || i.FailedAttempts > best.FailedAttempts ||
			i.FailedAttempts == best.FailedAttempts && !slices.Contains(j.accept, best.Cause.ID) && slices.Contains(j.accept, i.Cause.ID) {
			best = i
		}
	}
	if best != nil {
		j.got, j.confidence = best.Cause.ID, best.Cause.Confidence
		j.right = slices.Contains(j.accept, j.got) && j.confidence <= most && len(best.Evidence) > 0
	}
}

// label is what EXPECT.json says about one recording.
type label struct {
	Subjects []struct {
		Subject string   `json:"subject"`
		Accept  []string `json:"accept"`
		Most    float64  `json:"max_confidence"`
	} `json:"subjects"`
	Healthy []string `json:"healthy"`
	MayHave []string `json:"healthy_may_have"`
}

// evaluateRecordings runs every labelled recording of a folder. A subject of a
// node is right if any incident of the node is.
func evaluateRecordings(t *testing.T, dir string) tally {
	data, err := os.ReadFile(filepath.Join(dir, "EXPECT.json"))
	require.NoError(t, err)
	var labels map[string]label
	require.NoError(t, json.Unmarshal(data, &labels))
	names := make([]string, 0, len(labels))
	for n := range labels {
		names = append(names, n)
	}
	slices.Sort(names)
	each := make([]tally, len(names))
	t.Run("recordings", func(t *testing.T) {
		for n, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				each[n] = evaluateRecording(t, name, filepath.Join(dir, name, "bundle.tar.gz"), labels[name])
			})
		}
	})
	return sum(each)
}

func evaluateRecording(t *testing.T, name, bundle string, l label) tally {
	dir := t.TempDir()
	var told bytes.Buffer
	code := cli.Main([]string{"analyze", bundle, "-f", "json", "-o", dir, "--no-progress"}, strings.NewReader(""), &told, &told, func(string) string { return "" })
	require.Equal(t, cli.ExitDone, code, told.String())
	f, err := os.Open(filepath.Join(dir, "report.json"))
	require.NoError(t, err)
	defer f.Close()
	r, err := report.ReadJSON(f)
	require.NoError(t, err)
	out := tally{inputs: 1}
	for _, s := range l.Subjects {
		j := judged{where: name, subject: s.Subject, accept: s.Accept}
		most := rules.Ceiling
		if s.Most > 0 {
			most = s.Most
		}
		glob, node := strings.CutPrefix(s.Subject, "node:")
		about := func(i *model.Incident) bool { return concerns(i, s.Subject) }
		if node {
			named := slices.ContainsFunc(r.Incidents, func(i model.Incident) bool { return slices.Contains(s.Accept, i.Cause.ID) })
			about = func(i *model.Incident) bool {
				ok, _ := path.Match(glob, i.Node)
				return ok && (!named || slices.Contains(s.Accept, i.Cause.ID))
			}
		}
		j.judge(r.Incidents, most, about)
		out.verdicts = append(out.verdicts, j)
	}
	for _, h := range l.Healthy {
		for n := range r.Incidents {
			if i := &r.Incidents[n]; concerns(i, h) && i.Cause.Confidence >= rules.AbstainBelow && !slices.Contains(l.MayHave, i.Cause.ID) {
				out.falseAlarms = append(out.falseAlarms, name+": "+h+" "+i.Cause.ID)
			}
		}
	}
	return out
}

func concerns(i *model.Incident, pod string) bool {
	return slices.ContainsFunc(i.Subjects, func(s model.Subject) bool { return s.Namespace+"/"+s.Pod == pod })
}

func sum(all []tally) tally {
	var out tally
	for _, o := range all {
		out.inputs += o.inputs
		out.verdicts = append(out.verdicts, o.verdicts...)
		out.falseAlarms = append(out.falseAlarms, o.falseAlarms...)
	}
	return out
}
