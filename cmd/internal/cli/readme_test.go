package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// demoCommand is the command whose transcript stands in the README.
const demoCommand = "$ bin/probe-forensics analyze fixtures/demo/bundle.tar.gz -o bin/demo\n"

// numbers are left out of the comparison: sizes depend on the version stamped
// into the binary, and confidences may be calibrated.
var numbers = regexp.MustCompile(`[0-9]+([.,][0-9]+)*( (B|KiB|MiB))?`)

// TestReadme runs the demo and compares it with the transcript in the README;
// -update rewrites the transcript.
func TestReadme(t *testing.T) {
	const path = "../../../README.md"
	readme, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(readme), demoCommand)
	require.True(t, found, "the README does not show the demo")
	transcript, after, found := strings.Cut(rest, "```\n")
	require.True(t, found)

	repository, err := filepath.Abs("../../..")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.Symlink(filepath.Join(repository, "fixtures"), "fixtures"))
	var out bytes.Buffer
	env := map[string]string{"LANG": "C.UTF-8"}
	rt := &session{ctx: t.Context(), stdout: &out, stderr: &out, env: func(name string) string { return env[name] }, workers: 2}
	arguments := strings.Fields(demoCommand)[2:]
	require.Equal(t, ExitDone, rt.main(arguments))
	if *update {
		text := before + demoCommand + out.String() + "```\n" + after
		require.NoError(t, os.WriteFile(filepath.Join(repository, "README.md"), []byte(text), 0o644))
		return
	}
	same := numbers.ReplaceAllString(transcript, "N") == numbers.ReplaceAllString(out.String(), "N")
	assert.True(t, same, "the transcript in the README is not what the demo prints: run make generate")
}
