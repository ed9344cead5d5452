// Package spill keeps the events of a case between parsing and analysis, in a
// compact lossless encoding: in memory up to a budget, beyond it compressed in
// one temporary file. The same encoding, with a header, is the file that
// extracted events are kept in (see Write and Read).
package spill

import (
	"fmt"
	"iter"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// chunkSize is how many encoded bytes one chunk holds: a chunk is what is
// compressed, written, read and decoded at once, and what strings are shared
// within.
const chunkSize = 128 << 10

// Store holds the events of many streams within one memory budget. Its methods
// may be called by several goroutines.
type Store struct {
	limit int64
	dir   string

	mu   sync.Mutex
	used int64 // encoded bytes in memory
	file *os.File
	name string // still to be removed at Close, "" where it could be removed early
	off  int64
	enc  *zstd.Encoder
	dec  *zstd.Decoder
}

// NewStore returns a store that keeps up to limit encoded bytes in memory and
// the rest in a temporary file in dir ("" for the system's). No file exists
// before it is needed.
func NewStore(limit int64, dir string) *Store { return &Store{limit: limit, dir: dir} }

// Spilled is the size of the temporary file.
func (s *Store) Spilled() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off
}

// Close releases the memory and the file; logs of the store must not be used any
// more.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	s.dec.Close()
	err := s.file.Close()
	if s.name != "" {
		err = os.Remove(s.name)
	}
	s.file = nil
	return err
}

// open creates the temporary file and removes its name at once where the system
// allows it, so that nothing is left behind however the process ends.
func (s *Store) open() error {
	f, err := os.CreateTemp(s.dir, "probe-forensics-*.events")
	if err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	s.file, s.name = f, f.Name()
	if os.Remove(s.name) == nil {
		s.name = ""
	}
	if s.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(2*chunkSize), zstd.WithLowerEncoderMem(true)); err != nil {
		return err
	}
	s.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30), zstd.WithDecoderLowmem(true))
	return err
}

// chunk is a sealed run of encoded events.
type chunk struct {
	raw    []byte // nil when it lies in the file
	off    int64
	packed int
	size   int
}

// add keeps a copy of the encoded bytes.
func (s *Store) add(b []byte) (chunk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+int64(len(b)) <= s.limit {
		s.used += int64(len(b))
		return chunk{raw: append(make([]byte, 0, len(b)), b...), size: len(b)}, nil
	}
	if s.file == nil {
		if err := s.open(); err != nil {
			return chunk{}, err
		}
	}
	packed := s.enc.EncodeAll(b, nil)
	if _, err := s.file.WriteAt(packed, s.off); err != nil {
		return chunk{}, fmt.Errorf("temporary file: %w", err)
	}
	c := chunk{off: s.off, packed: len(packed), size: len(b)}
	s.off += int64(len(packed))
	return c, nil
}

// load returns the encoded bytes of a chunk, in buf where they come from the
// file.
func (s *Store) load(c chunk, buf []byte) ([]byte, error) {
	if c.raw != nil {
		return c.raw, nil
	}
	packed := make([]byte, c.packed)
	if _, err := s.file.ReadAt(packed, c.off); err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	b, err := s.dec.DecodeAll(packed, buf[:0])
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	return b, nil
}

// Log is the events of one stream, in the order they were appended. One
// goroutine appends; after Seal any number may read.
type Log struct {
	store  *Store
	chunks []chunk
	enc    *coder // nil before the first event and once sealed
	n      int64
	err    error
}

// NewLog starts an empty log.
func (s *Store) NewLog() *Log { return &Log{store: s} }

// Len is the number of events appended.
func (l *Log) Len() int64 { return l.n }

// Append adds an event. Its Ref.Stream is not kept. An error means that the
// temporary file could not be written; it stays.
func (l *Log) Append(e *event.Event) error {
	if l.err != nil {
		return l.err
	}
	if l.enc == nil {
		l.enc = encoders.Get().(*coder)
	}
	l.enc.event(e)
	l.n++
	if l.enc.err != nil {
		l.err = l.enc.err
		return l.err
	}
	if len(l.enc.buf) >= chunkSize {
		return l.flush()
	}
	return nil
}

func (l *Log) flush() error {
	if l.err != nil || l.enc == nil || len(l.enc.buf) == 0 {
		return l.err
	}
	c, err := l.store.add(l.enc.buf)
	if err != nil {
		l.err = err
		return err
	}
	l.chunks = append(l.chunks, c)
	l.enc.buf = l.enc.buf[:0]
	clear(l.enc.ids)
	return nil
}

// Seal ends appending and releases what it needed.
func (l *Log) Seal() error {
	err := l.flush()
	if l.enc != nil {
		clear(l.enc.ids)
		*l.enc = coder{ids: l.enc.ids, buf: l.enc.buf[:0]}
		encoders.Put(l.enc)
		l.enc = nil
	}
	return err
}

// encoders saves table and buffer for the next of thousands of small streams.
var encoders = sync.Pool{New: func() any {
	return &coder{ids: make(map[string]uint64), buf: make([]byte, 0, 4<<10)}
}}

// All yields the events. The pointed-to event is valid until the next step, its
// payload for as long as it is held.
func (l *Log) All() iter.Seq2[*event.Event, error] { return l.read(false) }

// Borrow is All for a reader that keeps no connection: an *event.Flow is valid
// until the next step only.
func (l *Log) Borrow() iter.Seq2[*event.Event, error] { return l.read(true) }

func (l *Log) read(borrow bool) iter.Seq2[*event.Event, error] {
	return func(yield func(*event.Event, error) bool) {
		var buf []byte
		var e event.Event
		dec := coder{dec: true, borrow: borrow}
		for _, c := range l.chunks {
			b, err := l.store.load(c, buf)
			if err != nil {
				yield(nil, err)
				return
			}
			if c.raw == nil {
				buf = b
			}
			dec.buf, dec.strs = b, dec.strs[:0]
			for len(dec.buf) > 0 {
				dec.event(&e)
				if dec.err != nil {
					yield(nil, fmt.Errorf("stored events: %w", dec.err))
					return
				}
				if !yield(&e, nil) {
					return
				}
			}
		}
	}
}
