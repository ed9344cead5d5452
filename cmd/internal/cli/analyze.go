package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/parsers"
	"github.com/probe-forensics/probe-forensics/report"
	"github.com/probe-forensics/probe-forensics/report/manifest"
)

type analyzeCmd struct {
	inputArgs
	outputFlags
	selectFlags
	supplyFlags
	exitFlags
}

// Help says what goes in and what comes out.
func (*analyzeCmd) Help() string {
	return `The verdict goes to the terminal, the reports to DIR: report.md (everything), summary.md (for a ticket), report.html, report.json, tables (Parquet) and manifest.json. They appear whole or not at all.

    probe-forensics analyze must-gather.tar.gz node-1.pcap
    probe-forensics analyze -f term --pod 'shop/api-*' bundle/
    journalctl -u kubelet -o json | probe-forensics analyze -f json -o report -`
}

// Run analyses the inputs as one case.
func (c *analyzeCmd) Run(rt *session, kctx *kong.Context) error {
	options := analyze.Options{ToolVersion: toolVersion()}
	if err := errors.Join(c.selectFlags.apply(&options), c.supplyFlags.apply(&options), c.exitFlags.check()); err != nil {
		return err
	}
	formats, err := c.formats()
	if err != nil {
		return err
	}
	limits, err := parseLimits(c.Limit)
	if err != nil {
		return err
	}
	dir, err := c.dir(c.Input)
	if err != nil {
		return err
	}

	if err := c.checkRedaction(dir); err != nil {
		return err
	}
	kase, err := rt.open(c.Input, limits)
	if err != nil {
		return err
	}
	defer kase.Close()
	damaged := damage(kase)
	rt.warn(damaged)
	res, err := analyze.Run(rt.ctx, kase, inputInfos(kase), options)
	if err != nil {
		return err
	}
	if err := rt.fillExcerpts(res, kase, c.Input); err != nil {
		return err
	}
	shown, settings, err := c.redacted(rt, res, settingsOf(kctx))
	if err != nil {
		return err
	}
	out := report.Options{Flavor: report.Flavor(c.Flavor), Terminal: rt.terminal(), Settings: settings}
	if err := report.Render(rt.ctx, shown, report.NewDir(dir, rt.stdout), out, formats...); err != nil {
		return wrapOutput(err, dir)
	}
	if writesFiles(formats, out) && !slices.Contains(formats, "term") {
		rt.say("%s: wrote %s\n", programName, dir)
	}
	return c.verdict(res, damaged)
}

// wrapOutput names the directory in an error of writing to it.
func wrapOutput(err error, dir string) error {
	if interrupted(err) {
		return err
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
