package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/logs"
)

// papers are the pages that people write by hand.
func papers(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "fixtures/demo/*.md"} {
		found, err := filepath.Glob("../../../" + pattern)
		require.NoError(t, err)
		out = append(out, found...)
	}
	require.NotEmpty(t, out)
	return out
}

// TestLinks follows the relative links of the project's papers.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, name := range papers(t) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(name), m[1]))
			assert.NoError(t, err, name)
		}
	}
}

// commandLine finds the tool's command lines in console blocks.
var commandLine = regexp.MustCompile(`(?m)^\$ (?:.*\| )?(?:bin/)?probe-forensics (.*)$`)

// TestDocumentedCommands parses every command line that a paper shows: verbs and
// flags must exist.
func TestDocumentedCommands(t *testing.T) {
	n := 0
	for _, name := range papers(t) {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range commandLine.FindAllStringSubmatch(string(text), -1) {
			_, err := testParser(t).Parse(commandFields(m[1]))
			assert.NoError(t, err, "%s: %s", name, m[0])
			n++
		}
	}
	assert.Greater(t, n, 10)
}

// TestQuickstart runs the commands of the quickstart, in their order.
func TestQuickstart(t *testing.T) {
	text, err := os.ReadFile("../../../docs/quickstart.md")
	require.NoError(t, err)
	repository, err := filepath.Abs("../../..")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.Symlink(filepath.Join(repository, "fixtures"), "fixtures"))
	commands := commandLine.FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, commands)
	for _, m := range commands {
		want := ExitDone
		if strings.Contains(m[1], "--fail-on") {
			want = ExitFailOn
		}
		var out bytes.Buffer
		rt := &session{ctx: t.Context(), stdout: &out, stderr: &out, env: func(string) string { return "" }, workers: 2}
		assert.Equal(t, want, rt.main(commandFields(m[1])), "%s\n%s", m[0], out.String())
	}
}

// commandFields splits a command line as a shell does, as far as the papers need
// it: comments and redirections end it, single quotes are taken off.
func commandFields(line string) []string {
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, " >")
	words := strings.Fields(line)
	for i, w := range words {
		words[i] = strings.Trim(w, "'")
	}
	return words
}

// TestFormatsPage keeps docs/formats.md in step with the formats; -update
// rewrites it.
func TestFormatsPage(t *testing.T) {
	const path = "../../../docs/formats.md"
	var page bytes.Buffer
	page.WriteString(`# Formats

What is read, and where its description comes from. A file is recognised by its content; its name is only a hint. What
none of these knows is listed by ` + "`inventory`" + ` as a problem.

Containers, in each other as deep as the limit allows: directories, tar, gz, xz, zst, bz2, lz4, zip, and standard input.

Captures: ` + "`pcap`" + ` in both byte orders with micro- or nanoseconds, ` + "`pcapng`" + ` with sections, several interfaces, comments, names
and drop counts.

Text and binary logs, objects and outputs:

| format | what it is |
|---|---|
`)
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	for _, f := range logs.Formats() {
		fmt.Fprintf(&page, "| `%s` | %s |\n", f.Name, cell.Replace(strings.TrimSuffix(f.Doc, ".")))
	}
	inStep(t, path, page.Bytes())
}

// TestProblemsPage keeps docs/problems.md in step with the kinds of problems;
// -update rewrites it.
func TestProblemsPage(t *testing.T) {
	const path = "../../../docs/problems.md"
	var page bytes.Buffer
	page.WriteString(`# Problems in the inputs

What a problem's code means, and what to do. A report lists the first place of each; with ` + "`--strict`" + ` a problem that
loses something is exit code 4.

| code | what was met | loses something | what to do |
|---|---|---|---|
`)
	cell := strings.NewReplacer("|", `\|`)
	for _, k := range event.ProblemKinds() {
		loses := "no"
		if k.Loses {
			loses = "yes"
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", k.Code, cell.Replace(k.Means), loses, cell.Replace(k.Try))
	}
	inStep(t, path, page.Bytes())
}
