package cli

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/probe-forensics/probe-forensics/cmd/internal/store"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/report/parquetout"
)

type compactCmd struct {
	Dir      []string `arg:"" name:"dir" complete:"dirs" help:"Directory with tables in or below it."`
	Output   string   `short:"o" group:"output" placeholder:"DIR" complete:"dirs" help:"Write the lake to DIR, below DIR/tables (default: ./lake.probe-forensics)."`
	PartSize byteSize `group:"output" placeholder:"SIZE" help:"Bytes of tables to put into one file (default: 384MiB, which gives files of 128 to 512 MB)."`
}

// Help says what a lake is.
func (*compactCmd) Help() string {
	return `Brings the tables of many cases into one place: DIR/tables/TABLE/cluster=ID/date=DAY/part-N.parquet, a few large files a day instead of one for each bundle. The rows are the same, sorted by bundle. A bundle that has tables in several directories counts once, by the last of them. Running it again gives the same bytes, and files of an earlier run that have no rows any more are removed.

    probe-forensics compact fleet -o lake
    duckdb -c "select cause_id, count(*) from read_parquet('lake/tables/incidents/*/*/*.parquet') group by 1"`
}

// lakeDir is where the lake goes by default.
const lakeDir = "lake" + reportSuffix

// Run rewrites the tables.
func (c *compactCmd) Run(rt *session) error {
	dir := c.Output
	if dir == "" {
		dir = lakeDir
	}
	size := int64(c.PartSize)
	if size == 0 {
		size = parquetout.PartSize
	}
	lake, err := rt.storeOf(dir)
	if err != nil {
		return err
	}
	stale, err := rt.lakeParts(lake, dir)
	if err != nil {
		return err
	}
	files, err := c.files(rt, dir)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return failf("%s: no tables below it", strings.Join(c.Dir, ", ")).try("%s analyze -f parquet", programName)
	}
	out := rt.sink(dir)
	done, err := parquetout.Compact(rt.ctx, files, size, out)
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		err = wrapOutput(errors.Join(err, out.Discard()), dir)
		if remedy(err) == "" && !interrupted(err) {
			return failf("%w", err).try("remove the file that is damaged, or analyse its bundle again")
		}
		return err
	}
	for _, f := range out.Written() {
		delete(stale, f.Name)
	}
	for name := range stale {
		if err := lake.Remove(rt.ctx, store.Join(dir, name)); err != nil {
			return failf("%w", err)
		}
	}
	var rows int64
	parts := 0
	for _, p := range done {
		rows += p.Rows
		parts += p.Parts
	}
	rt.say("%s: %d files became %d, of %d rows in %d partitions\n%s: wrote %s\n", programName, len(files), parts, rows, len(done), programName, dir)
	return nil
}

// lakeParts lists the files of an earlier run in the output. Tables of a report
// there would count twice from then on.
func (rt *session) lakeParts(s store.Store, dir string) (map[string]bool, error) {
	parts := map[string]bool{}
	err := s.List(rt.ctx, store.Join(dir, "tables"), func(rel string, _ source.Object) error {
		switch {
		case strings.HasPrefix(path.Base(rel), parquetout.PartPrefix):
			parts["tables/"+rel] = true
		case strings.HasSuffix(rel, ".parquet"):
			return usagef("--output %s holds the tables of a report: a lake in the same place would have every row twice", dir).try("another directory")
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return parts, err
}

// files lists the files of tables below the directories. Of a bundle with files
// in several directories the last one counts; compacted files have no bundle's
// name, and all of them count.
func (c *compactCmd) files(rt *session, out string) ([]parquetout.File, error) {
	at := map[string]int{}
	var files []parquetout.File
	out = resolved(out)
	for _, dir := range c.Dir {
		s, err := rt.storeOf(dir)
		if err != nil {
			return nil, err
		}
		if rel, ok := store.Within(resolved(dir), out); ok && rel == "." {
			return nil, usagef("%s is the output and an input", dir).try("another directory for --output")
		}
		root := resolved(dir)
		err = s.List(rt.ctx, dir, func(rel string, o source.Object) error {
			name := tableName(store.Join(root, rel))
			if name == "" {
				return nil
			}
			if _, own := store.Within(out, store.Join(root, rel)); own {
				return nil
			}
			f := parquetout.File{Name: name, Size: o.Size, Open: func() (parquetout.ReadAtCloser, error) { return rt.openTable(s, o) }}
			if i, again := at[name]; again && !strings.HasPrefix(path.Base(name), parquetout.PartPrefix) {
				files[i] = f
				return nil
			}
			at[name] = len(files)
			files = append(files, f)
			return nil
		})
		if err != nil {
			if interrupted(err) {
				return nil, err
			}
			return nil, failf("%w", err)
		}
	}
	return files, nil
}

// resolved is a directory's name without links, as far as it exists.
func resolved(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil && !store.IsURL(dir) {
		return real
	}
	return dir
}

// openTable opens a file of a table. One that comes from a store is copied to a
// temporary file first: it is read from several places.
func (rt *session) openTable(s store.Store, o source.Object) (parquetout.ReadAtCloser, error) {
	r, err := s.Open(rt.ctx, o)
	if err != nil {
		return nil, err
	}
	if at, ok := r.(parquetout.ReadAtCloser); ok {
		return at, nil
	}
	defer r.Close()
	f, err := os.CreateTemp(rt.env("TMPDIR"), programName+"-")
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(f, r); err != nil {
		return nil, errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return passing{f}, nil
}

// passing is a temporary file that goes when it is closed.
type passing struct{ *os.File }

// Close implements io.Closer.
func (p passing) Close() error { return errors.Join(p.File.Close(), os.Remove(p.Name())) }

// tableName is the name of a file from its directory "tables" on, "" when it is
// no file of a table.
func tableName(p string) string {
	parts := strings.Split(filepath.ToSlash(p), "/")
	if len(parts) < 5 {
		return ""
	}
	name := strings.Join(parts[len(parts)-5:], "/")
	if !parquetout.IsTableFile(name) {
		return ""
	}
	return name
}
