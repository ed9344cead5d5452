package logs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name:   "journal-binary",
	Doc:    "journald's own file (*.journal, *.journal~): regular and compact, zstd, lz4 and xz data; systemd's JOURNAL_FILE_FORMAT",
	Detect: detectBinaryJournal,
	Parse:  parseBinaryJournal,
})

// The file begins with this signature. An entry and the data objects that it
// points to are appended in the order in which they were logged, data first: so
// the file can be read in one pass from front to back, without its hash tables
// and entry arrays. That also reads files that were never closed, that are cut,
// or whose tables run in circles.
const journalSignature = "LPKSHHRH"

func detectBinaryJournal(head []byte, _ string) int {
	if bytes.HasPrefix(head, []byte(journalSignature)) {
		return 100
	}
	return 0
}

// Incompatible flags of the header.
const (
	journalXZ      = 1 << 0
	journalLZ4     = 1 << 1
	journalKeyed   = 1 << 2 // another hash function; hashes are not used here
	journalZstd    = 1 << 3
	journalCompact = 1 << 4
	journalKnown   = journalXZ | journalLZ4 | journalKeyed | journalZstd | journalCompact
)

// Object types.
const (
	objectData  = 1
	objectEntry = 3
	objectLast  = 7 // tag
)

// Sizes in bytes: the header that every version has, an object's header, and
// what precedes the payload of data and the items of an entry.
const (
	journalMinHeader  = 208
	objectHeader      = 16
	dataHead          = 64
	dataHeadCompact   = 72
	entryHead         = 64
	maxEntryItems     = 4096
	maxJournalPayload = 4 << 20
	journalBuffer     = 256 << 10
)

// journalFile is the state of reading one binary journal.
type journalFile struct {
	ctx     context.Context
	s       *session
	r       *bufio.Reader
	off     int64
	compact bool
	tail    int64 // offset of the last object, by the header
	data    dataStore
	items   []byte
	head    [objectHeader]byte
}

func parseBinaryJournal(ctx context.Context, in *Input) error {
	j := &journalFile{ctx: ctx, s: newSession(in), r: bufio.NewReaderSize(in.R, journalBuffer), off: in.FirstOffset}
	j.data.init()
	err := j.header()
	if err == nil {
		err = j.objects()
	}
	in.Info.Bytes = max(in.Info.Bytes, j.off)
	in.Info.Count("lines", in.Info.Records)
	return j.s.finish(nil, err)
}

// problem reports damage at the current offset.
func (j *journalFile) problem(code, format string, args ...any) {
	j.s.problem(event.Ref{Offset: j.off}, code, fmt.Sprintf(format, args...))
}

// header reads the file header.
func (j *journalFile) header() error {
	var h [journalMinHeader]byte
	n, err := io.ReadFull(j.r, h[:])
	j.off += int64(n)
	if err != nil {
		j.problem("truncated", "the journal ends inside its header")
		return ignoreEOF(err)
	}
	flags := binary.LittleEndian.Uint32(h[12:])
	if unknown := flags &^ journalKnown; unknown != 0 {
		j.problem("unknown-flags", "the journal has incompatible flags %#x that are not known; entries may be misread", unknown)
	}
	j.compact = flags&journalCompact != 0
	size := int64(binary.LittleEndian.Uint64(h[88:]))
	j.tail = int64(binary.LittleEndian.Uint64(h[136:]))
	if size < journalMinHeader || size > 1<<16 {
		j.problem("bad-record", "the journal's header claims a size of %d bytes", size)
		return nil
	}
	return j.skip(size - journalMinHeader)
}

// objects reads every object up to the end of the file or of its used part.
func (j *journalFile) objects() error {
	for n := 0; ; n++ {
		if n&1023 == 0 && j.ctx.Err() != nil {
			return j.ctx.Err()
		}
		got, err := io.ReadFull(j.r, j.head[:])
		if err != nil {
			if got > 0 || j.off <= j.tail {
				j.problem("truncated", "the journal ends before its last object at offset %d", j.tail)
			}
			return ignoreEOF(err)
		}
		if j.off > j.tail && isZero(j.head[:]) {
			return nil // allocated and not yet used
		}
		j.off += objectHeader
		kind, flags, size := j.head[0], j.head[1], int64(binary.LittleEndian.Uint64(j.head[8:]))
		if !plausibleObject(j.head[:]) {
			if err := j.resync(); err != nil {
				return ignoreEOF(err)
			}
			continue
		}
		if err := j.object(kind, flags, size-objectHeader); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				j.problem("truncated", "the journal ends inside an object")
				return nil
			}
			return err
		}
		if pad := -size & 7; pad > 0 {
			if err := j.skip(pad); err != nil {
				return ignoreEOF(err)
			}
		}
	}
}

