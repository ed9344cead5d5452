package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// document is docs/benchmarks.md.
type document struct {
	options
	floor   int64
	results []result
	notes   []byte // written by hand, kept from one run to the next
}

// notesBegin is the heading of the part of the file that people write.
const notesBegin = "\n## Where the time goes\n"

// notesOf returns that part of an earlier file.
func notesOf(path string) []byte {
	b, err := os.ReadFile(path)
	if i := bytes.Index(b, []byte(notesBegin)); err == nil && i >= 0 {
		return b[i:]
	}
	return nil
}

const preamble = `# Benchmarks

Written by ` + "`make bench`" + `; ` + "`make bench-quick`" + ` prints the same on small inputs in less than a minute.

Product and peers run in turn on the same file, as whole processes, with the input in the page cache. CPU is user and
system time, the median of the rounds; a ratio is the product's CPU over the peer's in the same round, with the least
and the greatest. The product hashes every input, so the peers' figures include ` + "`sha256sum`" + ` of the same file, except for
tcptrace and tshark. Inputs come from ` + "`fixtures/gen`" + `, which knows what is in them: an answer that does not repeat it fails
the run. The product writes report.json only, unless said otherwise.

`

func (d *document) markdown() []byte {
	var b bytes.Buffer
	b.WriteString(preamble)
	fmt.Fprintf(&b, "Machine: %s. Rounds: %d.\n\n", machine(), d.rounds)
	fmt.Fprintf(&b, "## Against peers\n\n| input | size | CPU | wall | peak memory | peer | its CPU | its peak | product to peer |\n|---|--:|--:|--:|--:|---|--:|--:|--:|\n")
	for i := range d.results {
		r := &d.results[i]
		if len(r.runs) == 0 || strings.HasPrefix(r.name, "growth-") || r.fleet {
			continue
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | %s |", r.name, r.size(), seconds(r.cpu()),
			seconds(median(r.runs, func(u usage) float64 { return u.wall.Seconds() })), megabytes(r.rss()))
		if len(r.peers) == 0 {
			fmt.Fprintf(&b, "%s | | | |\n", row)
		}
		for k, c := range r.peers {
			if k > 0 {
				row = "| | | | | |"
			}
			fmt.Fprintf(&b, "%s %s | %s | %s | %s |\n", row, c.name, seconds(median(c.runs, took)), megabytes(peak(c.runs)), spread(c.ratios))
		}
	}
	fmt.Fprintf(&b, "\nA child begins with the memory of the program that starts it, so no peak is below %s.\n\n", megabytes(d.floor))
	d.inputs(&b)
	d.goals(&b)
	d.growth(&b)
	d.fleets(&b)
	d.missing(&b)
	b.Write(d.notes)
	return b.Bytes()
}

func peak(runs []usage) (n int64) {
	for _, u := range runs {
		n = max(n, u.rss)
	}
	return n
}

func (r *result) size() string {
	if r.stream {
		return megabytes(r.raw)
	}
	return megabytes(r.bytes)
}

func (d *document) inputs(b *bytes.Buffer) {
	b.WriteString("| input | what it is |\n|---|---|\n")
	for i := range d.results {
		r := &d.results[i]
		if strings.HasPrefix(r.name, "growth-") && r.name != "growth-1" {
			continue
		}
		fmt.Fprintf(b, "| %s | %s; `gen %s` |\n", r.name, r.about, strings.Join(r.gen, " "))
	}
}

// goals sets what was reached beside what was wanted.
func (d *document) goals(b *bytes.Buffer) {
	b.WriteString("\n## Goals\n\n| input | figure | reached | goal | |\n|---|---|--:|--:|---|\n")
	for i := range d.results {
		r := &d.results[i]
		for _, g := range r.goals {
			v, ok := r.reached(g)
			if !ok || d.quick && !g.small {
				continue
			}
			what, unit := "CPU to "+g.what, "x"
			switch g.what {
			case "cpu":
				what, unit = "CPU", " s"
			case "cpu/GB":
				what, unit = "CPU per GB", " s"
			case "rss":
				what, unit = "peak memory", " MB"
			}
			verdict := "met"
			if v > g.max {
				verdict = "**missed**"
			}
			fmt.Fprintf(b, "| %s | %s | %.3g%s | %g%s | %s |\n", r.name, what, v, unit, g.max, unit, verdict)
		}
	}
}

// growth sets inputs of one, two, four and eight times the size side by side.
func (d *document) growth(b *bytes.Buffer) {
	var base float64
	for i := range d.results {
		r := &d.results[i]
		k, ok := strings.CutPrefix(r.name, "growth-")
		if !ok || len(r.runs) == 0 {
			continue
		}
		if base == 0 {
			base = r.cpu()
			b.WriteString("\n## Growth\n\n| input | size | CPU | to the first | peak memory |\n|---|--:|--:|--:|--:|\n")
		}
		fmt.Fprintf(b, "| %sx | %s | %s | %.1fx | %s |\n", k, r.size(), seconds(r.cpu()), r.cpu()/base, megabytes(r.rss()))
	}
}

// fleets sets archives of bundles side by side: the rate and the peak should not
// depend on how many there are.
func (d *document) fleets(b *bytes.Buffer) {
	first := true
	for i := range d.results {
		r := &d.results[i]
		if !r.fleet || len(r.runs) == 0 {
			continue
		}
		if first {
			first = false
			b.WriteString("\n## Many bundles\n\n| bundles | size | CPU | wall | bundles per second of one core | peak memory |\n|--:|--:|--:|--:|--:|--:|\n")
		}
		n, _ := strconv.Atoi(strings.TrimPrefix(r.name, fleetPrefix))
		fmt.Fprintf(b, "| %d | %s | %s | %s | %.1f | %s |\n", n, r.size(), seconds(r.cpu()),
			seconds(median(r.runs, func(u usage) float64 { return u.wall.Seconds() })), float64(n)/r.cpu(), megabytes(r.rss()))
	}
}

func (d *document) missing(b *bytes.Buffer) {
	for i := range d.results {
		for _, s := range d.results[i].skipped {
			fmt.Fprintf(b, "\nNot compared on %s: %s is not installed.\n", d.results[i].name, s)
		}
	}
}

// machine describes where this ran, in one line.
func machine() string {
	parts := []string{fmt.Sprintf("%d processors", runtime.NumCPU())}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.SplitSeq(string(text), "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				parts[0] += " (" + strings.TrimSpace(value) + ")"
				break
			}
		}
	}
	if out, err := exec.Command("uname", "-s").Output(); err == nil {
		parts = append(parts, strings.TrimSpace(string(out)))
	}
	return strings.Join(append(parts, runtime.Version()), ", ")
}
