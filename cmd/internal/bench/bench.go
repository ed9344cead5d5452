package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// bench runs jobs.
type bench struct {
	options
	ctx   context.Context
	floor int64
}

// result is what a job gave.
type result struct {
	job
	bytes, raw int64 // of the input, and of what was compressed
	runs       []usage
	peers      []compared
	skipped    []string
}

// compared is a peer's runs and the product's of the same rounds.
type compared struct {
	peer
	runs   []usage
	ratios []float64
}

// measureFloor finds the peak memory a process has here that does nothing: a
// child begins with the pages of its parent.
func (b *bench) measureFloor() error {
	u, err := measure(exec.CommandContext(b.ctx, "true"))
	b.floor = u.rss
	return err
}

func (b *bench) job(j job) (result, error) {
	r := result{job: j}
	if j.needs != "" && !has(j.needs) {
		r.skipped = append(r.skipped, j.needs)
		return r, nil
	}
	input := filepath.Join(b.dir, j.name)
	truthFile := input + ".truth.json"
	gen := append(slices.Clone(j.gen), "-o", input)
	if j.stream {
		gen = append(slices.Clone(j.gen), "-o", "-", "-truth", truthFile)
	} else {
		if err := b.input(j, input, gen, truthFile); err != nil {
			return r, err
		}
		if !b.keep {
			defer func() { _ = os.RemoveAll(input) }()
		}
		r.bytes = sizeOf(input)
	}
	rounds := b.rounds
	if j.slow {
		rounds = 1
	}
	r.peers = make([]compared, 0, len(j.peers))
	for _, p := range j.peers {
		if !has(p.needs) {
			r.skipped = append(r.skipped, p.name)
			continue
		}
		r.peers = append(r.peers, compared{peer: p})
	}
	for round := range rounds {
		u, err := b.product1(j, input, gen)
		if err != nil {
			return r, err
		}
		truth, err := readTruth(truthFile)
		if err != nil {
			return r, err
		}
		r.raw = truth.Bytes
		r.runs = append(r.runs, u)
		if err := b.check(j); err != nil {
			return r, fmt.Errorf("the answer is wrong, its speed is not quoted: %w", err)
		}
		var hash usage
		for i := range r.peers {
			c := &r.peers[i]
			if c.slow && round > 0 {
				continue
			}
			if hash.cpu == 0 && !c.noHash {
				if hash, err = measure(shell(b.ctx, "find $F -type f -exec sha256sum {} +", input)); err != nil {
					return r, err
				}
			}
			if err := b.peer(c, input, truth, hash, u); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// input makes the input of a job, unless it is there from the run before.
func (b *bench) input(j job, input string, gen []string, truthFile string) error {
	if _, err := os.Stat(truthFile); err == nil && b.keep {
		if _, err := os.Stat(input); err == nil {
			return nil
		}
	}
	if j.prepare == "" {
		_, err := measure(exec.CommandContext(b.ctx, b.gen, gen...))
		return err
	}
	raw := input + ".raw"
	defer os.Remove(raw)
	if _, err := measure(exec.CommandContext(b.ctx, b.gen, append(slices.Clone(j.gen), "-o", raw, "-truth", truthFile)...)); err != nil {
		return err
	}
	cmd := shell(b.ctx, j.prepare, raw)
	cmd.Env = append(cmd.Env, "OUT="+input)
	_, err := measure(cmd)
	return err
}

func (b *bench) outDir() string { return filepath.Join(b.dir, "report") }

func (b *bench) product1(j job, input string, gen []string) (usage, error) {
	args := []string{"analyze", input, "-o", b.outDir(), "--no-progress"}
	switch {
	case j.stream:
		args[1] = "-"
	case j.fleet:
		bundles, err := filepath.Glob(filepath.Join(input, "*"))
		if err != nil {
			return usage{}, err
		}
		args = slices.Replace(args, 1, 2, bundles...)
		if err := os.RemoveAll(b.outDir()); err != nil { // of an archive before, with other cases
			return usage{}, err
		}
	}
	if len(j.product) == 0 {
		args = append(args, "-f", "json")
	}
	cmd := exec.CommandContext(b.ctx, b.product, append(args, j.product...)...)
	if j.stream {
		return streamed(b.ctx, b.gen, gen, cmd)
	}
	return measure(cmd)
}

// peer runs a peer and sets its CPU, sha256sum's included, beside the product's.
func (b *bench) peer(c *compared, input string, truth truth, hash, product usage) error {
	u, err := measure(shell(b.ctx, c.line, input))
	if err != nil {
		return err
	}
	if want, ok := truth.Counts[c.answer]; ok {
		if got := lastNumber(u.out); got != want {
			return fmt.Errorf("%s says %d, the input holds %d", c.name, got, want)
		}
	}
	if !c.noHash {
		u.cpu += hash.cpu
		u.wall += hash.wall
	}
	c.runs = append(c.runs, u)
	c.ratios = append(c.ratios, product.cpu.Seconds()/u.cpu.Seconds())
	return nil
}

var number = regexp.MustCompile(`\d+`)

func lastNumber(s string) int64 {
	all := number.FindAllString(s, -1)
	if len(all) == 0 {
		return -1
	}
	n, err := strconv.ParseInt(all[len(all)-1], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func sizeOf(path string) (n int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// truth is what the generator says is in the input.
type truth struct {
	Bytes   int64            `json:"bytes"`
	Counts  map[string]int64 `json:"counts"`
	Targets []target         `json:"by_target"`
}

type target struct {
	IP      string `json:"ip"`
	Port    int    `json:"port"`
	SYN     int64  `json:"syn"`
	SYNACK  int64  `json:"synack"`
	RSTFrom int64  `json:"rst_from"`
	RSTTo   int64  `json:"rst_to"`
}

func readTruth(path string) (t truth, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(b, &t)
}

// report is the part of report.json that is checked.
type report struct {
	Inputs []struct {
		Streams []struct {
			Path     string           `json:"path"`
			Counts   map[string]int64 `json:"counts"`
			ByTarget []target         `json:"by_target"`
		} `json:"streams"`
	} `json:"inputs"`
	Totals struct {
		Attempts struct{ Success, Failure int64 } `json:"attempts"`
	} `json:"totals"`
}

func (r *report) read(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewDecoder(f).Decode(r)
}

// check verifies the answer in a process of its own: whatever this one grows by
// would show in the peaks of all that it starts.
func (b *bench) check(j job) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	_, err = measure(exec.CommandContext(b.ctx, self, "-verify", j.name, "-dir", b.dir, "-product", b.product, "-gen", b.gen, "-quick="+strconv.FormatBool(b.quick)))
	return err
}

func verifyJob(o options) error {
	b := &bench{options: o}
	for _, j := range jobs(scaleOf(o.quick)) {
		if j.name == o.verify {
			t, err := readTruth(filepath.Join(o.dir, j.name) + ".truth.json")
			if err != nil {
				return err
			}
			return b.compare(j, t)
		}
	}
	return fmt.Errorf("no job %q", o.verify)
}

// compare holds the product's answer against the truth.
func (b *bench) compare(j job, t truth) error {
	reports, want := []string{filepath.Join(b.outDir(), "report.json")}, 1
	if j.fleet {
		reports, _ = filepath.Glob(filepath.Join(b.outDir(), "cases", "*", "report.json"))
		want, _ = strconv.Atoi(strings.TrimPrefix(j.name, fleetPrefix))
	}
	if len(reports) != want {
		return fmt.Errorf("%d reports of %d bundles", len(reports), want)
	}
	got := make(map[string]int64)
	targets := make(map[string]target)
	var rep report
	for _, path := range reports {
		rep = report{}
		if err := rep.read(path); err != nil {
			return err
		}
		for _, in := range rep.Inputs {
			for _, s := range in.Streams {
				for k, n := range s.Counts {
					got[k] += n
				}
				for _, g := range s.ByTarget {
					targets[g.IP+" "+strconv.Itoa(g.Port)] = g
				}
			}
		}
	}
	var errs []error
	for _, k := range j.check {
		if got[k] != t.Counts[k] {
			errs = append(errs, fmt.Errorf("%s: %d, the input holds %d", k, got[k], t.Counts[k]))
		}
	}
	if slices.Contains(j.check, "tcp_syn") && !j.fleet {
		for _, want := range t.Targets {
			if have := targets[want.IP+" "+strconv.Itoa(want.Port)]; have != want {
				errs = append(errs, fmt.Errorf("target %s: %+v, the input holds %+v", want.IP, have, want))
			}
		}
	}
	if j.fails && rep.Totals.Attempts.Failure != t.Counts["probe_failed"] {
		errs = append(errs, fmt.Errorf("failed attempts: %d, the input holds %d", rep.Totals.Attempts.Failure, t.Counts["probe_failed"]))
	}
	return errors.Join(errs...)
}

// line is the result in one line, for the person who waits.
func (r *result) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-20s", r.name)
	if len(r.runs) > 0 {
		fmt.Fprintf(&b, " cpu %s wall %s rss %s", seconds(r.cpu()), seconds(median(r.runs, func(u usage) float64 { return u.wall.Seconds() })), megabytes(r.rss()))
	}
	for _, c := range r.peers {
		fmt.Fprintf(&b, "; %s %s", spread(c.ratios), c.name)
	}
	for _, g := range r.goals {
		if v, ok := r.reached(g); ok && v > g.max {
			fmt.Fprintf(&b, "; MISSED %s %.3g > %g", g.what, v, g.max)
		}
	}
	for _, s := range r.skipped {
		fmt.Fprintf(&b, "; without %s: not installed", s)
	}
	return b.String()
}

// took is for the median of durations.
func took(u usage) float64 { return u.cpu.Seconds() }

func (r *result) cpu() float64 { return median(r.runs, took) }

// rss is the largest peak of all rounds.
func (r *result) rss() int64 {
	var n int64
	for _, u := range r.runs {
		n = max(n, u.rss)
	}
	return n
}

// reached is the figure that a goal is about.
func (r *result) reached(g goal) (float64, bool) {
	if len(r.runs) == 0 {
		return 0, false
	}
	switch g.what {
	case "cpu":
		return r.cpu(), true
	case "cpu/GB":
		return r.cpu() / (float64(r.bytes) / 1e9), true
	case "rss":
		return float64(r.rss()) / 1e6, true
	}
	for _, c := range r.peers {
		if c.name == g.what && len(c.ratios) > 0 {
			return medianOf(c.ratios), true
		}
	}
	return 0, false
}

func median[T any](all []T, f func(T) float64) float64 {
	v := make([]float64, len(all))
	for i := range all {
		v[i] = f(all[i])
	}
	return medianOf(v)
}

func medianOf(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func seconds(s float64) string {
	return strconv.FormatFloat(s, 'f', 2, 64) + " s"
}

func megabytes(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.0f MB", float64(n)/1e6)
}

// spread shows a ratio with the least and the greatest of the rounds.
func spread(v []float64) string {
	if len(v) == 1 {
		return fmt.Sprintf("%.2fx", v[0])
	}
	return fmt.Sprintf("%.2fx (%.2f to %.2f)", medianOf(v), slices.Min(v), slices.Max(v))
}
