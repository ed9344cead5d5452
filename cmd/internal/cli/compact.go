package cli

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/probe-forensics/probe-forensics/report"
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
	stale, err := lakeParts(dir)
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
	out := report.NewDir(dir, rt.stdout)
	done, err := parquetout.Compact(rt.ctx, files, size, out)
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return wrapOutput(errors.Join(err, out.Discard()), dir)
	}
	for _, f := range out.Written() {
		delete(stale, f.Name)
	}
	for name := range stale {
		if err := os.Remove(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
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
func lakeParts(dir string) (map[string]bool, error) {
	parts := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(dir, "tables"), func(p string, de fs.DirEntry, err error) error {
		if err != nil || de.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(de.Name(), parquetout.PartPrefix):
			parts[filepath.ToSlash(rel)] = true
		case strings.HasSuffix(de.Name(), ".parquet"):
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
	for _, dir := range c.Dir {
		err := filepath.WalkDir(dir, func(p string, de fs.DirEntry, err error) error {
			if err == nil {
				err = rt.ctx.Err()
			}
			if err != nil {
				return err
			}
			if de.IsDir() && sameFile(p, out) {
				if p == dir {
					return usagef("%s is the output and an input", dir).try("another directory for --output")
				}
				return fs.SkipDir
			}
			name := tableName(p)
			if !de.Type().IsRegular() || name == "" {
				return nil
			}
			info, err := de.Info()
			if err != nil {
				return err
			}
			f := parquetout.File{Name: name, Size: info.Size(), Open: func() (parquetout.ReadAtCloser, error) { return os.Open(p) }}
			if i, again := at[name]; again && !strings.HasPrefix(path.Base(name), parquetout.PartPrefix) {
				files[i] = f
				return nil
			}
			at[name] = len(files)
			files = append(files, f)
			return nil
		})
		if err != nil {
			if _, usage := errors.AsType[*exitError](err); usage || interrupted(err) {
				return nil, err
			}
			return nil, failf("%w", err)
		}
	}
	return files, nil
}

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
