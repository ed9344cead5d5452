package logs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBinaryJournals reads journals of every layout and compression; each must
// give the events of the export that journalctl made of it.
func TestBinaryJournals(t *testing.T) {
	dir := shared(t, "corpus/public/journals/derived")
	export := func(name string) []byte {
		p := filepath.Join(dir, name)
		if strings.HasSuffix(p, ".gz") {
			return gunzip(t, p)
		}
		b, err := os.ReadFile(p)
		require.NoError(t, err)
		return b
	}
	for journal, exported := range map[string]string{
		"aws-kubelet-compact0-ZSTD.journal.gz": "aws.export.gz",
		"aws-kubelet-compact1-ZSTD.journal.gz": "aws.export.gz",
		"aws-kubelet-legacyhash.journal.gz":    "aws.export.gz",
		"aws-kubelet-nocompress.journal.gz":    "aws.export.gz",
		"metal-kubelet-default.journal.gz":     "metal.export.gz",
		"edge.journal.gz":                      "edge.export",
	} {
		t.Run(journal, func(t *testing.T) {
			want := readLog(t, exported, export(exported))
			got := readLog(t, journal, gunzip(t, filepath.Join(dir, journal)))
			assert.Equal(t, "journal-binary", got.info.Format)
			assert.Equal(t, want.info.Records, got.info.Records)
			assert.Equal(t, sameInAllForms(want.events), sameInAllForms(got.events))
			assert.NotEmpty(t, got.events)
			require.Len(t, got.problems, len(want.problems))
			for i := range want.problems {
				assert.Equal(t, want.problems[i].Code, got.problems[i].Code)
			}
		})
	}
}

// TestForeignJournals reads journals of other machines: one as journald left it,
// one whose entry arrays run in a circle. Both hold as many entries as
// journalctl lists for the first.
func TestForeignJournals(t *testing.T) {
	dir := shared(t, "corpus/public/journals/artemis/forensics/tests/test_data/linux/journal")
	files, err := filepath.Glob(filepath.Join(dir, "*.journal.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		got := readLog(t, f, gunzip(t, f))
		assert.EqualValues(t, 410, got.info.Records, filepath.Base(f))
	}
}

// TestTruncatedJournal cuts a journal at many places: what stands before the cut
// is read, and the cut is told.
func TestTruncatedJournal(t *testing.T) {
	dir := shared(t, "corpus/public/journals/derived")
	whole := gunzip(t, filepath.Join(dir, "aws-kubelet-compact1-ZSTD.journal.gz"))
	last := int64(0)
	for n := len(whole) / 40; n < len(whole); n += len(whole) / 40 {
		got := readLog(t, "cut.journal", whole[:n])
		assert.GreaterOrEqual(t, got.info.Records, last)
		last = got.info.Records
	}
	assert.Positive(t, last)
	cut := readLog(t, "cut.journal", whole[:len(whole)/20])
	require.NotEmpty(t, cut.problems)
	assert.Equal(t, "truncated", cut.problems[0].Code)
}
