package rulecases

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/cmd/internal/cli"
	"github.com/probe-forensics/probe-forensics/fixtures"
	"github.com/probe-forensics/probe-forensics/report"
)

// testcase is a case read from its archive.
type testcase struct {
	inputs map[string][]byte // by path inside the case
	// fewer are the inputs without what tells two look-alikes apart; only cases of
	// pairs have them.
	fewer       map[string][]byte
	want, wants []wish // of inputs, and of fewer
}

// wish is a line of "want".
type wish struct {
	verb, id string
	text     string // the line behind the verb
	opts     map[string]string
}

// phrase is the line without its options.
func (w wish) phrase() string {
	return strings.Join(slices.DeleteFunc(strings.Fields(w.text), func(s string) bool { return strings.Contains(s, "=") }), " ")
}

// load reads a case, and the case whose inputs it takes.
func load(t *testing.T, name string) testcase {
	t.Helper()
	data, err := fs.ReadFile(fixtures.FS, name)
	require.NoError(t, err)
	ar := txtar.Parse(data)
	c := testcase{inputs: map[string][]byte{}}
	var without []string
	var edits []edit
	for line := range strings.Lines(string(ar.Comment)) {
		if from, ok := strings.CutPrefix(line, "inputs: "); ok {
			c.inputs = load(t, strings.TrimSpace(from)).inputs
		}
		if files, ok := strings.CutPrefix(line, "without: "); ok {
			without = append(without, strings.Fields(files)...)
		}
		for _, verb := range []string{"unsaid", "reworded"} {
			if text, ok := strings.CutPrefix(line, verb+": "); ok {
				edits = append(edits, editOf(t, verb, strings.TrimSpace(text)))
			}
		}
	}
	replaced := map[string][]byte{}
	for _, f := range ar.Files {
		instead, fewer := strings.CutPrefix(f.Name, "without/")
		switch {
		case f.Name == "want":
			c.want = wishes(string(f.Data))
		case f.Name == "want-without":
			c.wants = wishes(string(f.Data))
		case fewer:
			replaced[instead] = f.Data
		default:
			c.inputs[f.Name] = f.Data
		}
	}
	require.NotEmpty(t, c.want, "%s: the case has no file \"want\"", name)
	if len(c.wants) > 0 && len(edits) == 0 && len(without) == 0 {
		require.NotEmpty(t, replaced, "%s: nothing is taken away", name)
	}
	for _, e := range edits {
		if e.both {
			c.inputs = maps.Clone(c.inputs)
			c.inputs[e.file] = e.apply(t, c.inputs[e.file])
		}
	}
	rest := maps.Clone(c.inputs)
	for _, e := range edits {
		if !e.both {
			rest[e.file] = e.apply(t, rest[e.file])
		}
	}
	for _, w := range without {
		require.Contains(t, rest, w, "%s: no such input to leave out", name)
		delete(rest, w)
	}
	for n, data := range replaced {
		require.Contains(t, rest, n, "%s: no such input to replace", name)
		rest[n] = data
	}
	if len(c.wants) > 0 {
		c.fewer = rest
	} else {
		c.inputs = rest
	}
	return c
}

// edit takes lines out of an input, or changes words in it.
type edit struct {
	file, old, new string
	lines          bool // leave out the lines that hold old
	both           bool // change the whole case, not only what is left of it
}

// editOf reads "FILE TEXT" and "FILE OLD => NEW"; "* FILE ..." changes the whole
// case.
func editOf(t *testing.T, verb, text string) edit {
	t.Helper()
	text, both := strings.CutPrefix(text, "* ")
	file, words, ok := strings.Cut(text, " ")
	require.True(t, ok, text)
	e := edit{file: file, old: words, lines: verb == "unsaid", both: both}
	if !e.lines {
		e.old, e.new, ok = strings.Cut(words, " => ")
		require.True(t, ok, text)
	}
	return e
}

func (e edit) apply(t *testing.T, data []byte) []byte {
	t.Helper()
	require.True(t, bytes.Contains(data, []byte(e.old)), "%s does not say %q", e.file, e.old)
	if !e.lines {
		return bytes.ReplaceAll(data, []byte(e.old), []byte(e.new))
	}
	var out []byte
	for line := range bytes.Lines(data) {
		if !bytes.Contains(line, []byte(e.old)) {
			out = append(out, line...)
		}
	}
	return out
}

// wishes reads the lines of a "want".
func wishes(text string) []wish {
	var out []wish
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		w := wish{verb: words[0], text: strings.Join(words[1:], " "), opts: map[string]string{}}
		for _, o := range words[1:] {
			if k, v, ok := strings.Cut(o, "="); ok {
				w.opts[k] = v
			} else {
				w.id = o
			}
		}
		out = append(out, w)
	}
	return out
}

// analyze runs the command line on the inputs and reads its report. An input that
// is damaged or not understood fails the case.
func analyze(t *testing.T, inputs map[string][]byte) *model.Result {
	t.Helper()
	in, out := filepath.Join(t.TempDir(), "case"), t.TempDir()
	for name, data := range inputs {
		p := filepath.Join(in, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, data, 0o644))
	}
	var told bytes.Buffer
	code := cli.Main([]string{"analyze", in, "-f", "json", "-o", out, "--strict", "--workers", "1", "--no-progress"},
		strings.NewReader(""), &told, &told, func(string) string { return "" })
	require.Equal(t, cli.ExitDone, code, told.String())
	f, err := os.Open(filepath.Join(out, "report.json"))
	require.NoError(t, err)
	defer f.Close()
	r, err := report.ReadJSON(f)
	require.NoError(t, err)
	for n := range r.Incidents {
		sound(t, &r.Incidents[n])
	}
	return r
}

// sound demands of every verdict, whatever its cause, that its confidence follows
// from what is printed, is never certain, and comes with what would change it and
// what to do.
func sound(t *testing.T, i *model.Incident) {
	t.Helper()
	got, err := i.Recompute()
	require.NoError(t, err)
	assert.InDelta(t, got, i.Cause.Confidence, 1e-9, i.Cause.ID)
	assert.Less(t, i.Cause.Confidence, 1.0, i.Cause.ID)
	assert.NotEmpty(t, i.WouldChange, i.Cause.ID)
	assert.NotEmpty(t, i.Recommend, i.Cause.ID)
	assert.NotEmpty(t, i.Summary, i.Cause.ID)
}
