package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// programName is how the tool calls itself in messages, files and completions.
const programName = "probe-forensics"

// session is what a verb gets from its surroundings: nothing below it reaches
// for the process's own streams, environment or clock.
type session struct {
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	now            func() time.Time
	stores         []store.Store // that URLs lead to

	// Set by configure.
	log     *slog.Logger
	workers int
	memory  int64 // bytes, 0 = no limit
	quiet   bool  // no progress line
	color   string

	// Set for the workers of a run over many bundles.
	fleet    bool             // problems are told by bundle
	counters *source.Progress // shared by all

	// Set for the time of one case, see pins.
	pins *pins
}

// configure applies the global flags.
func (rt *session) configure(g *globals) error {
	level := slog.LevelWarn
	if err := level.UnmarshalText([]byte(g.LogLevel)); err != nil {
		return usagef("--log-level: %w", err)
	}
	options := &slog.HandlerOptions{Level: level}
	if g.LogFormat == "json" {
		rt.log = slog.New(slog.NewJSONHandler(rt.stderr, options))
	} else {
		// A person reads these lines beside the shell's prompt: the time is noise.
		options.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}
		rt.log = slog.New(slog.NewTextHandler(rt.stderr, options))
	}
	if g.Workers > 0 {
		rt.workers = g.Workers
	}
	rt.memory = int64(g.MemoryLimit)
	if rt.memory > 0 {
		debug.SetMemoryLimit(rt.memory)
	}
	rt.quiet = g.NoProgress
	rt.color = g.Color
	return nil
}

// How much garbage may pile up, in percent of what is in use: while inputs are
// read little is in use and much passes through, afterwards the peak is what
// counts.
const (
	gcReading   = 100
	gcAnalysing = 18
)

// garbage sets how much garbage may pile up, unless the environment does.
func (rt *session) garbage(percent int) {
	if rt.env("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// say writes a message for a person to standard error, as it is.
func (rt *session) say(format string, args ...any) {
	fmt.Fprintf(rt.stderr, format, args...)
}

// complain writes an error, each of its lines and hints with the program's name
// before it.
func (rt *session) complain(err error) {
	for line := range strings.SplitSeq(strings.TrimRight(describe(err), "\n"), "\n") {
		fmt.Fprintf(rt.stderr, "%s: %s\n", programName, line)
	}
}

// isTerminal reports whether w is a character device.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// colorful decides on colour for results: the flag beats the environment, and
// NO_COLOR beats CLICOLOR_FORCE.
func (rt *session) colorful() bool {
	switch {
	case rt.color == "always":
		return true
	case rt.color == "never", rt.env("NO_COLOR") != "":
		return false
	case rt.env("CLICOLOR_FORCE") != "" && rt.env("CLICOLOR_FORCE") != "0":
		return true
	case rt.env("TERM") == "dumb":
		return false
	}
	return isTerminal(rt.stdout)
}
