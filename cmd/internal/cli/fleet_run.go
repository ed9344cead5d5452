package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/cmd/internal/progress"
	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/manifest"
)

// fleetRun is a run over many bundles. At most rt.workers of them are open at a
// time; what is kept of a bundle afterwards is its row.
type fleetRun struct {
	rt      *session
	job     *caseJob
	out     depot
	skip    bool
	bundles []string

	rows    []*runRow // by bundle
	counter source.Progress
	total   int64 // bytes of the bundles that are files
	done    atomic.Int64
	failed  atomic.Int64
	skipped atomic.Int64
	lined   bool // a progress line is shown

	mu      sync.Mutex
	shown   int   // rows printed so far
	stopped error // of an output that cannot be written
}

// run analyses the bundles side by side. Its error ends the run: the end of the
// context, or an output that cannot be written.
func (f *fleetRun) run() error {
	f.rows = make([]*runRow, len(f.bundles))
	for _, b := range f.bundles {
		if store.IsURL(b) {
			f.total = 0 // asking for each would take a request
			break
		}
		if info, err := os.Stat(b); err == nil && info.Mode().IsRegular() {
			f.total += info.Size()
		}
	}
	if !f.rt.quiet && isTerminal(f.rt.stderr) {
		f.lined = true
		line := progress.StartText(f.rt.stderr, f.progress)
		defer line.Stop()
	}
	side := max(1, min(f.rt.workers, len(f.bundles)))
	sub := f.rt.share(side)
	sub.counters = &f.counter
	next := make(chan int)
	var workers sync.WaitGroup
	for range side {
		workers.Go(func() {
			for i := range next {
				f.one(sub, i)
			}
		})
	}
	for i := range f.bundles {
		if f.rt.ctx.Err() != nil || f.stop(nil) != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	if err := f.rt.ctx.Err(); err != nil {
		return err
	}
	return f.stopped
}

// share is the session of one of n workers.
func (rt *session) share(n int) *session {
	sub := *rt
	sub.workers = max(1, rt.workers/n)
	sub.quiet, sub.fleet = true, true
	if sub.memory == 0 {
		sub.memory = spillShare * parsers.DefaultMemoryLimit
	}
	sub.memory = max(sub.memory/int64(n), spillShare<<20)
	return &sub
}

// stop notes the first reason to end the run, and returns it.
func (f *fleetRun) stop(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped == nil {
		f.stopped = err
	}
	return f.stopped
}

// one analyses a bundle and writes its reports and its row, in this order: a
// bundle without a row is not done.
func (f *fleetRun) one(rt *session, i int) {
	row, err := f.analyze(rt, f.bundles[i])
	if rt.ctx.Err() != nil {
		return
	}
	if err != nil {
		f.stop(err)
		return
	}
	f.done.Add(1)
	if row.Status == statusFailed {
		f.failed.Add(1)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows[i] = row
	for f.shown < len(f.rows) && f.rows[f.shown] != nil {
		f.show(f.rows[f.shown], f.bundles[f.shown])
		f.shown++
	}
}

// analyze returns the row of a bundle. Its error is that of an output, or of
// the context.
func (f *fleetRun) analyze(rt *session, bundle string) (*runRow, error) {
	readable := !f.job.redact
	row := &runRow{Case: caseName(bundle, readable)}
	if readable {
		row.Bundle = bundle
	}
	rt = rt.pinned()
	if f.skip {
		if old := f.existing(rt, row.Case, bundle); old != nil {
			f.skipped.Add(1)
			f.counter.Read.Add(old.Bytes)
			return old, nil
		}
	}
	outcome, err := f.attempt(rt, bundle, row.Case)
	if outputErr, ok := err.(*outputError); ok {
		return nil, failf("%s: %w", row.Case, outputErr.err)
	}
	switch {
	case rt.ctx.Err() != nil:
		return nil, rt.ctx.Err()
	case err != nil:
		row.Status, row.Error = statusFailed, err.Error()
		if !readable {
			row.Error = "the bundle could not be analysed (the reason may hold names)"
		}
		// What an earlier run wrote no longer holds: without its manifest it is no
		// report.
		if err := f.out.Remove(caseDir(row.Case) + "/" + manifest.FileName); err != nil {
			return nil, failf("%s: %w", row.Case, err)
		}
	default:
		row.Status, row.Problems, row.RunID = statusDone, len(outcome.damaged), outcome.runID
		row.SHA256, row.Bytes = outcome.input.SHA256, outcome.input.Bytes
		if store.IsURL(bundle) {
			row.Version, _, _ = source.VersionOf(rt.ctx, rt.pins, bundle)
		}
		row.Key = f.job.runKey(row.SHA256, rules.RulesHash())
		row.incidents(outcome.shown)
		if n := len(outcome.damaged); n > 0 {
			rt.log.Warn("problems in a bundle: its report lists them", "bundle", bundle, "problems", n)
		}
	}
	data, err := row.encode()
	if err == nil {
		err = f.out.WriteFile(rowFile(row.Case), data)
	}
	if err != nil {
		return nil, failf("%s: %w", rowFile(row.Case), err)
	}
	return row, nil
}

// attempt runs the case of one bundle. A panic is the failure of this bundle
// alone.
func (f *fleetRun) attempt(rt *session, bundle, name string) (out *caseOutcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("the analysis failed, which is a bug to report: %v", p)
		}
	}()
	return f.job.run(rt, []string{bundle}, f.out.Sink(caseDir(name), rt.stdout))
}

