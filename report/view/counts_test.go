package view

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

func TestCountsSayWhatBecameOfTheOthers(t *testing.T) {
	for want, n := range map[string]Counts{
		"":                                       {},
		"16 of 27 attempts failed, 11 succeeded": {Failed: 16, Succeeded: 11, Shown: true},
		"the only attempt failed":                {Failed: 1, Shown: true},
		"all 26 attempts failed":                 {Failed: 26, Shown: true},
		"all 26 attempts failed, 2 more due and not seen":                   {Failed: 26, Missing: 2, Shown: true},
		"1 attempt failed (good ones leave no record in these inputs)":      {Failed: 1},
		"1,056 attempts failed (good ones leave no record in these inputs)": {Failed: 1056},
		"2 of 4 attempts failed, 1 succeeded, 1 with an unknown result":     {Failed: 2, Succeeded: 1, Unknown: 1, Shown: true},
		"2 of 3 attempts failed, 0 succeeded, 1 with an unknown result":     {Failed: 2, Unknown: 1},
		"3 of 5 attempts failed, 2 succeeded, 1 more due and not seen":      {Failed: 3, Succeeded: 2, Missing: 1, Shown: true},
	} {
		assert.Equal(t, want, n.String())
	}
}

// case of two probes of one pod: readiness with good attempts, liveness of
// which only failures were logged.
func mixed() *Case {
	const s = 1e9
	row := func(probe, outcome, incident string, end event.Nanos) model.Attempt {
		return model.Attempt{ID: probe + outcome, Namespace: "shop", Pod: "web-0", UID: "u", Container: "web", Probe: probe,
			Outcome: outcome, Incident: incident, Start: end - s/2, End: end, Count: 1}
	}
	subject := func(probe string, failed, total int) model.Subject {
		return model.Subject{Namespace: "shop", Pod: "web-0", UID: "u", Container: "web", Probe: probe, FailedAttempts: failed, TotalAttempts: total}
	}
	res := &model.Result{Incidents: []model.Incident{{
		ID: "i", Scope: model.ScopePod, Trigger: model.TriggerAttempts, FailedAttempts: 3, TotalAttempts: 4,
		Window:   model.Window{First: model.At(99.5 * s), Last: model.At(110 * s)},
		Subjects: []model.Subject{subject("readiness", 2, 3), subject("liveness", 1, 1)},
		Evidence: []model.Evidence{
			{Role: model.RoleFor, Claim: "It was the network.", Time: model.At(100 * s), Ref: model.Ref{Stream: 1, Line: 7, Offset: 70}, Excerpt: "Probe failed"},
			{Role: model.RoleFor, Claim: "The runtime is to blame.", Time: model.At(101 * s), Ref: model.Ref{Stream: 1, Line: 8, Offset: 80},
				Excerpt: "Dec 02 05:00:00 node kubelet[7]: I1202 05:00:00.000000 7 util.go:52] \"No ready\n sandbox\" pod=\"shop/web-0\""},
			{Role: model.RoleContext, Claim: "Nothing else happened.", Time: model.At(102 * s), Ref: model.Ref{Stream: 1, Line: 9}, Excerpt: "context"},
		},
		Consequences: []model.Consequence{{Kind: "ready", Text: "shop/web-0 became not ready", At: model.At(103 * s), Ref: model.Ref{Stream: 1, Line: 10}}},
	}}}
	failed := row("readiness", "failure", "i", 100*s)
	failed.Refs = []event.Ref{{Stream: 1, Line: 7}}
	res.Tables.Attempts = []model.Attempt{
		row("readiness", "success", "", 90*s), // before the window
		failed,
		row("readiness", "success", "", 105*s),
		row("readiness", "failure", "i", 110*s),
		row("readiness", "missing", "", 108*s),
		row("readiness", "success", "", 120*s), // after it
		row("liveness", "failure", "i", 104*s),
	}
	return Index(res)
}

func TestCountsOfAnIncident(t *testing.T) {
	c := mixed()
	in := c.Incidents[0]
	assert.Equal(t, Counts{Failed: 2, Succeeded: 1, Missing: 1, Shown: true}, in.SubjectCounts(in.Subjects[0]))
	assert.Equal(t, Counts{Failed: 1}, in.SubjectCounts(in.Subjects[1]))
	assert.Equal(t, "not recorded", in.SubjectCounts(in.Subjects[1]).Good())
	assert.Equal(t, "1 pod, 2 probes; 3 of 4 attempts failed, 1 succeeded, 1 more due and not seen", Affected(in))
}

// A timeline holds what records say and what states were, never what follows.
func TestTimelineHoldsNoConclusions(t *testing.T) {
	c := mixed()
	in := c.Incidents[0]
	var texts []string
	for _, f := range c.Timeline(in) {
		texts = append(texts, f.Pod+"|"+f.Text+"|"+f.Quote)
		for _, e := range in.Evidence {
			assert.NotContains(t, f.Text+f.Quote, e.Claim)
		}
	}
	assert.Equal(t, []string{
		"shop/web-0|web readiness probe failed|failure",
		`|record|"No ready sandbox" pod="shop/web-0"`,
		"shop/web-0|became not ready|",
		"shop/web-0|web liveness probe failed|failure",
		"shop/web-0|web readiness probe failed|failure",
	}, texts)
}

func TestMessageDropsHeadersAlone(t *testing.T) {
	for in, want := range map[string]string{
		"Dec 02 05:00:00 node kubelet[7]: plain":                         "plain",
		"2026-12-02T05:00:00Z node crio[9]: time=\"x\" msg=\"a]: b\"":    "time=\"x\" msg=\"a]: b\"",
		"E1202 05:00:00.000000       7 prober.go:104] \"Probe errored\"": "\"Probe errored\"",
		`{"a":[1]: 2}`:    `{"a":[1]: 2}`,
		"Info: array[3] ": "Info: array[3]",
		"":                "",
	} {
		assert.Equal(t, want, message(in))
	}
}
