package parquetout

import (
	"bufio"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
)

// runRows is how many rows are sorted in memory at a time. Larger tables are
// sorted in runs that lie in temporary files until they are merged.
const runRows = 1 << 13

// sortRows yields rows in the order of compare, in memory that does not grow
// with their number: at most limit rows at a time. Rows that compare equal keep
// their order.
func sortRows[R any](rows iter.Seq2[R, error], compare func(a, b *R) int, limit int) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		s := sorter[R]{codec: newCodec[R](), compare: compare, limit: limit}
		defer s.close()
		var zero R
		for r, err := range rows {
			if err == nil {
				err = s.add(r)
			}
			if err != nil {
				yield(zero, err)
				return
			}
		}
		s.merge(yield)
	}
}

type sorter[R any] struct {
	codec   *codec[R]
	compare func(a, b *R) int
	limit   int
	rows    []*R
	runs    []*os.File
}

func (s *sorter[R]) add(r R) error {
	if len(s.rows) == s.limit {
		if err := s.spill(); err != nil {
			return fmt.Errorf("sort rows in a temporary file: %w", err)
		}
	}
	s.rows = append(s.rows, &r)
	return nil
}

func (s *sorter[R]) sort() {
	if !slices.IsSortedFunc(s.rows, s.compare) { // often they are
		slices.SortStableFunc(s.rows, s.compare)
	}
}

// spill writes the rows in memory as a sorted run. The file has no name by then,
// so nothing is left behind however the program ends.
func (s *sorter[R]) spill() error {
	s.sort()
	f, err := os.CreateTemp("", "probe-forensics-*.rows")
	if err != nil {
		return err
	}
	s.runs = append(s.runs, f)
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	var buf []byte
	for i := range s.rows {
		buf = s.codec.append(buf[:0], s.rows[i])
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	clear(s.rows)
	s.rows = s.rows[:0]
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

func (s *sorter[R]) close() {
	for _, f := range s.runs {
		_ = f.Close()
	}
}

// merge yields the runs and what is still in memory as one order.
func (s *sorter[R]) merge(yield func(R, error) bool) {
	s.sort()
	if len(s.runs) == 0 {
		for _, r := range s.rows {
			if !yield(*r, nil) {
				return
			}
		}
		return
	}
	h := &cursors[R]{compare: s.compare}
	var zero R
	for i, f := range s.runs {
		h.add(&cursor[R]{index: i, next: s.codec.reader(bufio.NewReaderSize(f, 1<<16))})
	}
	rest := s.rows
	h.add(&cursor[R]{index: len(s.runs), next: func() (R, error) {
		if len(rest) == 0 {
			return zero, io.EOF
		}
		r := rest[0]
		rest = rest[1:]
		return *r, nil
	}})
	for h.err == nil && len(h.list) > 0 {
		if !yield(h.list[0].row, nil) {
			return
		}
		h.advance()
	}
	if h.err != nil {
		yield(zero, fmt.Errorf("sort rows in a temporary file: %w", h.err))
	}
}

// cursor stands at one row of a run.
type cursor[R any] struct {
	index int
	row   R
	next  func() (R, error)
}

// cursors is a heap of runs by their next row; equal rows come in the order of
// runs.
type cursors[R any] struct {
	list    []*cursor[R]
	compare func(a, b *R) int
	err     error
}

func (h *cursors[R]) add(c *cursor[R]) {
	if h.step(c) {
		heap.Push(h, c)
	}
}

func (h *cursors[R]) step(c *cursor[R]) bool {
	r, err := c.next()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			h.err = err
		}
		return false
	}
	c.row = r
	return true
}

func (h *cursors[R]) advance() {
	if h.step(h.list[0]) {
		heap.Fix(h, 0)
	} else {
		heap.Pop(h)
	}
}

func (h *cursors[R]) Len() int { return len(h.list) }
func (h *cursors[R]) Less(i, j int) bool {
	return cmp.Or(h.compare(&h.list[i].row, &h.list[j].row), cmp.Compare(h.list[i].index, h.list[j].index)) < 0
}
func (h *cursors[R]) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *cursors[R]) Push(x any)    { h.list = append(h.list, x.(*cursor[R])) }
func (h *cursors[R]) Pop() any {
	c := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return c
}
