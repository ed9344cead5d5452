package parquetout

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/report/internal/sample"
)

// memory keeps files by name.
type memory map[string]*file

type file struct {
	bytes.Buffer
	closed bool
}

func (f *file) Close() error { f.closed = true; return nil }

func (m memory) Create(name string) (io.WriteCloser, error) {
	if m[name] != nil {
		return nil, errors.New(name + ": written twice")
	}
	m[name] = &file{}
	return m[name], nil
}

func write(t *testing.T, res *model.Result) memory {
	t.Helper()
	m := memory{}
	require.NoError(t, Write(t.Context(), res, "run", m))
	for name, f := range m {
		require.True(t, f.closed, name)
	}
	return m
}

func read[R any](t *testing.T, m memory, name string) []R {
	t.Helper()
	require.Contains(t, m, name)
	rows, err := parquet.Read[R](bytes.NewReader(m[name].Bytes()), int64(m[name].Len()))
	require.NoError(t, err)
	return rows
}

const bundle = "60303ae22b998861"

func TestLayout(t *testing.T) {
	m := write(t, sample.Result())
	var tables []string
	for name := range m {
		parts := strings.Split(name, "/")
		require.Len(t, parts, 5, name)
		assert.Equal(t, "tables", parts[0])
		assert.Equal(t, "cluster=unknown", parts[2])
		assert.Contains(t, []string{"date=unknown", "date=2026-12-02"}, parts[3])
		assert.Equal(t, bundle+".parquet", parts[4])
		tables = append(tables, parts[1])
	}
	slices.Sort(tables)
	want := Tables()
	slices.Sort(want)
	assert.Equal(t, want, slices.Compact(tables))
}

func TestRowsReadBack(t *testing.T) {
	m := write(t, sample.Result())
	dir := "/cluster=unknown/date=2026-12-02/" + bundle + ".parquet"

	events := read[eventRow](t, m, "tables/events"+dir)
	require.Len(t, events, 2)
	assert.Equal(t, "sandbox_change", events[0].Kind)
	assert.Equal(t, events[0].Nanos/1000, events[0].Micros)
	assert.Equal(t, "bundle.tar.gz!/node-a/journal/kubelet.log", events[0].StreamPath)
	assert.Contains(t, events[1].Body, "\uFFFD", "bytes that are not UTF-8 are replaced")
	assert.Len(t, read[eventRow](t, m, "tables/events/cluster=unknown/date=unknown/"+bundle+".parquet"), 1)

	attempts := read[attemptRow](t, m, "tables/probe_attempts"+dir)
	require.Len(t, attempts, 36)
	assert.Nil(t, attempts[0].ARPMs)
	assert.True(t, slices.IsSortedFunc(attempts, func(a, b attemptRow) int { return compareAttempts(&a, &b) }))

	flows := read[flowRow](t, m, "tables/flows"+dir)
	require.Len(t, flows, 36)
	assert.Equal(t, "10.244.1.1", flows[0].ClientAddress)
	assert.Equal(t, int64(400_000), flows[0].Nanos-flows[0].CaptureNanos)

	findings := read[findingRow](t, m, "tables/findings"+dir)
	assert.Len(t, findings, 3+1+3)
}

func TestMetadata(t *testing.T) {
	m := write(t, sample.Result())
	name := "tables/evidence/cluster=unknown/date=2026-12-02/" + bundle + ".parquet"
	f, err := parquet.OpenFile(bytes.NewReader(m[name].Bytes()), int64(m[name].Len()))
	require.NoError(t, err)
	version, _ := f.Lookup("probe_forensics.schema_version")
	assert.Equal(t, model.SchemaVersion, version)
	table, _ := f.Lookup("probe_forensics.table")
	assert.Equal(t, "evidence", table)
	assert.Equal(t, "probe-forensics version 1.0(build parquetout)", f.Metadata().CreatedBy)
}

func TestEqualResultsGiveEqualFiles(t *testing.T) {
	a, b := write(t, sample.Result()), write(t, sample.Result())
	require.Len(t, b, len(a))
	for name := range a {
		assert.True(t, bytes.Equal(a[name].Bytes(), b[name].Bytes()), name)
	}
}

// eventsOf makes a result whose events have the given times.
func eventsOf(times []event.Nanos) *model.Result {
	res := sample.Empty()
	res.Tables.Events = func() iter.Seq2[*model.EventRow, error] {
		return func(yield func(*model.EventRow, error) bool) {
			for i, at := range times {
				if !yield(&model.EventRow{At: at, Kind: "notice", Ref: event.Ref{Stream: 1, Line: int64(i + 1)}}, nil) {
					return
				}
			}
		}
	}
	return res
}

// TestRowsInAnyOrderAreSorted has more rows than fit in memory at once, in the
// order of streams: each by its own time, one after the other.
func TestRowsInAnyOrderAreSorted(t *testing.T) {
	m := newMapper(eventsOf([]event.Nanos{1, 5, 9, 2, 6, 10, 0, 3, 3, 3, 8, 7, 4}), "run")
	for _, limit := range []int{1, 2, 3, 5, 12, 13, 100} {
		var times []int64
		var lines []int64
		for r, err := range sortRows(m.events(), compareEvents, limit) {
			require.NoError(t, err)
			times, lines = append(times, r.Nanos), append(lines, r.Line)
		}
		assert.Equal(t, []int64{0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10}, times, limit)
		assert.Equal(t, []int64{7, 1, 4, 8, 9, 10, 13, 2, 5, 12, 11, 3, 6}, lines, limit)
	}
}

func TestCodecKeepsRows(t *testing.T) {
	var c bytes.Buffer
	rows := newMapper(sample.Result(), "run").attempts()
	enc := newCodec[attemptRow]()
	for i := range rows {
		c.Write(enc.append(nil, &rows[i]))
	}
	short := bytes.Clone(c.Bytes()[:c.Len()-3])
	next := enc.reader(bufio.NewReader(&c))
	for i := range rows {
		got, err := next()
		require.NoError(t, err)
		require.Equal(t, rows[i], got)
	}
	_, err := next()
	require.ErrorIs(t, err, io.EOF)

	next = enc.reader(bufio.NewReader(bytes.NewReader(short)))
	for range rows {
		_, err = next()
	}
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestFailingRowsStopTheTable(t *testing.T) {
	res := sample.Empty()
	res.Tables.Events = func() iter.Seq2[*model.EventRow, error] {
		return func(yield func(*model.EventRow, error) bool) { yield(nil, errors.New("spill: short read")) }
	}
	assert.ErrorContains(t, Write(t.Context(), res, "run", memory{}), "events: spill: short read")
}

func TestPartitionValues(t *testing.T) {
	for in, want := range map[string]string{"": "unknown", "9b1d-0": "9b1d-0", "a/b": "a%2Fb", "..": "%2E.", "prod=eu": "prod%3Deu", "ü": "%C3%BC"} {
		assert.Equal(t, want, partition(in))
	}
}
