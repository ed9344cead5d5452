package logs

import (
	"bytes"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// textTable reads tables as kubectl and crictl print them: a header of capital
// letters, cells that begin where their column's name begins.
type textTable struct {
	cols []tableColumn
}

type tableColumn struct {
	name  string
	start int
}

// readHeader takes a line as the header of a table if its columns are set apart
// by two blanks or tabs and all names are in capital letters.
func (t *textTable) readHeader(line []byte) bool {
	var cols []tableColumn
	for _, c := range wideFields(line) {
		name := string(line[c[0]:c[1]])
		if name != strings.ToUpper(name) || strings.ToLower(name) == name || len(cols) == 64 {
			return false
		}
		cols = append(cols, tableColumn{name, c[0]})
	}
	if len(cols) < 2 {
		return false
	}
	t.cols = cols
	return true
}

// readTitles takes a line of a described object's table as its header: the
// names are as they are written there.
func (t *textTable) readTitles(line []byte) {
	t.cols = nil
	for _, c := range wideFields(line) {
		t.cols = append(t.cols, tableColumn{string(line[c[0]:c[1]]), c[0]})
	}
}

// wideFields cuts a line at runs of two blanks or more and at tabs.
func wideFields(line []byte) [][2]int {
	var fields [][2]int
	start := -1
	for i := 0; i <= len(line); i++ {
		blank := i == len(line) || line[i] == '\t' || line[i] == ' ' &&
			(i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t' || i > 0 && (line[i-1] == ' ' || line[i-1] == '\t'))
		switch {
		case !blank && start < 0:
			start = i
		case blank && start >= 0:
			fields = append(fields, [2]int{start, i})
			start = -1
		}
	}
	return fields
}

// has reports whether the table has all these columns.
func (t *textTable) has(names ...string) bool {
	for _, n := range names {
		if t.index(n) < 0 {
			return false
		}
	}
	return true
}

func (t *textTable) index(name string) int {
	for i, c := range t.cols {
		if c.name == name {
			return i
		}
	}
	return -1
}

// tableRow is one row, cut into as many cells as the table has columns.
type tableRow struct {
	t     *textTable
	cells [][]byte
}

// row cuts a line into cells: by the columns' positions where the line is
// aligned with the header, else at wide gaps, else at every blank, the last
// column taking the rest.
func (t *textTable) row(line []byte) (tableRow, bool) {
	r := tableRow{t: t}
	if len(t.cols) == 0 {
		return r, false
	}
	aligned := true
	for i, c := range t.cols {
		end := len(line)
		if i+1 < len(t.cols) {
			end = min(end, t.cols[i+1].start)
		}
		if c.start >= len(line) {
			r.cells = append(r.cells, nil)
			continue
		}
		if c.start > 0 && line[c.start-1] != ' ' {
			aligned = false
			break
		}
		r.cells = append(r.cells, bytes.TrimSpace(line[c.start:end]))
	}
	if aligned && len(r.cells[0]) > 0 {
		return r, true
	}
	if wide := wideFields(line); len(wide) == len(t.cols) {
		r.cells = r.cells[:0]
		for _, w := range wide {
			r.cells = append(r.cells, line[w[0]:w[1]])
		}
		return r, true
	}
	rest := bytes.TrimSpace(line)
	r.cells = r.cells[:0]
	for i := range t.cols {
		cell := rest
		if n := bytes.IndexAny(rest, " \t"); i+1 < len(t.cols) && n >= 0 {
			cell, rest = rest[:n], bytes.TrimLeft(rest[n:], " \t")
			if bytes.HasPrefix(rest, []byte("(")) { // "1 (63s ago)", "93s (x24 over 2m19s)"
				if e := bytes.IndexByte(rest, ')'); e >= 0 {
					cell = append(append(append([]byte{}, cell...), ' '), rest[:e+1]...)
					rest = bytes.TrimLeft(rest[e+1:], " \t")
				}
			}
		} else {
			rest = nil
		}
		r.cells = append(r.cells, cell)
	}
	return r, len(r.cells[min(1, len(r.cells)-1)]) > 0
}

// raw returns the cell of a column, nil for none; "<none>" and "<unknown>" are
// none.
func (r tableRow) raw(name string) []byte {
	i := r.t.index(name)
	if i < 0 || i >= len(r.cells) {
		return nil
	}
	if c := r.cells[i]; len(c) > 0 && c[0] != '<' {
		return c
	}
	return nil
}

func (r tableRow) str(name string) string { return clip(r.raw(name), maxAnnotation) }

// parseAge reads kubectl's ages ("32m", "2m9s", "3d4h", "2y35d"): the stamp
// counts back from the collection, its precision is the last unit.
func parseAge(b []byte) (event.Stamp, bool) {
	if len(b) == 0 {
		return event.Stamp{}, false
	}
	var age, unit time.Duration
	for len(b) > 0 {
		n, rest, ok := leadingUint(b)
		if !ok || len(rest) == 0 || n > 1e6 {
			return event.Stamp{}, false
		}
		switch rest[0] {
		case 's':
			unit = time.Second
		case 'm':
			unit = time.Minute
		case 'h':
			unit = time.Hour
		case 'd':
			unit = 24 * time.Hour
		case 'y':
			unit = 365 * 24 * time.Hour
		default:
			return event.Stamp{}, false
		}
		age += time.Duration(n) * min(unit, 365*24*time.Hour)
		if age < 0 || age > 100*365*24*time.Hour {
			return event.Stamp{}, false
		}
		b = rest[1:]
	}
	return event.Age(age, unit), true
}

// parseAges reads an age with a count: "93s (x24 over 2m19s)". First is the
// last where there is no count.
func parseAges(b []byte) (last, first event.Stamp, count int64, ok bool) {
	head, tail, found := bytes.Cut(b, []byte(" (x"))
	if last, ok = parseAge(head); !ok {
		return last, last, 1, false
	}
	if !found {
		return last, last, 1, true
	}
	n, rest, ok := leadingUint(tail)
	over, _, closed := bytes.Cut(bytes.TrimPrefix(rest, []byte(" over ")), []byte(")"))
	if first, ok2 := parseAge(over); ok && ok2 && closed {
		return last, first, max(n, 1), true
	}
	return last, last, 1, true
}

// parseAgo reads crictl's ages: "33 seconds ago", "About a minute ago".
func parseAgo(b []byte) (event.Stamp, bool) {
	words := strings.Fields(string(bytes.TrimSuffix(bytes.TrimPrefix(b, []byte("About ")), []byte(" ago"))))
	if len(words) == 3 && words[0] == "Less" { // "Less than a second"
		return event.Age(0, time.Second), true
	}
	if len(words) != 2 {
		return event.Stamp{}, false
	}
	n, ok := allDigits([]byte(words[0]))
	if words[0] == "a" || words[0] == "an" {
		n, ok = 1, true
	}
	unit := map[string]time.Duration{
		"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
		"week": 7 * 24 * time.Hour, "month": 30 * 24 * time.Hour, "year": 365 * 24 * time.Hour,
	}[strings.TrimSuffix(words[1], "s")]
	if !ok || unit == 0 || n > 1000 {
		return event.Stamp{}, false
	}
	return event.Age(time.Duration(n)*unit, unit), true
}
