package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/cmd/internal/progress"
	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// inputArgs are the inputs of one case.
type inputArgs struct {
	Input []string `arg:"" name:"input" complete:"files" help:"File, directory or archive; - is standard input."`
}

// open reads the inputs. The caller closes the case.
func (rt *session) open(inputs []string, limits source.Limits) (*parsers.Case, error) {
	if err := rt.checkInputs(inputs); err != nil {
		return nil, err
	}
	if rt.pins == nil {
		rt = rt.pinned()
	}
	return rt.settled(rt.openInputs(inputs, limits))
}

// settled returns what was opened, unless a store failed meanwhile.
func (rt *session) settled(c *parsers.Case, err error) (*parsers.Case, error) {
	failed := rt.pins.failure()
	if failed == nil || interrupted(err) {
		return c, err
	}
	if c != nil {
		_ = c.Close()
	}
	if usage, ok := errors.AsType[*exitError](failed); ok {
		return nil, usage
	}
	return nil, failf("%w", failed)
}

func (rt *session) openInputs(inputs []string, limits source.Limits) (*parsers.Case, error) {
	rt.log.Debug("reading", "inputs", len(inputs), "workers", rt.workers)
	options, line := rt.reading(limits)
	defer line.Stop()
	if slices.Contains(inputs, "-") {
		options.Stdin = newInterruptible(rt.ctx, rt.stdin)
	}
	events := slices.IndexFunc(inputs, rt.extracted)
	if events >= 0 {
		if i := slices.IndexFunc(inputs, func(in string) bool { return !rt.extracted(in) }); i >= 0 {
			return nil, usagef("%s holds extracted events, %s does not: one case takes one kind", inputs[events], inputs[i]).
				try("%s extract %s", programName, inputs[i])
		}
		c, err := parsers.OpenEvents(rt.ctx, inputs, options)
		if err != nil && !interrupted(err) {
			return nil, failf("%w", err).try("extract the events again: %s extract INPUT... -o FILE", programName)
		}
		return c, err
	}
	c, err := parsers.Open(rt.ctx, inputs, options)
	if err == nil && kept(c) > fewEvents {
		rt.garbage(gcAnalysing)
	}
	if unreadable, ok := errors.AsType[*parsers.UnreadableError](err); ok {
		return nil, &exitError{code: ExitFailed, err: err, hints: unreadable.Try}
	}
	return c, err
}

// fewEvents is how many events can be analysed without care for memory.
const fewEvents = 10_000

func kept(c *parsers.Case) (n int64) {
	for _, s := range c.Infos() {
		n += s.Kept
	}
	return n
}

// openShares opens the shares of one case that extract --shard wrote below dir.
func (rt *session) openShares(dir string) (*parsers.Case, error) {
	if rt.pins == nil {
		rt = rt.pinned()
	}
	paths, err := rt.sharesBelow(dir)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, failf("--from-events %s: no file there ends in %s", dir, extractSuffix).try("%s extract --shard 0/3 -o %s/0%s INPUT...", programName, dir, extractSuffix)
	}
	options, line := rt.reading(source.Limits{})
	defer line.Stop()
	c, err := rt.settled(parsers.OpenShares(rt.ctx, paths, options))
	if err == nil && kept(c) > fewEvents {
		rt.garbage(gcAnalysing)
	}
	if _, told := errors.AsType[*exitError](err); told || interrupted(err) {
		return nil, err
	}
	if err != nil {
		return nil, failf("%w", err).try("let each share I of N be extracted once, from the same inputs: %s extract --shard I/N -o %s/I%s INPUT...", programName, dir, extractSuffix)
	}
	return c, nil
}

// sharesBelow names the files of shares in a directory.
func (rt *session) sharesBelow(dir string) (paths []string, err error) {
	if !store.IsURL(dir) {
		paths, err = filepath.Glob(filepath.Join(globQuote(dir), "*"+extractSuffix))
	} else {
		err = rt.pins.List(rt.ctx, dir, func(rel string, o source.Object) error {
			if strings.HasSuffix(rel, extractSuffix) && !strings.Contains(rel, "/") {
				paths = append(paths, o.Name)
			}
			return nil
		})
		slices.Sort(paths)
	}
	if err != nil {
		return nil, failf("--from-events %s: %w", dir, err)
	}
	return paths, nil
}

// globQuote makes a directory's name match itself alone.
func globQuote(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// reading returns the options of a run over inputs, and its progress line.
func (rt *session) reading(limits source.Limits) (parsers.Options, *progress.Line) {
	rt.garbage(gcReading)
	counters := cmp.Or(rt.counters, &source.Progress{})
	var line *progress.Line
	if !rt.quiet && isTerminal(rt.stderr) {
		line = progress.Start(rt.stderr, counters)
	}
	return parsers.Options{
		Limits: limits, Store: rt.inputs(), Workers: rt.workers, MemoryLimit: rt.memory / spillShare,
		TempDir: rt.env("TMPDIR"), Progress: counters,
	}, line
}

// spillShare is the part of --memory-limit that kept events may take (one
// quarter): decompressors, tables and the collector's slack need the rest.
const spillShare = 4

func (rt *session) checkInputs(inputs []string) error {
	stdin := 0
	for _, in := range inputs {
		if in == "-" {
			stdin++
		}
		if in == "" {
			return usagef("an input has an empty name")
		}
		if store.IsURL(in) {
			if _, err := rt.storeOf(in); err != nil {
				return err
			}
		}
		if strings.HasPrefix(in, "~/") {
			if _, err := os.Stat(in); err != nil {
				return usagef("%s: the shell did not expand ~", in).try("$HOME/%s", strings.TrimPrefix(in, "~/"))
			}
		}
	}
	if stdin > 1 {
		return usagef("standard input (-) is given %d times, but can be read once", stdin)
	}
	return nil
}

// damage returns the problems that mean lost records: members that no format
// claims are none, unless they are an input themselves.
func damage(c *parsers.Case) []event.Problem { return lost(c.Problems()) }

func lost(problems []event.Problem) []event.Problem {
	var out []event.Problem
	for _, p := range problems {
		if !p.Kind().Loses || p.Code == "unknown-format" && strings.Contains(p.Path, "!/") {
			continue
		}
		out = append(out, p)
	}
	return out
}

// maxWarnings bounds the problems shown as warnings; reports list them all.
const maxWarnings = 5

// warn logs the damage met in the inputs.
func (rt *session) warn(problems []event.Problem) {
	for i, p := range problems {
		if i == maxWarnings {
			rt.log.Warn("more problems in the inputs: the report lists them", "more", len(problems)-i)
			return
		}
		rt.log.Warn(p.Code+": "+p.Message, "at", place(p), "count", max(p.Count, 1))
	}
}

// place names where a problem was met.
func place(p event.Problem) string {
	if p.Ref.Line == 0 && p.Ref.Packet == 0 && p.Ref.Offset == 0 {
		return p.Path
	}
	return p.Path + p.Ref.Place()
}

// interrupted reports whether err is the end of the session's context.
func interrupted(err error) bool { return errors.Is(err, context.Canceled) }
