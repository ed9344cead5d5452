package rulecases

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

// check holds a result against the lines of a "want".
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
				if o := &r.Incidents[i]; matches(o, w) && (inc == nil || inc.Cause.ID != w.id && o.Cause.ID == w.id) {
					inc = o
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
		case "missing":
			if inc == nil || w.opts["pod"]+w.opts["node"] != "" {
				inc = asking(r, w)
			}
			require.NotNil(t, inc, "no incident of the subject\n%s", all)
			assert.True(t, slices.ContainsFunc(inc.Missing, func(m model.Missing) bool { return strings.Contains(m.What, w.phrase()) }), "%q is not asked for: %v", w.phrase(), inc.Missing)
		case "present":
			require.NotNil(t, inc)
			assert.False(t, slices.ContainsFunc(inc.Missing, func(m model.Missing) bool { return strings.Contains(m.What, w.text) }), "%q is at hand, and still asked for", w.text)
		case "ambiguous", "unclaimed":
			checkUnsettled(t, w, r, all)
		case "told", "silent":
			require.NotNil(t, inc)
			told := slices.ContainsFunc(inc.Evidence, func(e model.Evidence) bool { return strings.Contains(e.Claim, w.text) })
			assert.Equal(t, w.verb == "told", told, "%s %q: %v", w.verb, w.text, inc.Evidence)
		default:
			t.Errorf("want: unknown word %q", w.verb)
		}
	}
}

// asking returns the incident of a subject that asks for most.
func asking(r *model.Result, w wish) *model.Incident {
	var most *model.Incident
	for n := range r.Incidents {
		if i := &r.Incidents[n]; matches(i, w) && (most == nil || len(i.Missing) > len(most.Missing)) {
			most = i
		}
	}
	return most
}

// settledFrom is the confidence above which a verdict passes for settled.
const settledFrom = 0.7

// checkUnsettled demands that a result does not choose between two causes.
func checkUnsettled(t *testing.T, w wish, r *model.Result, all string) {
	t.Helper()
	pair := strings.Fields(w.text)[:2]
	told := false
	for n := range r.Incidents {
		i := &r.Incidents[n]
		if !matches(i, w) {
			continue
		}
		if slices.Contains(pair, i.Cause.ID) {
			assert.LessOrEqual(t, i.Cause.Confidence, settledFrom, "a claim that the inputs do not allow\n%s", all)
		}
		if i.Cause.Word != model.Confirmed {
			assert.NotEmpty(t, i.Missing, "nothing is asked for\n%s", all)
		}
		for _, m := range i.Missing {
			assert.NotEmpty(t, m.HowToCollect)
		}
		told = told || names(i, pair[0]) && names(i, pair[1])
	}
	if w.verb == "ambiguous" {
		assert.True(t, told, "no incident names both\n%s", all)
	}
}

// names reports whether an incident speaks of a cause: as its own, among others,
// or as what it would be.
func names(i *model.Incident, id string) bool {
	return i.Cause.ID == id ||
		slices.ContainsFunc(i.Contributing, func(c model.Contributing) bool { return c.ID == id }) ||
		slices.ContainsFunc(i.Alternatives, func(a model.Alternative) bool { return a.ID == id }) ||
		slices.ContainsFunc(i.WouldChange, func(s string) bool { return strings.Contains(s, "It would be "+id+" ") })
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
