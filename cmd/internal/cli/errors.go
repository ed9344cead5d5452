package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

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

// advice returns what an error says about what to try: the hints of the first
// error in it that has some, and those of a store.
func advice(err error) []string {
	var out []string
	for e, ok := errors.AsType[*exitError](err); ok && len(out) == 0; e, ok = errors.AsType[*exitError](e.err) {
		out = slices.Clone(e.hints)
	}
	if e, ok := errors.AsType[*store.Error](err); ok && e.Try != "" {
		out = append(out, e.Try)
	}
	return out
}

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
	for _, hint := range advice(err) {
		b.WriteString("\ntry: " + hint)
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

// hinted adds what its kind suggests to an error of a verb that says nothing of
// what to try.
func hinted(err error, verb *kong.Node) error {
	if err == nil || errors.Is(err, context.Canceled) || len(advice(err)) > 0 {
		return err
	}
	out := &exitError{code: ExitFailed, err: err}
	if e, ok := errors.AsType[*exitError](err); ok {
		out.code = e.code
	}
	switch hint := remedy(err); {
	case hint != "":
		return out.try("%s", hint)
	case out.code == ExitUsage && verb != nil:
		return out.try("%s %s --help", programName, verb.Name)
	}
	return err
}

// remedy is what to do about an error of the system, "" for other errors.
func remedy(err error) string {
	for _, known := range []struct {
		kind error
		try  string
	}{
		{syscall.ENOSPC, "free space there, or choose another disk: -o for reports, TMPDIR for temporary files"},
		{syscall.EROFS, "choose a directory that can be written to: -o for reports, TMPDIR for temporary files"},
		{syscall.ENOTDIR, "choose another path: a part of it is a file"},
		{syscall.EMFILE, "raise the limit of open files (ulimit -n), or lower --workers"},
		{fs.ErrPermission, "check the permissions of the path, and as whom this runs"},
		{fs.ErrNotExist, "check the path"},
	} {
		if errors.Is(err, known.kind) {
			return known.try
		}
	}
	return ""
}
