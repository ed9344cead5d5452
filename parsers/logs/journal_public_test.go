package logs_test

import (
	"archive/tar"
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
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

// TestJournalctlForms reads the same entries in every form that journalctl 252
// prints: each must give the same events. What a form leaves out (messages shown
// as "blob data", the host, the time of day) is left out of the comparison.
func TestJournalctlForms(t *testing.T) {
	dir := shared(t, "corpus/public/journalctl-forms")
	for _, set := range []string{"s", "edge"} {
		read := func(form string) *recorded {
			b, err := os.ReadFile(filepath.Join(dir, set+"."+form+".txt"))
			require.NoError(t, err)
			return readLog(t, set+"."+form+".txt", b)
		}
		want := read("export")
		require.NotZero(t, want.info.Records)
		for form, format := range map[string]string{
			"json": "journal-json", "json-all": "journal-json", "json-pretty": "journal-json", "json-seq": "journal-json", "json-sse": "journal-json",
			"short": "journal-short", "short-precise": "journal-short", "short-full": "journal-short-full", "with-unit": "journal-short-full",
			"short-iso": "journal-short-iso", "short-iso-precise": "journal-short-iso", "short-iso-tzNY": "journal-short-iso",
			"short-unix": "journal-short-unix", "short-monotonic": "journal-short-monotonic", "verbose": "journal-verbose",
			"short-nohostname": "journal-short", "cat": "plain-log",
		} {
			t.Run(set+"/"+form, func(t *testing.T) {
				got := read(form)
				assert.Equal(t, format, got.info.Format)
				w, g := sameInAllForms(want.events), sameInAllForms(got.events)
				if format != "journal-json" { // only these and the export carry the monotonic clock
					w = withoutSteps(w)
				}
				switch form {
				case "short-nohostname":
					w, g = withoutHost(w), withoutHost(g)
				case "cat":
					w, g = withoutReboot(withoutHost(w)), withoutHost(g)
				case "short-monotonic": // it cannot date a reboot
					w, g = withoutReboot(w), withoutReboot(g)
				}
				assert.Equal(t, w, g)
				if form != "cat" {
					assert.Equal(t, want.info.Records, got.info.Records)
				}
			})
		}
	}
}

// withoutReboot drops the events that come of "-- Boot --" lines.
func withoutReboot(events []string) []string {
	return slices.DeleteFunc(slices.Clone(events), func(e string) bool { return strings.Contains(e, "Code:reboot") })
}

// withoutSteps drops the events that come of the monotonic clock.
func withoutSteps(events []string) []string {
	return slices.DeleteFunc(slices.Clone(events), func(e string) bool { return strings.Contains(e, "Code:time-changed") })
}

// withoutHost drops host and pid from printed events.
func withoutHost(events []string) []string {
	out := make([]string, len(events))
	for i, e := range events {
		f := strings.SplitN(e, " ", 4)
		out[i] = f[0] + " " + f[3]
	}
	return out
}

// TestMustGathers counts the probe failures of three OpenShift clusters. Their
// kubelets print most failures twice; each counts once.
func TestMustGathers(t *testing.T) {
	if testing.Short() {
		t.Skip("decompressing xz takes seconds")
	}
	dir := shared(t, "corpus/public/mustgather")
	for name, want := range map[string]int64{"aws": 289, "azure": 330, "metal": 256} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := os.Open(filepath.Join(dir, "must-gather-"+name+".tar.xz"))
			require.NoError(t, err)
			defer f.Close()
			x, err := xz.NewReader(bufio.NewReaderSize(f, 1<<20))
			require.NoError(t, err)
			r := tar.NewReader(x)
			for {
				h, err := r.Next()
				require.NoError(t, err)
				if strings.HasSuffix(h.Name, "masters/kubelet_service.log") {
					break
				}
			}
			b, err := io.ReadAll(r)
			require.NoError(t, err)
			got := readLog(t, "host_service_logs/masters/kubelet_service.log", b)
			assert.Equal(t, want, got.info.Counts["probe_failed"])
			assert.Positive(t, got.info.Counts["probe_lines_repeated"])
			assert.Empty(t, got.problems)
			assert.Equal(t, 2, got.info.Verbosity)
			assert.Empty(t, got.info.Node, "three masters share the file")
		})
	}
}
