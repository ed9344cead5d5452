package parquetout

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/url"
	"path"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Rows are written in batches (the library copies its buffers per call), kept
// in row groups small enough for a flat memory and large enough for DuckDB.
const (
	batchRows    = 1024
	rowGroupRows = 122_880
)

// NoDate is the partition of rows without a time.
const NoDate = "unknown"

// Creator makes the files of the lake.
type Creator interface {
	Create(name string) (io.WriteCloser, error)
}

// lake is where the tables of one bundle go.
type lake struct {
	out     Creator
	cluster string // escaped
	file    string // "<bundle16>.parquet"
	version string
}

func (l *lake) path(table, date string) string {
	return path.Join("tables", table, "cluster="+l.cluster, "date="+date, l.file)
}

// partition escapes a value for a hive directory name, as Hive and Spark do:
// everything but letters, digits, "-", "_" and "." as %XX.
func partition(v string) string {
	if v == "" {
		return "unknown"
	}
	esc := url.PathEscape(v)
	var out []byte
	for i := range len(esc) {
		c := esc[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '%':
			out = append(out, c)
		case c == '.' && i > 0:
			out = append(out, c)
		default:
			out = append(out, fmt.Sprintf("%%%02X", c)...)
		}
	}
	return string(out)
}

// date is the UTC day of an instant.
func date(n int64) string {
	if n == 0 {
		return NoDate
	}
	return event.Nanos(n).Time().Format("2006-01-02")
}

// table writes rows of one type, split into one file per day. Rows come sorted
// by time; those without a time sort first.
type table[R any] struct {
	lake    *lake
	name    string
	nanos   func(*R) int64
	ordered string // names of the sort columns, for the metadata

	day string
	rowFile[R]
}

func (t *table[R]) add(r R) error {
	if day := date(t.nanos(&r)); day != t.day || !t.isOpen() {
		if err := t.close(); err != nil {
			return err
		}
		t.day = day
		if err := t.open(t.lake.out, t.lake.path(t.name, day), t.lake.version, t.name, t.ordered); err != nil {
			return err
		}
	}
	return t.put(r)
}

// fill writes all rows of a sequence.
func (t *table[R]) fill(ctx context.Context, rows iter.Seq2[R, error]) (err error) {
	defer func() {
		if err != nil {
			t.abort()
		}
	}()
	n := 0
	for r, err := range rows {
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if n++; n%batchRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := t.add(r); err != nil {
			return err
		}
	}
	return t.close()
}
