package cli

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestMain lets scripts run the tool without a built binary.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		programName: func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)) },
	})
}

// TestScripts runs the scripts of testdata/script, one file a topic.
func TestScripts(t *testing.T) {
	fixtures, err := filepath.Abs("../../../fixtures")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("FIXTURES", fixtures)
			env.Setenv("TMPDIR", env.Getenv("WORK"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scriptExits,
			"cut":   scriptCut,
		},
	})
}

// scriptExits runs a program and checks its exit code: exits 2 PROGRAM ARG...
func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARGUMENT...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		got = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
	// A wrong command line and work that failed both say what to do.
	if stderr := ts.ReadFile("stderr"); (got == ExitUsage || got == ExitFailed) && !strings.Contains(stderr, "try: ") && !strings.Contains(stderr, "--help") {
		ts.Fatalf("the error says nothing of what to try: %s", stderr)
	}
}

// scriptCut copies the first bytes of a file: cut BYTES FROM TO
func scriptCut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cut BYTES FROM TO")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	data, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), data[:min(n, len(data))], 0o644))
}
