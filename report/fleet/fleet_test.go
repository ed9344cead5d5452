package fleet

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var day = event.FromTime(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))

// result is a report with one incident of a pod web-N of a Deployment.
func result(bundle, cluster, id, cause string, pod int, at event.Nanos, confidence float64) *model.Result {
	name := fmt.Sprintf("web-6d5f7c-%d", pod)
	return &model.Result{
		SchemaVersion: model.SchemaVersion, BundleID: bundle, Cluster: cluster, Tool: model.Tool{Version: "v1", RulesHash: "r1"},
		Pods: []model.Pod{{Namespace: "shop", Pod: name, Node: "node-a", Owner: model.Owner{Kind: "ReplicaSet", Name: "web-6d5f7c"}}},
		Incidents: []model.Incident{{ID: id, Scope: model.ScopePod, Node: "node-a", Fingerprint: "f-" + cause, FailedAttempts: 3,
			Cause:    model.Cause{ID: cause, Title: "title of " + cause, Confidence: confidence, Word: model.Word(confidence)},
			Subjects: []model.Subject{{Namespace: "shop", Pod: name, Container: "web", Probe: "readiness", FailedAttempts: 3, TotalAttempts: 9}},
			Window:   model.Window{First: model.At(at), Last: model.At(at + event.Nanos(time.Minute))}}},
	}
}

func TestReport(t *testing.T) {
	b := New()
	b.Add("one", result("b1", "east", "i1", "oom-kill", 1, day, 0.8))
	b.Add("two", result("b2", "east", "i1", "oom-kill", 1, day, 0.9)) // the same incident in a second bundle
	b.Add("three", result("b3", "east", "i2", "oom-kill", 2, day+event.Nanos(50*time.Hour), 0.7))
	b.Add("four", result("b4", "west", "i3", "policy-drop", 3, day+event.Nanos(72*time.Hour), 0.95))
	b.Add("five", result("b4", "west", "i3", "policy-drop", 3, day+event.Nanos(72*time.Hour), 0.95)) // b4 again
	b.Add("calm", &model.Result{BundleID: "b5", Cluster: "west", Tool: model.Tool{Version: "v2"}})
	b.Fail("bad.tar.gz", "nothing readable in any input:\n  bad.tar.gz: empty")
	r := b.Report(Since{Ago: 24 * time.Hour})

	assert.Equal(t, 5, r.Cases)
	assert.Equal(t, 1, r.Repeated)
	assert.Equal(t, 1, r.Healthy)
	assert.Equal(t, 3, r.Incidents)
	assert.Equal(t, 9, r.FailedAttempts)
	require.Len(t, r.Causes, 2)
	assert.Equal(t, "oom-kill", r.Causes[0].Name)
	assert.Equal(t, "title of oom-kill", r.Causes[0].Title)
	assert.Equal(t, 3, r.Causes[0].Cases)
	assert.Equal(t, []string{"2026-03-01", "2026-03-03", "2026-03-04"}, []string{r.Days[0].Name, r.Days[1].Name, r.Days[2].Name})
	assert.Equal(t, "east/node-a", r.Nodes[0].Name, "nodes of two clusters are not one")
	assert.Equal(t, "east/shop/Deployment/web", r.Owners[0].Name)
	assert.Equal(t, []CauseCount{{"oom-kill", 2}}, r.Clusters[0].Causes)
	require.Len(t, r.Recurring, 1)
	assert.Equal(t, 0.9, r.Recurring[0].Confidence)
	assert.Equal(t, []string{"one", "three", "two"}, r.Recurring[0].Cases)
	require.Len(t, r.New, 1)
	assert.Equal(t, "policy-drop", r.New[0].Cause)
	assert.Len(t, r.Versions, 2)

	var md, html, text bytes.Buffer
	require.NoError(t, r.WriteMarkdown(&md))
	require.NoError(t, r.WriteHTML(&html))
	require.NoError(t, r.WriteText(&text))
	for _, out := range []string{md.String(), html.String()} {
		for _, want := range []string{"oom-kill", "policy-drop", "bad.tar.gz", "different versions or rules", "New since"} {
			assert.Contains(t, out, want)
		}
	}
	assert.Contains(t, text.String(), "3 incidents in 5 cases; most often oom-kill (2)")
}

// TestOrder: the order in which cases are added does not show.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 12).Draw(t, "cases")
		type added struct {
			name string
			res  *model.Result
		}
		var cases []added
		for i := range n {
			id := fmt.Sprint("i", rapid.IntRange(0, 5).Draw(t, "incident"))
			cause := rapid.SampledFrom([]string{"oom-kill", "policy-drop"}).Draw(t, "cause")
			at := day + event.Nanos(rapid.Int64Range(0, 10).Draw(t, "hours"))*event.Nanos(time.Hour)
			cases = append(cases, added{fmt.Sprint("case", i), result(fmt.Sprint("b", i), rapid.SampledFrom([]string{"east", "west"}).Draw(t, "cluster"), id, cause, i%3, at, 0.5)})
		}
		write := func(list []added) string {
			b := New()
			for _, c := range list {
				b.Add(c.name, c.res)
			}
			var out bytes.Buffer
			require.NoError(t, b.Report(Since{At: day}).WriteJSON(&out))
			return out.String()
		}
		want := write(cases)
		assert.Equal(t, want, write(rapid.Permutation(cases).Draw(t, "order")))
		assert.False(t, strings.Contains(want, "null"), "a list is null")
	})
}

// TestHostileNames: what stands in inputs does nothing in the outputs.
func TestHostileNames(t *testing.T) {
	b := New()
	b.Add("<script>|\x1b[2J", result("b1", "<img src=x>", "i1", "oom-kill", 1, day, 0.8))
	b.Add("x", result("b2", "a|b\n# head", "i2", "oom-kill", 2, day, 0.8))
	b.Fail("<b>`|", "\u202eevil")
	r := b.Report(Since{})
	var md, html, text bytes.Buffer
	require.NoError(t, r.WriteMarkdown(&md))
	require.NoError(t, r.WriteHTML(&html))
	require.NoError(t, r.WriteText(&text))
	for _, out := range []string{md.String(), html.String(), text.String()} {
		assert.NotContains(t, out, "\x1b")
		assert.NotContains(t, out, "\u202e")
		assert.NotContains(t, out, "\n# head")
	}
	assert.NotContains(t, html.String(), "<img")
	assert.NotContains(t, strings.ReplaceAll(md.String(), `\<`, ""), "<img")
}
