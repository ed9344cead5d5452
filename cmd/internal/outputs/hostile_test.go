package outputs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	gz, err := gzip.NewReader(f)
	require.NoError(t, err)
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	tw := tar.NewWriter(zw)
	replaced := 0
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		data, err := io.ReadAll(tr)
		require.NoError(t, err)
		switch {
		case strings.HasSuffix(h.Name, "kubelet_service.log"):
			replaced += bytes.Count(data, []byte("/healthz"))
			data = bytes.ReplaceAll(data, []byte("/healthz"), []byte("/healthz"+hostile))
		case strings.HasSuffix(h.Name, ".pcap"):
			h.Name = strings.TrimSuffix(h.Name, ".pcap") + strings.ReplaceAll(strings.ReplaceAll(hostile, "/", ""), "\x00", "") + ".pcap"
			h.Format, h.PAXRecords = tar.FormatGNU, nil
		}
		h.Size = int64(len(data))
		require.NoError(t, tw.WriteHeader(h))
		_, err = tw.Write(data)
		require.NoError(t, err)
	}
	require.Positive(t, replaced)
	require.NoError(t, tw.Close())
	require.NoError(t, zw.Close())
	path := filepath.Join(t.TempDir(), "bundle.tar.gz")
	require.NoError(t, os.WriteFile(path, packed.Bytes(), 0o644))
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
