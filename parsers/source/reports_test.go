package source

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReportsAreNoEvidence runs over a directory before and after a report was
// written into it.
func TestReportsAreNoEvidence(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "case")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.log"), []byte("a\n"), 0o600))
	walk := func() Result {
		res, err := Walk(context.Background(), []string{dir}, Options{}, func(*File) error { return nil })
		require.NoError(t, err)
		return res
	}
	before := walk()
	report := filepath.Join(dir, "bundle"+ReportSuffix)
	require.NoError(t, os.MkdirAll(report, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(report, "report.json"), []byte("{}\n"), 0o600))
	after := walk()
	assert.Equal(t, before.Inputs[0].SHA256, after.Inputs[0].SHA256)
	assert.Equal(t, before.Inputs[0].Files, after.Inputs[0].Files)
	assert.Equal(t, []Skipped{{Reason: whyReports, Count: 1, Example: "case/bundle" + ReportSuffix}}, after.Skipped)
}
