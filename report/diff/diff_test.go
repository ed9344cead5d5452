package diff

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/internal/sample"
)

func text(t *testing.T, d *Delta) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, d.WriteText(&b))
	return b.String()
}

func TestNothingChanged(t *testing.T) {
	d := Compare(sample.Result(), sample.Result())
	assert.True(t, d.Empty())
	assert.Equal(t, 3, d.Same)
	assert.Equal(t, "note: both reports are about the same inputs\n0 new, 0 gone, 0 changed, 3 the same\n", text(t, d))
}

func TestNewGoneAndChanged(t *testing.T) {
	b := sample.Result()
	b.BundleID = "another"
	b.Tool.RulesHash = "another"
	// Another pod of the same deployment, with another cause.
	b.Pods[1].Pod, b.Pods[1].Owner.Name = "frontend-66f8d9-abcde", "frontend-66f8d9"
	in := &b.Incidents[0]
	in.Subjects[0].Pod, in.Fingerprint, in.Cause.ID, in.Cause.Confidence, in.FailedAttempts = "frontend-66f8d9-abcde", "x", "app-hang", 0.7, 12
	in.Cause.Word = model.Word(0.7)
	// Another incident goes, one comes.
	b.Incidents[1].Fingerprint = "y"
	b.Incidents[1].Subjects[0].Pod = "ledger-0"
	d := Compare(sample.Result(), b)
	require.Len(t, d.Changed, 1)
	assert.Equal(t, []string{"cause", "confidence", "failed_attempts"}, d.Changed[0].What)
	require.Len(t, d.New, 1)
	assert.Equal(t, []string{"payments/ledger-0"}, d.New[0].Subjects)
	require.Len(t, d.Gone, 1)
	assert.Equal(t, []string{"payments/api-0"}, d.Gone[0].Subjects)
	assert.Equal(t, 1, d.Same)
	out := text(t, d)
	assert.Contains(t, out, "cause: stale-neighbour, now app-hang\n")
	assert.Contains(t, out, "confidence: confirmed 0.93, now probable 0.70\n")
	assert.Contains(t, out, "note: the rules differ")

	var md, js strings.Builder
	require.NoError(t, d.WriteMarkdown(&md))
	assert.Contains(t, md.String(), "**1 new, 1 gone, 1 changed, 1 the same.**\n\n- Note: ")
	assert.Contains(t, md.String(), "| `shop/frontend-66f8d9-abcde` | `stale-neighbour`, now `app-hang` | confirmed 0.93, now probable 0.70 |")
	assert.Contains(t, md.String(), "| 6 | 2026-12-02 05:46:40.000 | payments/api-0 had nothing listening")
	for line := range strings.Lines(md.String()) {
		if strings.HasPrefix(line, "|") {
			assert.Contains(t, []int{6, 7}, strings.Count(line, "|"), line)
		}
	}
	require.NoError(t, d.WriteJSON(&js))
	var back Delta
	require.NoError(t, json.Unmarshal([]byte(js.String()), &back))
	assert.Equal(t, *d, back)
}

func TestAgainstNothing(t *testing.T) {
	d := Compare(sample.Result(), sample.Healthy())
	assert.Len(t, d.Gone, 3)
	d = Compare(sample.Healthy(), sample.Result())
	assert.Len(t, d.New, 3)
}