// plausibleObject checks an object header: types have minimum sizes, reserved
// bytes are zero.
func plausibleObject(h []byte) bool {
	kind, flags, size := h[0], h[1], binary.LittleEndian.Uint64(h[8:])
	if kind < objectData || kind > objectLast || flags&^7 != 0 || flags != 0 && kind != objectData {
		return false
	}
	if h[2]|h[3]|h[4]|h[5]|h[6]|h[7] != 0 || size > 1<<40 {
		return false
	}
	least := uint64(objectHeader + 8)
	switch kind {
	case objectData, objectEntry:
		least = dataHead
	}
	return size >= least
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// resync looks for the next object behind a damaged place: objects begin at
// multiples of eight. It returns io.EOF when there is none.
func (j *journalFile) resync() error {
	j.problem("bad-record", "no journal object where one should be; looking for the next")
	h := j.head
	for n := 0; ; n++ {
		if n&0xFFFF == 0 && j.ctx.Err() != nil {
			return j.ctx.Err()
		}
		copy(h[:], h[8:])
		if _, err := io.ReadFull(j.r, h[8:]); err != nil {
			return err
		}
		j.off += 8
		if j.off > j.tail+objectHeader && isZero(h[:]) && j.tail > 0 {
			return io.EOF
		}
		if plausibleObject(h[:]) {
			size := int64(binary.LittleEndian.Uint64(h[8:]))
			if next, err := j.r.Peek(int(min(size+(-size&7), journalBuffer))); err == nil && size < journalBuffer-8 {
				after := next[len(next)-objectHeader:]
				if !plausibleObject(after) && !isZero(after) {
					continue
				}
			}
			if err := j.object(h[0], h[1], size-objectHeader); err != nil {
				return err
			}
			return j.skip(-size & 7)
		}
	}
}

// object reads the body of one object of n bytes.
func (j *journalFile) object(kind, flags byte, n int64) error {
	switch kind {
	case objectData:
		return j.dataObject(flags, n)
	case objectEntry:
		return j.entryObject(n)
	}
	return j.skip(n)
}

// entryObject reads an entry: sequence number, times, boot id, and the offsets
// of its data objects.
func (j *journalFile) entryObject(n int64) error {
	start := j.off - objectHeader
	if n < entryHead-objectHeader {
		return j.skip(n)
	}
	step := int64(16)
	if j.compact {
		step = 4
	}
	if (n-(entryHead-objectHeader))/step > maxEntryItems {
		j.problem("bad-record", "an entry claims more than %d fields", maxEntryItems)
		return j.skip(n)
	}
	if int64(cap(j.items)) < n {
		j.items = make([]byte, n)
	}
	b := j.items[:n]
	if err := j.read(b); err != nil {
		return err
	}
	var f journalFields
	var boot [32]byte
	const hexDigits = "0123456789abcdef"
	for i, c := range b[24:40] {
		boot[2*i], boot[2*i+1] = hexDigits[c>>4], hexDigits[c&15]
	}
	f.boot = boot[:]
	for items := b[entryHead-objectHeader:]; int64(len(items)) >= step; items = items[step:] {
		at := uint64(binary.LittleEndian.Uint32(items))
		if !j.compact {
			at = binary.LittleEndian.Uint64(items)
		}
		j.data.get(at, &f)
	}
	r := record{ref: event.Ref{Offset: start}}
	f.record(&r)
	r.stamp = realtime(int64(binary.LittleEndian.Uint64(b[8:])))
	r.sinceBoot = time.Duration(min(binary.LittleEndian.Uint64(b[16:]), maxSinceBoot)) * time.Microsecond
	j.s.handle(&r)
	return nil
}

func (j *journalFile) read(b []byte) error {
	n, err := io.ReadFull(j.r, b)
	j.off += int64(n)
	return err
}

func (j *journalFile) skip(n int64) error {
	for n > 0 {
		k, err := j.r.Discard(int(min(n, 1<<30)))
		j.off += int64(k)
		n -= int64(k)
		if err != nil {
			return err
		}
	}
	return nil
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
