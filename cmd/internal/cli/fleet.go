package cli

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/report"
)

// fleetFlags make a case of every input.
type fleetFlags struct {
	Each         bool   `group:"fleet" help:"Treat every input as a case of its own: a bundle that cannot be read is one failed row, the others go on."`
	InputList    string `group:"fleet" placeholder:"FILE" complete:"files" help:"Read the names of inputs from FILE (- for standard input), one a line; implies --each."`
	SkipExisting bool   `group:"fleet" help:"Leave out bundles whose reports are there already, made from the same bytes by the same options, rules and version."`
	shardFlags
	FromEvents string `group:"fleet" placeholder:"DIR" complete:"dirs" help:"Make one case of the shares that extract --shard wrote to DIR. Inputs, where given, serve to quote from."`
}

// fleetDir is where the reports of many cases go by default.
const fleetDir = "fleet" + reportSuffix

// wanted reports whether inputs are cases of their own.
func (f *fleetFlags) wanted() bool { return f.Each || f.InputList != "" }

// check refuses flags that have no meaning for a single case.
func (f *fleetFlags) check() error {
	switch {
	case f.wanted() && f.FromEvents != "":
		return usagef("--from-events is one case, --each and --input-list are many").try("leave out one of them")
	case f.wanted():
		return nil
	case f.SkipExisting:
		return usagef("--skip-existing without --each or --input-list: a single case is always analysed")
	case f.Shard != "" || f.ShardCount != 0:
		return usagef("--shard without --each or --input-list: a case is never split").try("%s extract --shard I/N, then analyze --from-events", programName)
	}
	return nil
}

// bundles lists the inputs, those of the list behind those given, each once.
// What lies below output is none of them.
func (f *fleetFlags) bundles(rt *session, inputs []string, output string) ([]string, error) {
	var all []string
	for _, in := range inputs {
		found, err := rt.expand(in, output)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if f.InputList != "" {
		listed, err := f.readList(rt)
		if err != nil {
			return nil, err
		}
		all = append(all, listed...)
	}
	var out []string
	seen := map[string]bool{}
	for _, in := range all {
		if in == "-" {
			return nil, usagef("standard input is one case: --each takes files and directories").try("--input-list - for a list of names")
		}
		if name := bundleName(in); !seen[name] {
			seen[name] = true
			out = append(out, in)
		}
	}
	if len(out) == 0 {
		return nil, failf("%s: the list names no input", cmp.Or(f.InputList, strings.Join(inputs, ", "))).try("one path a line")
	}
	return out, rt.checkInputs(out)
}

// readList reads one name a line. Empty lines and lines that begin with # are
// left out.
func (f *fleetFlags) readList(rt *session) ([]string, error) {
	var r io.Reader = rt.stdin
	if f.InputList != "-" {
		file, err := rt.openFile(f.InputList)
		if err != nil {
			return nil, failf("--input-list: %w", err)
		}
		defer file.Close()
		r = file
	}
	var out []string
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, failf("--input-list %s: %w", f.InputList, err)
	}
	return out, nil
}

// runFleet analyses every bundle of the share as a case of its own.
func (c *analyzeCmd) runFleet(rt *session, j *caseJob) error {
	if c.RedactMap != "" {
		return usagef("--redact-map with --each: every case has pseudonyms of its own").try("one case at a time")
	}
	share, err := c.fleetFlags.resolve(rt.env)
	if err != nil {
		return err
	}
	if c.Output == "" {
		c.Output = fleetDir
	}
	all, err := c.bundles(rt, c.Input, c.Output)
	if err != nil {
		return err
	}
	dir, err := c.dir(rt, all)
	if err != nil {
		return err
	}
	out, err := rt.depot(dir)
	if err != nil {
		return err
	}
	var own []string
	for _, b := range all {
		if share.has(b) {
			own = append(own, b)
		}
	}
	j.summary = slices.Contains(j.formats, "term")
	j.formats = slices.DeleteFunc(slices.Clone(j.formats), func(f string) bool {
		return !writesFiles([]string{f}, report.Options{Flavor: report.Flavor(c.Flavor)})
	})
	run := &fleetRun{rt: rt, job: j, out: out, skip: c.SkipExisting, bundles: own}
	if err := run.run(); err != nil {
		return err
	}
	run.tell(dir, len(all), share)
	return c.fleetVerdict(run.rows)
}

// fleetVerdict is the exit code's error over all rows of the run.
func (f *exitFlags) fleetVerdict(rows []*runRow) error {
	failed, damaged := 0, 0
	var found []string
	for _, r := range rows {
		switch {
		case r.Status == statusFailed:
			failed++
			continue
		case r.Problems > 0:
			damaged++
		}
		for _, i := range r.Incidents {
			if i.Confidence >= f.MinConfidence && f.matches(i.cause()) {
				found = append(found, i.ID)
			}
		}
	}
	slices.Sort(found)
	switch {
	case len(found) > 0:
		return &exitError{code: ExitFailOn, err: errors.New("--fail-on reached: " + strings.Join(slices.Compact(found), ", "))}
	case len(rows) > 0 && failed == len(rows):
		return failf("no bundle of this run could be analysed; the rows in runs/ say why").try("mend what runs/*.json name as error, and run the same again with --skip-existing")
	case f.Strict && failed+damaged > 0:
		e := failf("--strict: %d of %d bundles failed, %d have damage in them", failed, len(rows), damaged)
		e.code = ExitDamaged
		return e
	}
	return nil
}
