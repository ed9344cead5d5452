package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/report"

	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

func testParser(t *testing.T) *kong.Kong {
	t.Helper()
	rt := &session{ctx: t.Context(), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, env: func(string) string { return "" }}
	parser, err := newParser(&root{}, rt)
	require.NoError(t, err)
	return parser
}

// inStep compares a generated file with the committed one; -update rewrites it.
func inStep(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, want, 0o644))
	}
	committed, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(committed), "%s is not in step: run make generate", path)
}

// TestManualPage keeps docs/man in step with the grammar; -update rewrites it.
func TestManualPage(t *testing.T) {
	const path = "../../../docs/man/probe-forensics.1"
	var page bytes.Buffer
	require.NoError(t, writeMan(&page, testParser(t).Model))
	inStep(t, path, page.Bytes())

	if man, err := exec.LookPath("groff"); err == nil {
		cmd := exec.Command(man, "-man", "-Tutf8", "-ww", "-z")
		cmd.Stdin = bytes.NewReader(page.Bytes())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err)
		assert.Empty(t, string(out), "groff complains")
	}
}

// TestCausePages keeps docs/causes in step with the rules: a page a cause, an
// index, and nothing else; -update rewrites them.
func TestCausePages(t *testing.T) {
	const dir = "../../../docs/causes"
	pages := map[string][]byte{}
	for _, r := range rules.Rules() {
		var page bytes.Buffer
		require.NoError(t, writeCause(&page, r))
		pages[r.ID+".md"] = page.Bytes()
	}
	var index bytes.Buffer
	require.NoError(t, writeCauseIndex(&index))
	pages["README.md"] = index.Bytes()
	if *update {
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	for name, page := range pages {
		inStep(t, filepath.Join(dir, name), page)
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, len(pages), "a page of no cause")
}

// TestCausePageSections holds every page to the sections a reader looks for.
func TestCausePageSections(t *testing.T) {
	for _, r := range rules.Rules() {
		var page bytes.Buffer
		require.NoError(t, writeCause(&page, r))
		text := page.String()
		assert.Contains(t, text, "family `"+string(r.Family)+"`", r.ID)
		assert.Contains(t, text, r.Definition, r.ID)
		for _, section := range []string{"What it looks like", "What must be seen", "What speaks for it", "What speaks against it", "Look-alikes",
			"How sure the tool can be", "What to do", "What to collect", "Public reports of it"} {
			assert.Contains(t, text, "\n## "+section+"\n\n", r.ID)
		}
		for _, line := range strings.Split(text, "\n") {
			assert.Equal(t, strings.TrimRight(line, " "), line, r.ID)
		}
		assert.NotEmpty(t, familyTitles[r.Family], "family %s has no title", r.Family)
	}
}

// TestConfigSchema checks the schema's shape against the grammar, and keeps the
// published one in step; -update rewrites it.
func TestConfigSchema(t *testing.T) {
	const path = "../../../docs/schema/config.schema.json"
	var text bytes.Buffer
	require.NoError(t, writeJSON(&text, configSchema(testParser(t).Model)))
	data := text.Bytes()
	inStep(t, path, data)
	var schema struct {
		AdditionalProperties bool
		Properties           map[string]struct {
			Type       any
			Enum       []string
			Properties map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(data, &schema))
	assert.False(t, schema.AdditionalProperties)
	assert.Equal(t, []string{"auto", "always", "never"}, schema.Properties["color"].Enum)
	assert.NotContains(t, schema.Properties, "help")
	assert.NotContains(t, schema.Properties, "config")
	assert.Contains(t, schema.Properties["inventory"].Properties, "limit")
}

// completion returns the script of a shell.
func completion(t *testing.T, shell string) string {
	t.Helper()
	var out bytes.Buffer
	rt := &session{ctx: t.Context(), stdout: &out, stderr: &bytes.Buffer{}, env: func(string) string { return "" }}
	require.Equal(t, ExitDone, rt.main([]string{"completion", shell}))
	return out.String()
}

func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to complete with")
	}
	script := completion(t, "bash")
	for _, c := range []struct {
		line string
		want []string
		not  []string
	}{
		{line: "", want: []string{"inventory", "completion"}},
		{line: "inv", want: []string{"inventory"}, not: []string{"completion"}},
		{line: "completion z", want: []string{"zsh"}, not: []string{"bash"}},
		{line: "inventory --l", want: []string{"--limit", "--log-level"}, not: []string{"--color"}},
		{line: "version --l", want: []string{"--log-level"}, not: []string{"--limit"}},
		{line: "--color a", want: []string{"auto", "always"}, not: []string{"never"}},
		{line: "--log-level = de", want: []string{"debug"}},
		{line: "inventory som", want: []string{"some.pcap"}},
	} {
		words := strings.Split(programName+" "+c.line, " ")
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = "'" + w + "'"
		}
		cmd := exec.Command(bash, "--norc", "-c", script+
			"\nCOMP_WORDS=("+strings.Join(quoted, " ")+"); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _probe_forensics; printf '%s\\n' \"${COMPREPLY[@]}\"")
		cmd.Dir = t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, "some.pcap"), nil, 0o600))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", c.line, out)
		replies := strings.Fields(string(out))
		for _, w := range c.want {
			assert.Contains(t, replies, w, c.line)
		}
		for _, w := range c.not {
			assert.NotContains(t, replies, w, c.line)
		}
	}
}

