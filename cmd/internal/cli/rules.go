package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

type rulesCmd struct {
	Family []string `placeholder:"NAME" complete:"words ${families}" help:"Causes of this family only: ${families}. Repeatable."`
	JSON   bool     `name:"json" help:"Write JSON, with the thresholds."`
}

// ruleRow is one cause as rules --json writes it; the names are stable.
type ruleRow struct {
	ID         string         `json:"id"`
	Family     string         `json:"family"`
	Title      string         `json:"title"`
	Tier       int            `json:"tier"`
	Thresholds []thresholdRow `json:"thresholds"`
}

type thresholdRow struct {
	Key     string  `json:"key"`
	Default float64 `json:"default"`
	Unit    string  `json:"unit"`
	Doc     string  `json:"doc"`
}

// families lists the families that have causes, sorted.
func families() []string {
	var out []string
	for _, r := range rules.Rules() {
		out = append(out, string(r.Family))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Run lists the causes by family.
func (c *rulesCmd) Run(rt *session) error {
	for _, name := range c.Family {
		if !slices.Contains(families(), name) {
			err := usagef("--family: %q is no family", name)
			if near := nearest(name, families()); near != "" {
				return err.try("did you mean %q?", near)
			}
			return err
		}
	}
	rows := []ruleRow{}
	for _, r := range rules.Rules() {
		if len(c.Family) > 0 && !slices.Contains(c.Family, string(r.Family)) {
			continue
		}
		row := ruleRow{ID: r.ID, Family: string(r.Family), Title: r.Title, Tier: r.Tier, Thresholds: []thresholdRow{}}
		for _, t := range r.Thresholds {
			row.Thresholds = append(row.Thresholds, thresholdRow{Key: r.Key(t), Default: t.Default, Unit: t.Unit, Doc: t.Doc})
		}
		rows = append(rows, row)
	}
	if c.JSON {
		return writeJSON(rt.stdout, rows)
	}
	slices.SortStableFunc(rows, func(a, b ruleRow) int { return slices.Compare([]string{a.Family, a.ID}, []string{b.Family, b.ID}) })
	w := tabwriter.NewWriter(rt.stdout, 0, 8, 2, ' ', 0)
	for i, r := range rows {
		if i == 0 || rows[i-1].Family != r.Family {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s\n", r.Family)
		}
		fmt.Fprintf(w, "  %s\t%s\n", r.ID, r.Title)
	}
	return w.Flush()
}

// writeJSON writes what a verb found as indented JSON.
func writeJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(v)
}

// writeJSONLine writes a value on one line.
func writeJSONLine(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out.Encode(v)
}
