// Package outputs checks what whole runs of the program write: that reports can
// be verified, that they are equal however they are made, valid in every format,
// and free of original names once redacted. Inputs are the recordings under
// fixtures and, where they stand beside the checkout, the larger ones.
package outputs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/cmd/internal/cli"
)

const (
	demo   = "../../../fixtures/demo/bundle.tar.gz"
	lab    = "../../../../shared/corpus/lab"
	public = "../../../../shared/corpus/public"

	allFormats = "term,md,html,json,parquet,sarif,junit,timesketch"
)

// scratch holds the reports that several tests read.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "outputs-test-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		scratch = dir
		defer endBrowser() // before its files go
		return m.Run()
	}())
}

// outcome is what a run of the program left besides its files.
type outcome struct {
	code           int
	stdout, stderr string
}

// program runs the program with an empty environment.
func program(args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := cli.Main(args, strings.NewReader(""), &stdout, &stderr, func(string) string { return "" })
	return outcome{code, stdout.String(), stderr.String()}
}

// analyze writes a report of an input in all formats.
func analyze(t *testing.T, dir, input string, more ...string) outcome {
	t.Helper()
	o := program(append([]string{"analyze", input, "-o", dir, "-f", allFormats}, more...)...)
	require.Zero(t, o.code, o.stderr)
	return o
}

// made is a report that was made once for all tests.
type made struct {
	dir string
	outcome
}

var reports sync.Map // input path to func() made

// reportOf returns the report of an input in all formats; tests must not change
// it.
func reportOf(t *testing.T, input string) made {
	t.Helper()
	once, _ := reports.LoadOrStore(input, sync.OnceValue(func() made {
		dir := filepath.Join(scratch, strings.ReplaceAll(filepath.ToSlash(input), "/", "_"))
		return made{dir, program("analyze", input, "-o", dir, "-f", allFormats)}
	}))
	m := once.(func() made)()
	require.Zero(t, m.code, m.stderr)
	return m
}

// read returns a file of a report.
func (m made) read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(m.dir, filepath.FromSlash(name)))
	require.NoError(t, err)
	return b
}

// recordings lists the bundles of the labelled recordings, by name.
func recordings(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(lab, "*", "bundle.tar.gz"))
	require.NoError(t, err)
	if len(found) == 0 {
		t.Skip("the recordings are not beside the checkout")
	}
	return found
}

// each runs f on the report of every recording, side by side.
func each(t *testing.T, f func(t *testing.T, bundle string, m made)) {
	for _, bundle := range recordings(t) {
		t.Run(filepath.Base(filepath.Dir(bundle)), func(t *testing.T) {
			t.Parallel()
			f(t, bundle, reportOf(t, bundle))
		})
	}
}
