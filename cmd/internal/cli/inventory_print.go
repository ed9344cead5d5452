package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/probe-forensics/probe-forensics/cmd/internal/progress"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/report/escape"
)

// Bounds of the printed inventory; --all and --json show everything.
const (
	maxRowsOfFormat = 12 // streams of one format, before they share a row
	maxSilenceRows  = 10
)

// print writes the inventory as tables, for people.
func (inv *inventory) print(out io.Writer, all bool) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, in := range inv.Inputs {
		fmt.Fprintf(w, "%s, %s, sha256 %s\n", escape.Visible(in.Path), progress.Bytes(in.Bytes), cmp.Or(in.SHA256, "unknown (not read to its end)"))
	}
	if err := w.Flush(); err != nil { // each table has columns of its own
		return err
	}
	for _, table := range []func(io.Writer, bool){inv.printNodes, inv.printStreams, inv.printSilences, inv.printQuestions, inv.printLeftOut} {
		table(w, all)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (inv *inventory) printNodes(w io.Writer, _ bool) {
	if len(inv.Nodes) == 0 {
		return
	}
	fmt.Fprintf(w, "\nNODE\tEVENTS\tPROBE FAILURES\tCAPTURES\tKUBELET -V\n")
	for _, n := range inv.Nodes {
		verbosity := "-"
		if n.Verbosity >= 0 {
			verbosity = strconv.Itoa(n.Verbosity)
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\n", escape.Visible(n.Name), n.Events, n.Failures, n.Captures, verbosity)
	}
}

func (inv *inventory) printStreams(w io.Writer, all bool) {
	ofFormat := make(map[string]int)
	for _, s := range inv.Streams {
		ofFormat[s.Format]++
	}
	fmt.Fprintf(w, "\n\tSTREAM\tFORMAT\tNODE\tRECORDS\tFIRST\tLAST\n")
	folded := make(map[string]bool)
	for _, s := range inv.Streams {
		if n := ofFormat[s.Format]; !all && n > maxRowsOfFormat {
			if !folded[s.Format] {
				folded[s.Format] = true
				inv.printFolded(w, s.Format, n)
			}
			continue
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%s\t%s\n", s.ID, escape.Visible(shorten(s.Path)), s.Format,
			escape.Visible(cmp.Or(s.Node, "-")), s.Records, cmp.Or(s.First, "-"), cmp.Or(s.Last, "-"))
	}
	if len(folded) > 0 {
		fmt.Fprintf(w, "\t(--all lists each stream)\n")
	}
}

// printFolded writes one row for all streams of a format.
func (inv *inventory) printFolded(w io.Writer, format string, n int) {
	var records int64
	var first, last string
	for _, s := range inv.Streams {
		if s.Format != format {
			continue
		}
		records += s.Records
		// Stamps as recorded sort as text where they are whole.
		if s.First != "" && s.First[0] != '?' && (first == "" || s.First < first) {
			first = s.First
		}
		if s.Last != "" && s.Last[0] != '?' && s.Last > last {
			last = s.Last
		}
	}
	fmt.Fprintf(w, "*\t%d streams\t%s\t-\t%d\t%s\t%s\n", n, format, records, cmp.Or(first, "-"), cmp.Or(last, "-"))
}

func (inv *inventory) printSilences(w io.Writer, all bool) {
	type row struct {
		id event.StreamID
		inventoryGap
	}
	var rows []row
	for _, s := range inv.Streams {
		if _, _, isLog := strings.Cut(s.Path, "/logs/"); isLog && !all {
			continue // applications are silent as they please
		}
		for _, g := range s.Silences {
			rows = append(rows, row{s.ID, g})
		}
	}
	if len(rows) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.span, a.span) })
	fmt.Fprintf(w, "\nSILENCE\tSTREAM\tFROM\tTO\n")
	for i, r := range rows {
		if i == maxSilenceRows && !all {
			fmt.Fprintf(w, "%d shorter ones\t\t\t\n", len(rows)-i)
			break
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", r.span.Round(time.Second), r.id, r.From, r.To)
	}
}

func (inv *inventory) printQuestions(w io.Writer, all bool) {
	fmt.Fprintf(w, "\nQUESTION\tANSWERED BY\n")
	for _, q := range inv.Questions {
		if len(q.Streams) > 0 {
			fmt.Fprintf(w, "%s\t%s\n", q.Question, streamList(q.Streams, all))
			continue
		}
		fmt.Fprintf(w, "%s\tnothing: %s\n", q.Question, q.Add)
		fmt.Fprintf(w, "\t  less sure without it: %s\n", strings.Join(q.Unproven, ", "))
	}
}

func (inv *inventory) printLeftOut(w io.Writer, _ bool) {
	if len(inv.NotRead) > 0 {
		fmt.Fprintf(w, "\nNOT READ\tFILES\n")
		for _, g := range inv.NotRead {
			fmt.Fprintf(w, "%s\t%d\n", g.Reason, g.Files)
		}
	}
	if len(inv.Problems) > 0 {
		fmt.Fprintf(w, "\nPROBLEMS\n")
		for _, p := range inv.Problems {
			fmt.Fprintf(w, "%s\n", escape.Visible(p))
		}
		for _, r := range inv.Remedies {
			fmt.Fprintf(w, "try: %s\n", r)
		}
	}
}

// streamList renders stream numbers, the first of many.
func streamList(ids []event.StreamID, all bool) string {
	const shown = 8
	rest := 0
	if len(ids) > shown && !all {
		rest, ids = len(ids)-shown, ids[:shown]
	}
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.FormatUint(uint64(id), 10)
	}
	text := "streams " + strings.Join(words, ", ")
	if len(words) == 1 {
		text = "stream " + words[0]
	}
	if rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// shorten leaves out the middle of a long path: the input and the end of the
// name are what people look for.
func shorten(path string) string {
	const limit = 70
	if len(path) <= limit {
		return path
	}
	parts := strings.Split(path, "/")
	for len(parts) > 3 && len(strings.Join(parts, "/")) > limit-4 {
		parts = slices.Delete(parts, 1, 2)
	}
	short := parts[0] + "/.../" + strings.Join(parts[1:], "/")
	if n := len(short); n > 2*limit {
		short = short[:limit/2] + "..." + short[n-limit:]
	}
	return strings.ToValidUTF8(short, "")
}
