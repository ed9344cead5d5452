package rulecases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

const (
	evaluationIntro = `# Evaluation

How often verdicts are right, on inputs whose cause is known. The verdict on a subject is the incident about it with
most failed attempts, judged by the whole command line with all rules at once. It is right when it names the cause and
claims no more confidence than the inputs allow. ` + "`make eval`" + ` counts again and writes this page.

Causes are [these](causes/README.md). What damage to the inputs does is in [reliability.md](reliability.md).
`
	headRecordings  = "Recordings"
	introRecordings = `Faults injected on a real node (kubelet 1.34, containerd, bridge plugin), recorded as bundles of journals,
objects and captures. They are too large for the repository. Thresholds and weights were set with them at hand, so these
figures say that the rules hold together, not how they will fare elsewhere.`
	headCases  = "Cases of the repository"
	introCases = `Small inputs in ` + "`fixtures/rules` and `fixtures/cases`" + `, written after public reports: for every cause one it must name and
one it must leave to a look-alike. Cases of pairs, with and without what tells two look-alikes apart, stand in ` + "`fixtures/pairs`" + `
and are not counted here.`
	missed = "(no incident)"
)

// section returns a section of the page with its heading, "" if there is none.
func section(page, head string) string {
	from := strings.Index(page, "\n## "+head+"\n")
	if from < 0 {
		return ""
	}
	rest := page[from+1:]
	if to := strings.Index(rest, "\n## "); to >= 0 {
		return "\n" + rest[:to]
	}
	return "\n" + rest
}

// section renders a tally.
func (o tally) section(head, intro string) string {
	var b strings.Builder
	right, best, abstained := 0, 0, 0
	for _, j := range o.verdicts {
		if j.right {
			right++
			if j.got == j.accept[0] {
				best++
			}
		}
		if j.got == rules.Inconclusive && j.accept[0] != rules.Inconclusive {
			abstained++
		}
	}
	fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", head, intro)
	fmt.Fprintf(&b, "%d inputs with %d subjects: **%d right (%s)**, %d of them by the best name there is; %d abstentions where a cause was\nto be named; **%d false alarms**.\n",
		o.inputs, len(o.verdicts), right, share(right, len(o.verdicts)), best, abstained, len(o.falseAlarms))
	for _, f := range o.falseAlarms {
		fmt.Fprintf(&b, "\n- false alarm: %s", f)
	}
	o.calibration(&b)
	o.matrix(&b)
	return b.String()
}

// calibration compares what verdicts claimed with how many were right.
func (o tally) calibration(b *strings.Builder) {
	b.WriteString("\n### Calibration\n\n| confidence | verdicts | right | share | claimed on average |\n|---|---:|---:|---:|---:|\n")
	for _, band := range []struct {
		name       string
		least, top float64
	}{{"0.9 and more", 0.895, 1}, {"0.7 - 0.9", 0.695, 0.895}, {"0.4 - 0.7", 0.395, 0.695}} {
		n, right, claimed := 0, 0, 0.0
		for _, j := range o.verdicts {
			if j.got == "" || j.got == rules.Inconclusive || j.confidence < band.least || j.confidence >= band.top {
				continue
			}
			n++
			claimed += j.confidence
			if j.right {
				right++
			}
		}
		average := "-"
		if n > 0 {
			average = fmt.Sprintf("%.2f", claimed/float64(n))
		}
		fmt.Fprintf(b, "| %s | %d | %d | %s | %s |\n", band.name, n, right, share(right, n), average)
	}
}

// matrix writes the confusion matrix without its empty cells, and the accuracy of
// each cause.
func (o tally) matrix(b *strings.Builder) {
	b.WriteString("\n### What was named for what\n\nThe confusion matrix without its empty cells.\n\n| cause | subjects | right | accuracy | named |\n|---|---:|---:|---:|---|\n")
	byCause := map[string][]judged{}
	var ids []string
	for _, j := range o.verdicts {
		id := j.accept[0]
		if byCause[id] == nil {
			ids = append(ids, id)
		}
		byCause[id] = append(byCause[id], j)
	}
	slices.Sort(ids)
	for _, id := range ids {
		right, named := 0, map[string]int{}
		for _, j := range byCause[id] {
			if j.right {
				right++
			}
			if j.got == "" {
				j.got = missed
			}
			named[j.got]++
		}
		var cells []string
		for got, n := range named {
			cells = append(cells, fmt.Sprintf("%s %d", got, n))
		}
		slices.Sort(cells)
		n := len(byCause[id])
		fmt.Fprintf(b, "| %s | %d | %d | %s | %s |\n", id, n, right, share(right, n), strings.Join(cells, ", "))
	}
}

func share(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}
