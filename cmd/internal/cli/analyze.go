package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/report"
	"github.com/probe-forensics/probe-forensics/report/manifest"
)

type analyzeCmd struct {
	Input []string `arg:"" optional:"" name:"input" complete:"files" help:"File, directory or archive; - is standard input."`
	outputFlags
	fleetFlags
	selectFlags
	supplyFlags
	exitFlags
}

// Help says what goes in and what comes out.
func (*analyzeCmd) Help() string {
	return `The verdict goes to the terminal, the reports to DIR: report.md (everything), summary.md (for a ticket), report.html, report.json, tables (Parquet) and manifest.json. They appear whole or not at all.

    probe-forensics analyze must-gather.tar.gz node-1.pcap
    probe-forensics analyze -f term --pod 'shop/api-*' bundle/
    journalctl -u kubelet -o json | probe-forensics analyze -f json -o report -

Several inputs are one case. With --each or --input-list every input is a case of its own: its reports go to DIR/cases/NAME and what became of it to DIR/runs/NAME.json, whether or not the others could be read. Run it again with --skip-existing to go on where it was stopped, or on several machines with --shard; merge makes one report of all.

    probe-forensics analyze --each --skip-existing -o fleet archive/*.tar.gz`
}

// Run analyses the inputs, as one case or each as its own.
func (c *analyzeCmd) Run(rt *session, kctx *kong.Context) error {
	if len(c.Input) == 0 && c.InputList == "" && c.FromEvents == "" {
		return usagef(`expected "<input> ..."`).try("%s analyze --help", programName)
	}
	j := &caseJob{options: analyze.Options{ToolVersion: toolVersion()}, settings: settingsOf(kctx), flavor: c.Flavor, redact: c.Redact, redacted: c.redacted}
	err := errors.Join(c.selectFlags.apply(&j.options), c.supplyFlags.apply(&j.options), c.exitFlags.check(), c.fleetFlags.check())
	if err != nil {
		return err
	}
	if j.formats, err = c.formats(); err != nil {
		return err
	}
	if j.limits, err = parseLimits(c.Limit); err != nil {
		return err
	}
	if c.wanted() {
		return c.runFleet(rt, j)
	}
	j.events = c.FromEvents
	dir, err := c.dir(rt, c.places())
	if err != nil {
		return err
	}
	if err := c.checkRedaction(dir); err != nil {
		return err
	}
	out, err := j.run(rt, c.Input, rt.sink(dir))
	if e, ok := err.(*outputError); ok {
		return wrapOutput(e.err, dir)
	}
	if err != nil {
		return err
	}
	if writesFiles(j.formats, report.Options{Flavor: report.Flavor(c.Flavor)}) && !slices.Contains(j.formats, "term") {
		rt.say("%s: wrote %s\n", programName, dir)
	}
	return c.verdict(out.result, out.damaged)
}

// caseJob is what is done with the inputs of a case, whichever they are.
type caseJob struct {
	options  analyze.Options
	settings []manifest.Setting
	formats  []string
	flavor   string
	limits   source.Limits
	redact   bool
	redacted func(*session, *model.Result, []manifest.Setting) (*model.Result, []manifest.Setting, error)
	summary  bool   // of many cases: print a line for each
	events   string // directory of the shares of the case, instead of its inputs
}

// caseOutcome is what is left of a case when its reports were written.
type caseOutcome struct {
	result  *model.Result // before redaction
	shown   *model.Result // what the reports hold
	runID   string
	input   parsers.InputInfo // the first
	damaged []event.Problem
}

// outputError is an error of writing reports, not of reading inputs.
type outputError struct{ err error }

func (e *outputError) Error() string { return e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

func (j *caseJob) open(rt *session, inputs []string) (*parsers.Case, error) {
	if j.events != "" {
		return rt.openShares(j.events)
	}
	return rt.open(inputs, j.limits)
}

// run reads the inputs, analyses them and writes the reports to the sink.
func (j *caseJob) run(rt *session, inputs []string, sink report.Sink) (*caseOutcome, error) {
	if rt.pins == nil {
		rt = rt.pinned()
	}
	kase, err := j.open(rt, inputs)
	if err != nil {
		return nil, err
	}
	defer kase.Close()
	out := &caseOutcome{damaged: damage(kase), input: kase.Inputs()[0]}
	if !rt.fleet {
		rt.warn(out.damaged)
	}
	if out.result, err = analyze.Run(rt.ctx, kase, inputInfos(kase), j.options); err != nil {
		return nil, err
	}
	if !rt.fleet {
		rt.warnUnused(&j.options, kase.Infos(), out.result)
	}
	if err := rt.fillExcerpts(out.result, kase, inputs); err != nil {
		return nil, err
	}
	shown, settings, err := j.redacted(rt, out.result, slices.Clone(j.settings))
	if err != nil {
		return nil, err
	}
	out.shown, out.runID = shown, manifest.RunID(shown, settings)
	o := report.Options{Flavor: report.Flavor(j.flavor), Terminal: rt.terminal(), Settings: settings}
	if len(j.formats) == 0 {
		return out, nil // rows alone are wanted; Render would write its defaults
	}
	if err := report.Render(rt.ctx, shown, sink, o, j.formats...); err != nil {
		return nil, &outputError{err}
	}
	return out, nil
}

// wrapOutput names the directory in an error of writing to it.
func wrapOutput(err error, dir string) error {
	if interrupted(err) {
		return err
	}
	if store.IsURL(dir) {
		return failf("%w; without a new %s nothing there is taken for a report", err, manifest.FileName)
	}
	return failf("%s: %w; no file of this run was left behind", dir, err)
}

// inputInfos passes on what was read.
func inputInfos(c *parsers.Case) []analyze.InputInfo {
	var out []analyze.InputInfo
	for _, in := range c.Inputs() {
		out = append(out, analyze.InputInfo{Path: in.Path, SHA256: in.SHA256, Bytes: in.Bytes})
	}
	return out
}

// settingsOf lists the flags that can change a result, as given: those are all
// of the groups "select" and "supply", and no other.
func settingsOf(kctx *kong.Context) []manifest.Setting {
	var out []manifest.Setting
	for _, flag := range kctx.Selected().Flags {
		if flag.Group == nil || flag.Group.Key != "select" && flag.Group.Key != "supply" {
			continue
		}
		switch v := kctx.FlagValue(flag).(type) {
		case []string:
			for _, item := range v {
				out = append(out, manifest.Setting{Key: flag.Name, Value: item})
			}
		case string:
			if v = strings.TrimSpace(v); v != "" {
				out = append(out, manifest.Setting{Key: flag.Name, Value: v})
			}
		case int:
			if v != 0 {
				out = append(out, manifest.Setting{Key: flag.Name, Value: strconv.Itoa(v)})
			}
		}
	}
	return out
}

// places are what the reports must not lie among, the first naming them.
func (c *analyzeCmd) places() []string {
	if c.FromEvents == "" {
		return c.Input
	}
	return append([]string{c.FromEvents}, c.Input...)
}
