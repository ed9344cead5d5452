package outputs

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/fixtures"
)

// hostile is what an application can put into the answer that a kubelet logs, and
// whoever packs an archive into its names: terminal sequences, a byte that is no
// UTF-8, a reversal of direction, a character without width, markup of every
// output, a NUL.
const hostile = "\x1b]0;pwned\x07\x1b[31m\xff\u202e\u200b<script>pwned(1)</script>|`${pwned}`[a](javascript:pwned)\x00"

// tampered packs the demo's bundle again: every probe output of the kubelet log
// and the names of all captures hold the hostile text.
func tampered(t *testing.T) string {
	t.Helper()
	f, err := os.Open(demo)
	require.NoError(t, err)
	defer f.Close()
	members, err := fixtures.Members(f)
	require.NoError(t, err)
	replaced := 0
	for i := range members {
		m := &members[i]
		switch name := m.Header.Name; {
		case strings.HasSuffix(name, "kubelet_service.log"):
			replaced += bytes.Count(m.Data, []byte("/healthz"))
			m.Data = bytes.ReplaceAll(m.Data, []byte("/healthz"), []byte("/healthz"+hostile))
		case strings.HasSuffix(name, ".pcap"):
			m.Header.Name = strings.TrimSuffix(name, ".pcap") + strings.NewReplacer("/", "", "\x00", "").Replace(hostile) + ".pcap"
			m.Header.Format, m.Header.PAXRecords = tar.FormatGNU, nil
		}
	}
	require.Positive(t, replaced)
	packed, err := fixtures.Pack(members)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "bundle.tar.gz")
	require.NoError(t, os.WriteFile(path, packed, 0o644))
	return path
}

// TestHostileTextEndToEnd reads hostile text and looks for it in every file and
// on both outputs: it is there, in letters that are shown, and nothing that a
// terminal, a browser or a reader of text obeys.
func TestHostileTextEndToEnd(t *testing.T) {
	bundle := tampered(t)
	out := filepath.Join(t.TempDir(), "out")
	run := analyze(t, out, bundle)
	showsOnly(t, "standard output", run.stdout)
	showsOnly(t, "standard error", run.stderr)
	for _, verb := range [][]string{
		{"inventory", bundle}, {"timeline", bundle, "--pod", "shop-dup-v2/api-84c9d7bb5-ln7vq"}, {"inventory", bundle, "--all"},
	} {
		o := program(verb...)
		require.Zero(t, o.code, o.stderr)
		showsOnly(t, strings.Join(verb, " "), o.stdout)
		showsOnly(t, strings.Join(verb, " "), o.stderr)
	}
	shown := 0
	for name, text := range tree(t, out) {
		if strings.HasSuffix(name, ".parquet") {
			continue // read by programs
		}
		showsOnly(t, name, text)
		if strings.Contains(text, "pwned") {
			shown++
		}
		switch filepath.Ext(name) {
		case ".html":
			assert.NotContains(t, text, "<script>pwned")
		case ".json", ".sarif":
			assert.True(t, json.Valid([]byte(text)), name)
		}
	}
	assert.Greater(t, shown, 4, "the text was left out instead of shown")
}

// showsOnly holds text to valid UTF-8 without control and format characters.
func showsOnly(t *testing.T, what, text string) {
	t.Helper()
	assert.True(t, utf8.ValidString(text), "%s: not UTF-8", what)
	for i, r := range text {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf) {
			assert.Fail(t, "a character that is obeyed", "%s holds %U at %d: %q", what, r, i, text[max(0, i-40):min(len(text), i+40)])
			return
		}
	}
}
