package parquetout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// PartSize is about how many bytes of input one file of a compacted lake takes.
// The files come out somewhat smaller, because they share dictionaries: between
// 128 and 512 MB, unless all of a partition is less.
const PartSize = 384 << 20

// PartPrefix begins the names of the files that Compact writes.
const PartPrefix = "part-"

// File is a file of a lake that is to be compacted.
type File struct {
	// Name is its place: tables/<table>/cluster=<id>/date=<day>/<name>.parquet.
	Name string
	Size int64
	Open func() (ReadAtCloser, error)
}

// ReadAtCloser is an open file.
type ReadAtCloser interface {
	io.ReaderAt
	io.Closer
}

// Partition is what Compact made of the files of one directory.
type Partition struct {
	Dir          string // tables/<table>/cluster=<id>/date=<day>
	Files, Parts int
	Rows         int64
}

// Compact rewrites the files of each partition as few large ones, sorted by
// bundle and then as before. Equal rows give equal bytes, however they were
// spread over files. Memory does not grow with the number of rows.
func Compact(ctx context.Context, files []File, partSize int64, out Creator) ([]Partition, error) {
	groups := map[string][]File{}
	for _, f := range files {
		groups[path.Dir(f.Name)] = append(groups[path.Dir(f.Name)], f)
	}
	var dirs []string
	for dir := range groups {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	var done []Partition
	for _, dir := range dirs {
		compactor := compactors[tableOf(dir)]
		if compactor == nil {
			return nil, fmt.Errorf("%s: no table of this version", dir)
		}
		list := groups[dir]
		slices.SortStableFunc(list, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
		p, err := compactor(ctx, dir, list, partSize, out)
		if err != nil {
			return nil, err
		}
		done = append(done, p)
	}
	return done, nil
}

// tableOf is the table of a partition's directory, "" when it is none.
func tableOf(dir string) string {
	parts := strings.Split(dir, "/")
	if len(parts) != 4 || parts[0] != "tables" || !strings.HasPrefix(parts[2], "cluster=") || !strings.HasPrefix(parts[3], "date=") {
		return ""
	}
	return parts[1]
}

// IsTableFile reports whether a name is that of a file of a table.
func IsTableFile(name string) bool {
	return strings.HasSuffix(name, ".parquet") && compactors[tableOf(path.Dir(name))] != nil
}

type compactor func(ctx context.Context, dir string, files []File, partSize int64, out Creator) (Partition, error)

var compactors = map[string]compactor{
	"inputs":           compactorOf(compareInputs, "ts,stream_id,input_path"),
	"events":           compactorOf(compareEvents, "ts,stream_id,packet,line,byte_offset"),
	"probe_attempts":   compactorOf(compareAttempts, "ts,attempt_id"),
	"pod_ip_intervals": compactorOf(compareIntervals, "ts,k8s_namespace_name,k8s_pod_name,k8s_pod_uid,ip"),
	"flows":            compactorOf(compareFlows, "ts,stream_id,packet,line,byte_offset"),
	"arp_observations": compactorOf(compareARP, "ts,stream_id,packet,line,byte_offset"),
	"clock_offsets":    compactorOf(compareClocks, "k8s_node_name,source"),
	"incidents":        compactorOf(compareIncidents, "ts,incident_id"),
	"findings":         compactorOf(compareFindings, "ts,incident_id,finding_id"),
	"evidence":         compactorOf(compareEvidence, "ts,incident_id,evidence_id"),
}

// keyed is what every row type has by embedding a key.
type keyed[R any] interface {
	*R
	identity() key
}

func (k *key) identity() key { return *k }

func compactorOf[R any, P keyed[R]](compare func(a, b *R) int, ordered string) compactor {
	byBundle := func(a, b *R) int {
		x, y := P(a).identity(), P(b).identity()
		return cmp.Or(cmp.Compare(x.BundleID, y.BundleID), cmp.Compare(x.RunID, y.RunID), compare(a, b))
	}
	return func(ctx context.Context, dir string, files []File, partSize int64, out Creator) (Partition, error) {
		p := Partition{Dir: dir, Files: len(files)}
		var size int64
		for _, f := range files {
			size += f.Size
			n, err := rowsIn[R](f)
			if err != nil {
				return p, err
			}
			p.Rows += n
		}
		parts := max(1, (size+partSize-1)/partSize)
		w := &partWriter[R]{out: out, dir: dir, ordered: "bundle_id,run_id," + ordered, rows: max(1, (p.Rows+parts-1)/parts)}
		defer w.abort()
		n := 0
		for r, err := range sortRows(rowsOf[R](files), byBundle, runRows) {
			if n++; err == nil && n%batchRows == 0 {
				err = ctx.Err()
			}
			if err == nil {
				err = w.add(r)
			}
			if err != nil {
				return p, err
			}
		}
		err := w.close()
		p.Parts = w.parts
		return p, err
	}
}

// rowsIn counts the rows of a file and refuses one with columns that would be
// lost.
func rowsIn[R any](f File) (n int64, err error) {
	err = f.with(func(file *parquet.File) error {
		known := parquet.SchemaOf(new(R))
		for _, column := range file.Schema().Columns() {
			if _, ok := known.Lookup(column...); !ok {
				return fmt.Errorf("column %s is not one of this version: it was written by a later one", strings.Join(column, "."))
			}
		}
		n = file.NumRows()
		return nil
	})
	return n, err
}

// with opens the file. The library trusts what it reads; a panic is the file's
// damage.
func (f File) with(use func(*parquet.File) error) (err error) {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: damaged: %v", f.Name, p)
		}
	}()
	file, err := parquet.OpenFile(r, f.Size)
	if err == nil {
		err = use(file)
	}
	if err != nil && !errors.Is(err, errStopped) {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return err
}

// errStopped ends reading when nobody wants more rows.
var errStopped = errors.New("stopped")

// rowsOf yields the rows of the files, one after the other.
func rowsOf[R any](files []File) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		batch := make([]R, batchRows)
		for _, f := range files {
			err := f.with(func(file *parquet.File) error { return readRows(file, batch, yield) })
			if errors.Is(err, errStopped) {
				return
			}
			if err != nil {
				var zero R
				yield(zero, err)
				return
			}
		}
	}
}

func readRows[R any](file *parquet.File, batch []R, yield func(R, error) bool) error {
	r := parquet.NewGenericReader[R](file)
	defer r.Close()
	for {
		clear(batch) // what a row has no value for must not be left from another
		n, err := r.Read(batch)
		for i := range n {
			if !yield(batch[i], nil) {
				return errStopped
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrNoProgress
		}
	}
}

// partWriter writes rows into files of equal numbers of rows.
type partWriter[R any] struct {
	out          Creator
	dir, ordered string
	rows         int64 // a file
	parts        int
	inPart       int64

	rowFile[R]
}

func (p *partWriter[R]) add(r R) error {
	if p.isOpen() && p.inPart == p.rows {
		if err := p.close(); err != nil {
			return err
		}
	}
	if !p.isOpen() {
		name := fmt.Sprintf("%s/%s%05d.parquet", p.dir, PartPrefix, p.parts)
		if err := p.open(p.out, name, model.SchemaVersion, tableOf(p.dir), p.ordered); err != nil {
			return err
		}
		p.inPart = 0
		p.parts++
	}
	p.inPart++
	return p.put(r)
}
