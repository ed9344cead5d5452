// Command bench measures the product against the programs that do a part of its
// job, on generated inputs whose content is known: `make bench` writes
// docs/benchmarks.md, `make bench-quick` prints the same ratios on small inputs.
//
// Product and peers run in turn on the same file, round after round, as whole
// processes. What counts is CPU time (user and system), which a busy machine
// changes less than the clock on the wall. The product hashes every input, so
// the peers' figures include sha256sum of the same file. An answer is compared
// with what the generator put in before its speed is quoted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	quick, keep, install bool
	rounds               int
	dir, out             string
	product, gen         string
	verify               string
	only                 *regexp.Regexp
}

func parse() (o options, err error) {
	var only string
	flag.BoolVar(&o.quick, "quick", false, "small inputs, one round")
	flag.IntVar(&o.rounds, "rounds", 0, "rounds (default 5, quick 1)")
	flag.StringVar(&o.dir, "dir", "", "where inputs are made (default: a directory in the system's temporary one, removed afterwards)")
	flag.BoolVar(&o.keep, "keep", false, "keep the inputs for the next run")
	flag.BoolVar(&o.install, "install", false, "install missing peers as Debian packages")
	flag.StringVar(&o.out, "o", "", "Markdown file to write (default: standard output)")
	flag.StringVar(&o.product, "product", "bin/probe-forensics", "the product")
	flag.StringVar(&o.gen, "gen", "bin/gen", "the generator of inputs")
	flag.StringVar(&o.verify, "verify", "", "only compare the report in -dir with the truth of the job of this name")
	flag.StringVar(&only, "only", "", "run only the jobs whose name matches this regular expression")
	flag.Parse()
	if o.rounds == 0 {
		o.rounds = 5
		if o.quick {
			o.rounds = 1
		}
	}
	if o.only, err = regexp.Compile(only); err != nil {
		return o, err
	}
	for _, p := range []*string{&o.product, &o.gen} {
		if *p, err = filepath.Abs(*p); err != nil {
			return o, err
		}
		if _, err = os.Stat(*p); err != nil {
			return o, err
		}
	}
	return o, nil
}

func run() (err error) {
	o, err := parse()
	if err != nil {
		return err
	}
	if o.verify != "" {
		return verifyJob(o)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "probe-forensics-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	} else if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	if o.install {
		install(ctx)
	}
	start, notes := time.Now(), notesOf(o.out)
	b := &bench{options: o, ctx: ctx}
	if err := b.measureFloor(); err != nil {
		return err
	}
	var results []result
	for _, j := range jobs(scaleOf(o.quick)) {
		if !o.only.MatchString(j.name) {
			continue
		}
		r, err := b.job(j)
		if err != nil {
			return fmt.Errorf("%s: %w", j.name, err)
		}
		results = append(results, r)
		fmt.Fprintln(os.Stderr, r.line())
		if o.out == "" {
			continue
		}
		// After every job: a run that is stopped keeps what it has.
		doc := document{options: o, floor: b.floor, results: results, notes: notes}
		if err := os.WriteFile(o.out, doc.markdown(), 0o644); err != nil {
			return err
		}
	}
	if o.out == "" {
		doc := document{options: o, floor: b.floor, results: results}
		_, err = os.Stdout.Write(doc.markdown())
		fmt.Fprintf(os.Stderr, "bench: took %s\n", time.Since(start).Round(time.Second))
	}
	return err
}
