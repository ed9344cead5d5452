package source

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/klauspost/compress/flate"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// The signatures of a zip file's records (APPNOTE.TXT 4.3).
const (
	zipLocal      = "PK\x03\x04"
	zipDirectory  = "PK\x01\x02"
	zipEnd        = "PK\x05\x06"
	zipDescriptor = "PK\x07\x08"
)

// localHeader is what stands in front of a member.
type localHeader struct {
	name          string
	flags, method uint16
	crc           uint32
	packed        int64 // -1 when it follows the data only
	unpacked      int64
	modified      event.Nanos
}

// zipScan visits the members of a zip archive one after the other, without its
// directory: the way to read one that was cut off, or that lies inside another
// container and is too large to be held in memory.
func (w *walker) zipScan(ctx context.Context, e entry, r io.Reader) error {
	br := w.getBuf(r)
	defer w.putBuf(br)
	for {
		found, err := nextLocal(br)
		if isCancel(err) {
			return err
		}
		if !found {
			return nil
		}
		h, err := readLocal(br)
		if err != nil {
			w.problem(e.path, 0, classify(err), "zip member header: "+plainError(err))
			return nil
		}
		if err := w.scanMember(ctx, e, h, br); err != nil {
			return err
		}
	}
}

// nextLocal skips to the next member. The directory, which follows the last
// one, ends the search.
func nextLocal(br *bufio.Reader) (bool, error) {
	for {
		b, err := br.Peek(4096)
		i := bytes.Index(b, []byte("PK"))
		switch {
		case i < 0 || i+4 > len(b) && err != nil:
			if err != nil {
				_, _ = br.Discard(len(b))
				return false, err
			}
			_, _ = br.Discard(len(b) - 1) // a P at the end may begin the next record
			continue
		case i+4 > len(b):
			_, _ = br.Discard(i)
			continue
		}
		switch string(b[i : i+4]) {
		case zipLocal:
			_, _ = br.Discard(i)
			return true, nil
		case zipDirectory, zipEnd:
			if i == 0 { // exactly behind a member: not by chance
				_, err := io.Copy(io.Discard, br)
				return false, err
			}
		}
		_, _ = br.Discard(i + 2)
	}
}

func readLocal(br *bufio.Reader) (localHeader, error) {
	var b [30]byte
	if _, err := io.ReadFull(br, b[:]); err != nil {
		return localHeader{}, orUnexpected(err)
	}
	u16 := func(i int) uint16 { return binary.LittleEndian.Uint16(b[i:]) }
	u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }
	h := localHeader{flags: u16(6), method: u16(8), crc: u32(14), packed: int64(u32(18)), unpacked: int64(u32(22)), modified: dosTime(u16(12), u16(10))}
	rest := make([]byte, int(u16(26))+int(u16(28)))
	if _, err := io.ReadFull(br, rest); err != nil {
		return h, orUnexpected(err)
	}
	h.name = string(rest[:u16(26)])
	h.extra(rest[u16(26):])
	if h.flags&8 != 0 {
		h.packed, h.unpacked = -1, -1
	}
	return h, nil
}

// extra reads the 64-bit sizes and the modification time from extra fields.
func (h *localHeader) extra(b []byte) {
	for len(b) >= 4 {
		id, n := binary.LittleEndian.Uint16(b), int(binary.LittleEndian.Uint16(b[2:]))
		b = b[4:]
		if n > len(b) {
			return
		}
		f := b[:n]
		switch {
		case id == 0x0001 && h.unpacked == 0xffffffff && len(f) >= 8:
			h.unpacked = int64(binary.LittleEndian.Uint64(f))
			if f = f[8:]; h.packed == 0xffffffff && len(f) >= 8 {
				h.packed = int64(binary.LittleEndian.Uint64(f))
			}
			if h.packed < 0 || h.unpacked < 0 {
				h.packed, h.unpacked = -1, -1
			}
		case id == 0x5455 && len(f) >= 5 && f[0]&1 != 0:
			h.modified = event.Nanos(int32(binary.LittleEndian.Uint32(f[1:]))) * event.Nanos(time.Second)
		}
		b = b[n:]
	}
}

// dosTime converts the time of a FAT file system, which has no zone.
func dosTime(date, clock uint16) event.Nanos {
	if date == 0 {
		return 0
	}
	return event.FromTime(time.Date(int(date>>9)+1980, time.Month(date>>5&15), int(date&31), int(clock>>11), int(clock>>5&63), int(clock&31)*2, 0, time.UTC))
}

func (w *walker) scanMember(ctx context.Context, e entry, h localHeader, br *bufio.Reader) error {
	var in io.Reader = br
	limited := &io.LimitedReader{R: br, N: h.packed}
	if h.packed >= 0 {
		defer func() { _, _ = io.Copy(io.Discard, limited) }()
		in = bufio.NewReader(limited)
	}
	if h.name == "" || h.name[len(h.name)-1] == '/' {
		return nil
	}
	if err := w.count(); err != nil {
		return err
	}
	name, refuse := memberName(h.name)
	switch {
	case refuse != "":
		w.group(e.path, "unsafe-name", "a member is left alone because "+refuse)
		return nil
	case h.flags&1 != 0:
		w.group(e.path, "encrypted", "encrypted members cannot be read, for instance "+name)
		return nil
	case h.method != 0 && h.method != 8, h.method == 0 && h.packed < 0:
		w.group(e.path, "unsupported-member", fmt.Sprintf("without the archive's directory, members of method %d cannot be read, for instance %s", h.method, name))
		return nil
	}
	logical := w.unique(e.path + "!/" + name)
	data := in
	if h.method == 8 {
		data = flate.NewReader(in)
	}
	// Without a known size the meter cannot tell the ratio; the other limits hold.
	m := &meter{r: data, lim: &w.lim, total: &w.total}
	if h.packed >= 0 {
		m.in = func() int64 { return h.packed }
		m.r = &checked{r: data, left: limited, want: h.crc, sum: crc32.NewIEEE()}
	}
	err := w.expand(ctx, entry{path: logical, modified: h.modified, size: h.unpacked, r: m, depth: e.depth + 1})
	if err != nil || h.packed >= 0 {
		return err
	}
	// Only the end of the compressed data tells where the next member begins.
	_, err = io.Copy(io.Discard, m)
	if isCancel(err) {
		return err
	}
	return nil
}

// checked compares the CRC of what is read through it at the end, unless the
// input ended before the member did.
type checked struct {
	r    io.Reader
	left *io.LimitedReader // what the member's data are read from, nil where that is known to be whole
	want uint32
	sum  interface {
		io.Writer
		Sum32() uint32
	}
}

var errChecksum = errors.New("the checksum does not match")

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	_, _ = c.sum.Write(p[:n])
	if err == io.EOF && c.sum.Sum32() != c.want {
		if err = errChecksum; c.left != nil && c.left.N > 0 {
			err = io.ErrUnexpectedEOF
		}
	}
	return n, err
}
