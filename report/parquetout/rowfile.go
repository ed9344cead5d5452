package parquetout

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"
)

// rowFile writes rows into one file at a time, in batches.
type rowFile[R any] struct {
	file  io.WriteCloser
	w     *parquet.GenericWriter[R]
	batch []R
}

func (f *rowFile[R]) isOpen() bool { return f.w != nil }

func (f *rowFile[R]) open(out Creator, name, version, table, ordered string) error {
	file, err := out.Create(name)
	if err != nil {
		return err
	}
	f.file = file
	f.w = parquet.NewGenericWriter[R](file,
		parquet.CreatedBy("probe-forensics", version, "parquetout"),
		parquet.Compression(compression),
		parquet.MaxRowsPerRowGroup(rowGroupRows),
		parquet.KeyValueMetadata("probe_forensics.schema_version", version),
		parquet.KeyValueMetadata("probe_forensics.table", table),
		parquet.KeyValueMetadata("probe_forensics.sorted_by", ordered),
	)
	return nil
}

func (f *rowFile[R]) put(r R) error {
	f.batch = append(f.batch, r)
	if len(f.batch) == batchRows {
		return f.flush()
	}
	return nil
}

func (f *rowFile[R]) flush() error {
	_, err := f.w.Write(f.batch)
	f.batch = f.batch[:0]
	return err
}

// close completes the open file, if there is one.
func (f *rowFile[R]) close() error {
	if f.w == nil {
		return nil
	}
	err := f.flush()
	if err == nil {
		err = f.w.Close()
	}
	err = errors.Join(err, f.file.Close())
	f.w, f.file = nil, nil
	return err
}

// abort closes an open file without completing it.
func (f *rowFile[R]) abort() {
	if f.file != nil {
		_ = f.file.Close()
	}
}
