package spill

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"reflect"

	"github.com/klauspost/compress/zstd"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Magic begins a file of extracted events.
const Magic = "probe-forensics events\n"

// maxFrame bounds one frame of a file: what a chunk can hold, or the table.
const maxFrame = 256 << 20

// Input is one outer input, as the table of a file keeps it.
type Input struct {
	Path, SHA256 string
	Bytes        int64
	Modified     event.Nanos

	// For shares of a case: see source.Input.
	Directory, Whole bool
	Members          []Member
}

// Member is a file of an input that is a directory.
type Member struct {
	Name, SHA256 string
	Bytes        int64
}

// Table is everything about a case except its events.
type Table struct {
	Inputs   []Input
	Infos    []*event.StreamInfo // by id, from 1 without gaps
	Problems []event.Problem
	// Share is the number, from 0, of a share of a case that has Shares of them; 0
	// of 0 is a whole case. Streams of a share are as their parsers left them.
	Share, Shares int
}

func (c *coder) table(t *Table) {
	c.base = 0
	slice(c, &t.Inputs, func(c *coder, p *Input) {
		text(c, &p.Path)
		text(c, &p.SHA256)
		signed(c, &p.Bytes)
		c.nanos(&p.Modified)
		c.flags(&p.Directory, &p.Whole)
		slice(c, &p.Members, func(c *coder, p *Member) {
			text(c, &p.Name)
			text(c, &p.SHA256)
			signed(c, &p.Bytes)
		})
	})
	slice(c, &t.Infos, func(c *coder, p **event.StreamInfo) {
		if c.dec {
			*p = new(event.StreamInfo)
		}
		c.info(*p)
	})
	slice(c, &t.Problems, (*coder).problem)
	signed(c, &t.Share)
	signed(c, &t.Shares)
}

// Write writes a case as one file: Magic, a fingerprint of the event types, and
// a zstd stream of frames, each a length and encoded bytes. The first frame is
// the table; each other one holds events of one stream behind its number. Equal
// cases give equal bytes.
func Write(w io.Writer, t Table, events iter.Seq2[*event.Event, error]) error {
	head := binary.LittleEndian.AppendUint64([]byte(Magic), fingerprint())
	if _, err := w.Write(head); err != nil {
		return err
	}
	zw, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	frame := func(b []byte) error {
		if _, err := zw.Write(binary.AppendUvarint(nil, uint64(len(b)))); err != nil {
			return err
		}
		_, err := zw.Write(b)
		return err
	}
	enc := coder{ids: make(map[string]uint64)}
	enc.table(&t)
	if err := frame(enc.buf); err != nil {
		return err
	}
	var id event.StreamID
	flush := func() error {
		if len(enc.buf) == 0 {
			return nil
		}
		err := frame(enc.buf)
		enc.buf = enc.buf[:0]
		clear(enc.ids)
		return err
	}
	enc.buf = enc.buf[:0]
	clear(enc.ids)
	for e, err := range events {
		if err != nil {
			return err
		}
		if e.Ref.Stream != id || len(enc.buf) >= chunkSize {
			if err := flush(); err != nil {
				return err
			}
			id = e.Ref.Stream
		}
		if len(enc.buf) == 0 {
			unsigned(&enc, &id)
		}
		if enc.event(e); enc.err != nil {
			return enc.err
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return zw.Close()
}

// Read reads a file that Write wrote. The events become logs of the store, one
// for each stream of the table, in its order.
func Read(r io.Reader, store *Store) (Table, []*Log, error) {
	head := make([]byte, len(Magic)+8)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:len(Magic)]) != Magic {
		return Table{}, nil, errors.New("not a file of extracted events")
	}
	if binary.LittleEndian.Uint64(head[len(Magic):]) != fingerprint() {
		return Table{}, nil, errors.New("the events were extracted by another version of the program: extract them again")
	}
	zr, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return Table{}, nil, err
	}
	defer zr.Close()
	br := bufio.NewReaderSize(zr, 64<<10)
	var t Table
	b, err := readFrame(br, nil)
	if err != nil {
		return t, nil, fmt.Errorf("table: %w", orTruncated(err))
	}
	dec := coder{dec: true, buf: b}
	if dec.table(&t); dec.err != nil {
		return t, nil, fmt.Errorf("table: %w", dec.err)
	}
	logs := make([]*Log, len(t.Infos))
	for i := range logs {
		if t.Infos[i].ID != event.StreamID(i+1) {
			return t, nil, fmt.Errorf("table: stream %d stands at place %d", t.Infos[i].ID, i+1)
		}
		logs[i] = store.NewLog()
	}
	for {
		b, err = readFrame(br, b)
		if err == io.EOF {
			break
		}
		if err != nil {
			return t, nil, fmt.Errorf("events: %w", orTruncated(err))
		}
		if err := readEvents(b, logs); err != nil {
			return t, nil, fmt.Errorf("events: %w", err)
		}
	}
	for _, l := range logs {
		if err := l.Seal(); err != nil {
			return t, nil, err
		}
	}
	return t, logs, nil
}

func readEvents(b []byte, logs []*Log) error {
	dec := coder{dec: true, buf: b}
	var id event.StreamID
	unsigned(&dec, &id)
	if dec.err == nil && (id < 1 || int(id) > len(logs)) {
		return fmt.Errorf("stream %d is not in the table", id)
	}
	var e event.Event
	for len(dec.buf) > 0 && dec.err == nil {
		if dec.event(&e); dec.err != nil {
			break
		}
		if err := logs[id-1].Append(&e); err != nil {
			return err
		}
	}
	return dec.err
}

func orTruncated(err error) error {
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file ends early")
	}
	return err
}

// readFrame reads one frame, in buf where it fits. It returns io.EOF only
// between frames.
func readFrame(br *bufio.Reader, buf []byte) ([]byte, error) {
	n, err := binary.ReadUvarint(br)
	if err != nil {
		return nil, err
	}
	if n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	buf = buf[:0]
	for uint64(len(buf)) < n { // grown as it is filled: the length may lie
		part := min(n-uint64(len(buf)), 1<<20)
		at := len(buf)
		buf = append(buf, make([]byte, part)...)
		if _, err := io.ReadFull(br, buf[at:]); err != nil {
			return nil, io.ErrUnexpectedEOF
		}
	}
	return buf, nil
}

// fingerprint identifies the layout of everything that is encoded: fields are
// written by position, so a file is readable only by a program with the same
// ones.
func fingerprint() uint64 {
	h := fnv.New64a()
	fmt.Fprintln(h, "encoding 1")
	seen := make(map[reflect.Type]bool)
	describe(h, reflect.TypeFor[Table](), seen)
	describe(h, reflect.TypeFor[event.Event](), seen)
	for k := event.Kind(1); newPayload(k) != nil; k++ {
		describe(h, reflect.TypeOf(newPayload(k)).Elem(), seen)
	}
	return h.Sum64()
}

func describe(w io.Writer, t reflect.Type, seen map[reflect.Type]bool) {
	fmt.Fprintln(w, t, t.Kind())
	if seen[t] || t.PkgPath() == "net/netip" {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			fmt.Fprint(w, t.Field(i).Name, " ")
			describe(w, t.Field(i).Type, seen)
		}
	case reflect.Slice, reflect.Array, reflect.Pointer, reflect.Map:
		describe(w, t.Elem(), seen)
	}
}