// show prints the row of a bundle: what became of it, the cause of its largest
// incident, its name.
func (f *fleetRun) show(r *runRow, bundle string) {
	if !f.job.summary {
		return
	}
	verdict := "no incident"
	switch {
	case r.Status == statusFailed:
		_, reason, more := strings.Cut(r.Error, "\n")
		if verdict = strings.TrimSpace(reason); !more {
			verdict = r.Error
		}
		verdict, _, _ = strings.Cut(verdict, "\n")
	case len(r.Incidents) > 0:
		i := r.Incidents[0]
		verdict = fmt.Sprintf("%s %.2f", i.ID, i.Confidence)
		if n := len(r.Incidents) - 1; n > 0 {
			verdict += fmt.Sprintf(" +%d", n)
		}
	}
	if f.job.redact {
		bundle = r.Case
	}
	if f.lined {
		fmt.Fprint(f.rt.stderr, "\r\x1b[K") // it comes back below the row
	}
	fmt.Fprintf(f.rt.stdout, "%-6s  %-36s  %s\n", r.Status, escape.Visible(verdict), escape.Visible(bundle))
}

// progress is the text of the progress line.
func (f *fleetRun) progress() string {
	text := fmt.Sprintf("analysed %d of %d bundles", f.done.Load(), len(f.bundles))
	if n := f.failed.Load(); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	read := f.counter.Read.Load()
	if f.total > 0 && read <= f.total {
		return text + fmt.Sprintf(", %d%% of %s", read*100/f.total, progress.Bytes(f.total))
	}
	return text + ", " + progress.Bytes(read)
}

// tell says at the end what was done.
func (f *fleetRun) tell(dir string, all int, s shard) {
	done := slices.DeleteFunc(slices.Clone(f.rows), func(r *runRow) bool { return r.Status != statusDone })
	text := fmt.Sprintf("%d of %d bundles analysed", len(done)-int(f.skipped.Load()), len(f.rows))
	if n := f.skipped.Load(); n > 0 {
		text += fmt.Sprintf(", %d left as they were", n)
	}
	if n := f.failed.Load(); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	}
	if s.count > 1 {
		text += fmt.Sprintf("; share %d of %d, of %d bundles in all", s.index, s.count, all)
	}
	f.rt.say("%s: %s\n%s: wrote %s\n", programName, text, programName, dir)
}