func TestZshCompletion(t *testing.T) {
	zsh, err := exec.LookPath("zsh")
	if err != nil {
		t.Skip("no zsh to check its completion with")
	}
	path := filepath.Join(t.TempDir(), "_probe-forensics")
	require.NoError(t, os.WriteFile(path, []byte(completion(t, "zsh")), 0o600))
	out, err := exec.Command(zsh, "-f", "-c", "autoload -U compinit; compinit -D -u; source "+path+"; whence -w _probe_forensics; print $_comps[probe-forensics]").CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Equal(t, "_probe_forensics: function\n_probe_forensics\n", string(out))
}

func TestFishCompletion(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("no fish to check its completion with")
	}
	path := filepath.Join(t.TempDir(), "probe-forensics.fish")
	require.NoError(t, os.WriteFile(path, []byte(completion(t, "fish")), 0o600))
	for line, want := range map[string]string{
		"probe-forensics inv": "inventory", "probe-forensics completion z": "zsh",
		"probe-forensics inventory --lim": "--limit", "probe-forensics --color al": "always",
	} {
		cmd := exec.Command(fish, "--no-config", "-c", "source "+path+"; complete -C '"+line+"'")
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Contains(t, string(out), want, line)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"analyze", "inventory", "policy-drop", "policy-reject"}
	for word, want := range map[string]string{
		"analyse": "analyze", "inventry": "inventory", "policy-drip": "policy-drop", "zzz": "", "": "", "policy": "",
	} {
		assert.Equal(t, want, nearest(word, known), word)
	}
}

// TestReportSchema walks a real report along its schema: every value has the
// type that is promised, every required field is there, and no field is unknown.
func TestReportSchema(t *testing.T) {
	dir := t.TempDir()
	rt := &session{ctx: t.Context(), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, env: func(string) string { return "" }, workers: 2}
	require.Equal(t, ExitDone, rt.main([]string{"analyze", "../../../fixtures/demo/bundle.tar.gz", "-f", "json", "-o", dir}))
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	require.NoError(t, err)
	var doc any
	require.NoError(t, json.Unmarshal(text, &doc))
	data, err := json.Marshal(report.Schema())
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(data, &schema))
	conforms(t, "report", doc, schema, schema["$defs"].(map[string]any))
}

// conforms checks a value against the few words of JSON Schema that the schemas
// here use.
func conforms(t *testing.T, at string, v any, schema, defs map[string]any) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		schema = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	switch schema["type"] {
	case "object":
		object, ok := v.(map[string]any)
		require.True(t, ok, "%s is no object: %v", at, v)
		properties, _ := schema["properties"].(map[string]any)
		for name, value := range object {
			sub, ok := properties[name].(map[string]any)
			if !ok {
				sub, ok = schema["additionalProperties"].(map[string]any)
			}
			require.True(t, ok, "%s.%s is not in the schema", at, name)
			conforms(t, at+"."+name, value, sub, defs)
		}
		required, _ := schema["required"].([]any)
		for _, name := range required {
			assert.Contains(t, object, name, at)
		}
	case "array":
		list, ok := v.([]any)
		require.True(t, ok, "%s is no array: %v", at, v)
		for _, item := range list {
			conforms(t, at+"[]", item, schema["items"].(map[string]any), defs)
		}
	case "string":
		assert.IsType(t, "", v, at)
	case "boolean":
		assert.IsType(t, true, v, at)
	default:
		assert.IsType(t, 1.0, v, at)
	}
}

// TestConfigurationPage reads the file that docs/configuration.md shows.
func TestConfigurationPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/configuration.md")
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(page), "```yaml\n")
	require.True(t, ok)
	text, _, _ = strings.Cut(text, "```\n")
	path := filepath.Join(t.TempDir(), "shown.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	var stderr bytes.Buffer
	rt := &session{ctx: t.Context(), stdout: &bytes.Buffer{}, stderr: &stderr, env: func(string) string { return "" }}
	assert.Equal(t, ExitDone, rt.main([]string{"analyze", "--help", "--config", path}), stderr.String())
	assert.Equal(t, ExitDone, rt.main([]string{"version", "--config", path}), stderr.String())
}
