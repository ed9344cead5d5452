package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
)

// exitError is an error that decides the exit code, with hints on what to try.
type exitError struct {
	code  int
	err   error
	hints []string
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usagef is a wrong command line or configuration.
func usagef(format string, args ...any) *exitError {
	return &exitError{code: ExitUsage, err: fmt.Errorf(format, args...)}
}

// failf is work that could not be done.
func failf(format string, args ...any) *exitError {
	return &exitError{code: ExitFailed, err: fmt.Errorf(format, args...)}
}

// try adds a hint: a sentence that says what to do.
func (e *exitError) try(format string, args ...any) *exitError {
	e.hints = append(e.hints, fmt.Sprintf(format, args...))
	return e
}

// describe renders an error and its hints, one line each.
func describe(err error) string {
	var b strings.Builder
	b.WriteString(err.Error())
	if e, ok := errors.AsType[*exitError](err); ok {
		for _, hint := range e.hints {
			b.WriteString("\ntry: " + hint)
		}
	}
	if e, ok := errors.AsType[*store.Error](err); ok && e.Try != "" {
		b.WriteString("\ntry: " + e.Try)
	}
	return b.String()
}

// parseFailure adds to an error of the argument parser what the person probably
// meant.
func parseFailure(err error, args []string) error {
	verb := ""
	if p, ok := errors.AsType[*kong.ParseError](err); ok {
		if p.Context != nil && p.Context.Selected() != nil {
			verb = " " + p.Context.Selected().Name
		}
		err = p.Unwrap()
	}
	out := &exitError{code: ExitUsage, err: err}
	if x, ok := errors.AsType[*exitError](err); ok && len(x.hints) > 0 {
		return x
	}
	if verb == "" && len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		if _, statErr := os.Stat(args[0]); statErr == nil {
			return out.try("%s analyze %s", programName, strings.Join(args, " "))
		}
	}
	return out.try("%s%s --help", programName, verb)
}
