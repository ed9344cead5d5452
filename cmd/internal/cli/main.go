// Package cli is the command line: it parses arguments and configuration, wires
// parsers, analysis and report together, and turns what happened into messages
// and an exit code. It holds no knowledge about probes.
//
// # Voice
//
// Results go to standard output, everything else to standard error, each line
// with the program's name before it. Messages are lower case without a full
// stop; they name the path, the place, what went wrong and why. What to try
// stands on a line of its own that begins with "try: ".
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
)

// Exit codes. They are a public interface: scripts branch on them.
const (
	ExitDone        = 0   // the work was done, whether or not there were findings
	ExitFailed      = 1   // nothing readable in any input, or an output could not be written
	ExitUsage       = 2   // wrong command line or configuration
	ExitFailOn      = 3   // a cause named by --fail-on was found
	ExitDamaged     = 4   // --strict, and an input was damaged or partly unreadable
	ExitInterrupted = 130 // interrupted by a signal
)

// Main runs the program with the arguments after its name and returns the exit
// code. The environment is read through env only. URLs lead to the stores; there
// are none in the plain program.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string, stores ...store.Store) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once: the first one only asked.
	context.AfterFunc(ctx, stop)

	rt := &session{
		ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr, env: env, now: time.Now, stores: stores,
		workers: runtime.GOMAXPROCS(0),
	}
	return rt.main(args)
}

func (rt *session) main(args []string) int {
	if len(args) == 0 {
		rt.say("%s", shortHelp)
		return ExitUsage
	}
	grammar := &root{}
	parser, err := newParser(grammar, rt)
	if err != nil {
		rt.complain(err)
		return ExitFailed
	}
	kctx, err := parser.Parse(args)
	if errors.Is(err, errHelpShown) {
		return ExitDone
	}
	if err != nil {
		rt.complain(parseFailure(err, args))
		return ExitUsage
	}
	if err := rt.configure(&grammar.globals); err != nil {
		rt.complain(err)
		return ExitUsage
	}
	return rt.finish(hinted(kctx.Run(rt), kctx.Selected()))
}

// finish turns the outcome of a verb into a message and an exit code.
func (rt *session) finish(err error) int {
	if err == nil {
		return ExitDone
	}
	if rt.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		rt.complain(errors.New("interrupted; nothing of the unfinished work was written"))
		return ExitInterrupted
	}
	rt.complain(err)
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return ExitFailed
}

// newParser builds the kong parser over the grammar.
func newParser(grammar *root, rt *session) (*kong.Kong, error) {
	return kong.New(grammar,
		kong.Name(programName),
		kong.Description(description),
		kong.Writers(rt.stdout, rt.stderr),
		kong.NoDefaultHelp(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.Help(printHelp),
		kong.ExplicitGroups(flagGroups),
		grammarVars(),
		kong.Bind(rt),
	)
}

// printHelp shows the flags of a verb before those of every verb: kong would
// begin with the latter. Parsing ends with the help, so the grammar may be
// changed for it.
func printHelp(options kong.HelpOptions, kctx *kong.Context) error {
	if verb := kctx.Selected(); verb != nil {
		verb.Flags = append(verb.Flags, kctx.Model.Flags...)
		kctx.Model.Flags = nil
	}
	return kong.DefaultHelpPrinter(options, kctx)
}
