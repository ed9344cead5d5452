// Package duckdb runs the recipes of docs/queries.md and docs/batch/lake.md in DuckDB over the tables
// of four recordings. It is a module of its own, because DuckDB needs cgo and
// the program does not.
package duckdb

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	_ "github.com/duckdb/duckdb-go/v2" // the driver
)

var update = flag.Bool("update", false, "rewrite the results in the documents")

// lake builds the program without cgo and analyses the recordings into one
// directory, whose tables then hold all of them.
func lake(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	run := func(program string, args ...string) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
		}
	}
	program := filepath.Join(dir, "probe-forensics")
	run("go", "build", "-o", program, "./cmd/probe-forensics")
	for _, bundle := range []string{"demo", "recordings/mixed", "recordings/healthy", "recordings/reuse"} {
		run(program, "analyze", "fixtures/"+bundle+"/bundle.tar.gz", "-f", "parquet", "-o", filepath.Join(dir, "lake"))
	}
	run(program, "compact", filepath.Join(dir, "lake"), "-o", filepath.Join(dir, "lake", "lake"))
	return filepath.Join(dir, "lake")
}

// block is a fenced block of the document.
type block struct {
	heading  string
	language string
	text     string
	from, to int // lines of its text: from the fence to before the closing one
}

func blocks(lines []string) []block {
	var out []block
	var open *block
	heading := ""
	for i, l := range lines {
		switch {
		case open == nil && strings.HasPrefix(l, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(l, "#"))
		case open == nil && strings.HasPrefix(l, "```"):
			open = &block{heading: heading, language: strings.TrimPrefix(l, "```"), from: i + 1}
		case open != nil && l == "```":
			open.to = i
			open.text = strings.Join(lines[open.from:i], "\n")
			out = append(out, *open)
			open = nil
		}
	}
	return out
}

// TestQueries runs the questions to the tables of cases.
func TestQueries(t *testing.T) { ask(t, "../queries.md", 10) }

// TestLake runs the questions to compacted tables.
func TestLake(t *testing.T) { ask(t, "../batch/lake.md", 3) }

// ask runs the blocks of SQL in their order in one session. A block that is
// followed by one of text must give that text.
func ask(t *testing.T, document string, atLeast int) {
	absolute, err := filepath.Abs(document)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	all := blocks(lines)
	t.Chdir(lake(t))
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // views live in one session
	var out []string
	done, questions := 0, 0
	for i, b := range all {
		if b.language != "sql" {
			continue
		}
		if i+1 == len(all) || all[i+1].language != "text" {
			if _, err := db.Exec(b.text); err != nil {
				t.Fatalf("%s: %v\n%s", b.heading, err, b.text)
			}
			continue
		}
		questions++
		got, err := query(db, b.text)
		if err != nil {
			t.Errorf("%s: %v\n%s", b.heading, err, b.text)
			continue
		}
		if strings.Count(got, "\n") < 1 {
			t.Errorf("%s: no rows: the recordings should hold an example", b.heading)
		}
		want := all[i+1]
		if want.text != got && !*update {
			t.Errorf("%s (make queries UPDATE=-update rewrites it)\nwant\n%s\ngot\n%s", b.heading, want.text, got)
		}
		out = append(out, lines[done:want.from]...)
		out = append(out, strings.Split(got, "\n")...)
		done = want.to
	}
	if questions < atLeast {
		t.Errorf("only %d questions", questions)
	}
	if *update && !t.Failed() {
		out = append(out, lines[done:]...)
		if err := os.WriteFile(absolute, []byte(strings.Join(out, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// query returns the rows as an aligned table.
func query(db *sql.DB, text string) (string, error) {
	rows, err := db.Query(text)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(names, "\t"))
	cells, places := make([]any, len(names)), make([]any, len(names))
	for i := range cells {
		places[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return "", err
		}
		row := make([]string, len(cells))
		for i, c := range cells {
			row[i] = cell(c)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := rows.Err(); err != nil {
		return "", err
	}
	w.Flush()
	lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n"), nil
}

func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05.000")
	case float64:
		return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.3f", v), "0"), ".")
	case []any:
		parts := make([]string, len(v))
		for i, x := range v {
			parts[i] = cell(x)
		}
		return strings.Join(parts, ", ")
	default:
		return fmt.Sprint(v)
	}
}
