// Package rulecases runs the cases of fixtures/rules through readers and
// analysis, all rules at once. A case is a txtar archive: its files are the
// inputs, "want" says what must come out.
//
//	fixtures/rules/<id>/fires-*.txtar   the rule names the cause
//	fixtures/rules/<id>/quiet-*.txtar   a look-alike: another cause, or none
//
// Lines of "want":
//
//	primary ID [pod=NS/NAME] [node=NAME] [sub=REASON] [min=0.40] [max=0.97]
//	contributing ID      of the primary incident named before
//	alternative ID       not chosen there, with the reason told
//	none                 no incident at all
package rulecases

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/fixtures"
	"github.com/probe-forensics/probe-forensics/parsers"
)

func TestCases(t *testing.T) {
	files, err := fs.Glob(fixtures.FS, "rules/*/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		id := path.Base(path.Dir(f))
		t.Run(id+"/"+strings.TrimSuffix(path.Base(f), ".txtar"), func(t *testing.T) {
			t.Parallel()
			require.NotNil(t, rules.Lookup(id), "no rule has this id")
			data, err := fs.ReadFile(fixtures.FS, f)
			require.NoError(t, err)
			want, r := run(t, txtar.Parse(data))
			switch name := path.Base(f); {
			case strings.HasPrefix(name, "fires-"):
				assert.True(t, slices.ContainsFunc(want, func(w wish) bool { return w.id == id && w.verb != "alternative" }), "the case does not ask for its own rule")
			case strings.HasPrefix(name, "quiet-"):
				for _, i := range r.Incidents {
					assert.NotEqual(t, id, i.Cause.ID, "the rule must stay quiet")
				}
			default:
				t.Errorf("%s: neither fires- nor quiet-", name)
			}
			check(t, want, r)
		})
	}
}

// wish is a line of "want".
type wish struct {
	verb, id string
	opts     map[string]string
}

func run(t *testing.T, ar *txtar.Archive) ([]wish, *model.Result) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "case")
	var want []wish
	for _, f := range ar.Files {
		if f.Name == "want" {
			for line := range strings.Lines(string(f.Data)) {
				w := strings.Fields(line)
				if len(w) == 0 {
					continue
				}
				wi := wish{verb: w[0], opts: map[string]string{}}
				for _, o := range w[1:] {
					if k, v, ok := strings.Cut(o, "="); ok {
						wi.opts[k] = v
					} else {
						wi.id = o
					}
				}
				want = append(want, wi)
			}
			continue
		}
		p := filepath.Join(dir, filepath.FromSlash(f.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, f.Data, 0o644))
	}
	require.NotEmpty(t, want, "the case has no file \"want\"")
	c, err := parsers.Open(context.Background(), []string{dir}, parsers.Options{Workers: 1})
	require.NoError(t, err)
	defer func() { assert.NoError(t, c.Close()) }()
	for _, p := range c.Problems() {
		t.Errorf("problem in an input: %s", p)
	}
	var in []analyze.InputInfo
	for _, i := range c.Inputs() {
		in = append(in, analyze.InputInfo{Path: i.Path, SHA256: i.SHA256, Bytes: i.Bytes})
	}
	r, err := analyze.Run(context.Background(), c, in, analyze.Options{})
	require.NoError(t, err)
	return want, r
}

func check(t *testing.T, want []wish, r *model.Result) {
	t.Helper()
	var told []string
	for _, i := range r.Incidents {
		told = append(told, describe(&i))
	}
	all := strings.Join(told, "\n")
	var inc *model.Incident
	for _, w := range want {
		switch w.verb {
		case "none":
			assert.Empty(t, r.Incidents, all)
		case "primary":
			inc = nil
			for i := range r.Incidents {
				if matches(&r.Incidents[i], w) && (inc == nil || r.Incidents[i].Cause.ID == w.id) {
					inc = &r.Incidents[i]
				}
			}
			require.NotNil(t, inc, "no incident of the subject\n%s", all)
			if !assert.Equal(t, w.id, inc.Cause.ID, all) {
				continue
			}
			assert.NotEmpty(t, inc.Evidence, "a verdict without evidence")
			if s := w.opts["sub"]; s != "" {
				assert.Equal(t, s, inc.Cause.SubReason)
			}
			least := 0.0
			if w.id != rules.Inconclusive {
				least = rules.AbstainBelow
			}
			assert.GreaterOrEqual(t, inc.Cause.Confidence, number(t, w.opts["min"], least), all)
			assert.LessOrEqual(t, inc.Cause.Confidence, number(t, w.opts["max"], rules.Ceiling), all)
		case "contributing":
			require.NotNil(t, inc)
			assert.True(t, slices.ContainsFunc(inc.Contributing, func(c model.Contributing) bool { return c.ID == w.id }), "%s does not contribute\n%s", w.id, all)
		case "alternative":
			require.NotNil(t, inc)
			assert.True(t, slices.ContainsFunc(inc.Alternatives, func(a model.Alternative) bool { return a.ID == w.id && a.WhyNot != "" }), "%s is no alternative\n%s", w.id, all)
		default:
			t.Errorf("want: unknown word %q", w.verb)
		}
	}
}

func matches(i *model.Incident, w wish) bool {
	if n, ok := w.opts["node"]; ok {
		return i.Scope == model.ScopeNode && i.Node == n
	}
	pod, ok := w.opts["pod"]
	return !ok || slices.ContainsFunc(i.Subjects, func(s model.Subject) bool { return s.Namespace+"/"+s.Pod == pod })
}

func number(t *testing.T, s string, otherwise float64) float64 {
	t.Helper()
	if s == "" {
		return otherwise
	}
	v, err := strconv.ParseFloat(s, 64)
	require.NoError(t, err)
	return v
}

// describe tells an incident with its arithmetic: what a failing case needs.
func describe(i *model.Incident) string {
	var b strings.Builder
	b.WriteString(i.Scope + " " + i.Node + " " + i.Cause.ID + " " + i.Cause.SubReason + " " + strconv.FormatFloat(i.Cause.Confidence, 'f', 2, 64))
	for _, s := range i.Subjects {
		b.WriteString(" " + s.Namespace + "/" + s.Pod + ":" + s.Probe)
	}
	for _, s := range i.Score {
		b.WriteString("\n    " + strconv.FormatFloat(s.Result, 'f', 2, 64) + " " + s.Text)
	}
	for _, c := range i.Contributing {
		b.WriteString("\n    + " + c.ID + " " + strconv.FormatFloat(c.Confidence, 'f', 2, 64))
	}
	for _, a := range i.Alternatives {
		b.WriteString("\n    - " + a.ID + " " + strconv.FormatFloat(a.Confidence, 'f', 2, 64) + ": " + a.WhyNot)
	}
	return b.String()
}
