package source

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// xzReader reads the .xz container (tukaani.org/xz/xz-file-format.txt, version
// 1.2.1): streams of blocks, each LZMA2 data with a check. The library decodes
// the LZMA2 data; the container is read here because the library's own reader
// allocates whatever dictionary a block asks for, up to 4 GiB, and gives no way
// to refuse.
type xzReader struct {
	br     *bufio.Reader
	check  byte // kind of check of this stream
	blocks int64

	// The block being read.
	data       *lzma.Reader2
	in         *counted
	out        int64
	sum        hash.Hash
	headerSize int64
	packed     int64 // sizes the header promises, -1 where it does not
	unpacked   int64
	err        error
}

var xzMagic = []byte("\xfd7zXZ\x00")

// Checks of the container and their sizes.
const (
	xzNone   = 0x0
	xzCRC32  = 0x1
	xzCRC64  = 0x4
	xzSHA256 = 0xa
)

var ecma = crc64.MakeTable(crc64.ECMA)

func newXZ(br *bufio.Reader) (io.Reader, error) {
	x := &xzReader{br: br}
	return x, x.stream()
}

// Read implements io.Reader.
func (x *xzReader) Read(p []byte) (int, error) {
	for x.err == nil {
		if x.data == nil {
			if x.err = x.next(); x.err != nil {
				break
			}
			continue
		}
		n, err := x.data.Read(p)
		x.out += int64(n)
		if x.sum != nil {
			x.sum.Write(p[:n])
		}
		if err == io.EOF {
			x.data = nil
			x.err = x.endBlock()
		} else if err != nil {
			x.err = err
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, x.err
}

// full reads n bytes; what ends early is truncated.
func (x *xzReader) full(n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(x.br, b)
	return b, orUnexpected(err)
}

// stream reads a stream header.
func (x *xzReader) stream() error {
	b, err := x.full(12)
	if err != nil {
		return err
	}
	if !bytes.Equal(b[:6], xzMagic) || b[6] != 0 || crc32.ChecksumIEEE(b[6:8]) != binary.LittleEndian.Uint32(b[8:]) {
		return errors.New("damaged stream header")
	}
	x.check, x.blocks = b[7], 0
	return nil
}

// next reads a block header, or the end of the stream and the header of another
// one after it. It returns io.EOF at the end of the file.
func (x *xzReader) next() error {
	size, err := x.br.ReadByte()
	if err != nil {
		return orUnexpected(err)
	}
	if size == 0 {
		if err := x.index(); err != nil {
			return err
		}
		return x.another()
	}
	h := make([]byte, (int(size)+1)*4)
	h[0] = size
	if _, err := io.ReadFull(x.br, h[1:]); err != nil {
		return orUnexpected(err)
	}
	body := h[:len(h)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(h[len(body):]) {
		return errors.New("damaged block header")
	}
	x.packed, x.unpacked = -1, -1
	rest := body[2:]
	for _, f := range []struct {
		bit byte
		to  *int64
	}{{0x40, &x.packed}, {0x80, &x.unpacked}} {
		if body[1]&f.bit == 0 {
			continue
		}
		v, n := binary.Uvarint(rest)
		if n <= 0 || int64(v) < 0 {
			return errors.New("damaged block header")
		}
		*f.to, rest = int64(v), rest[n:]
	}
	if body[1]&0x3f != 0 || len(rest) < 3 || rest[0] != 0x21 || rest[1] != 1 {
		return errors.New("filters other than LZMA2 are not supported")
	}
	dict, err := lzma.DecodeDictCap(rest[2])
	if err != nil {
		return errors.New("damaged block header")
	}
	if dict > maxWindow {
		return &limitError{what: fmt.Sprintf("a dictionary of %d bytes, more than %d", dict, maxWindow)}
	}
	x.headerSize, x.in, x.out = int64(len(h)), &counted{r: x.br}, 0
	switch x.check {
	case xzCRC32:
		x.sum = crc32.NewIEEE()
	case xzCRC64:
		x.sum = crc64.New(ecma)
	case xzSHA256:
		x.sum = sha256.New()
	default:
		x.sum = nil
	}
	x.blocks++
	x.data, err = lzma.Reader2Config{DictCap: max(int(dict), lzma.MinDictCap)}.NewReader2(x.in)
	return err
}

// endBlock checks the sizes, the padding and the check of a block.
func (x *xzReader) endBlock() error {
	n := x.in.n.Load()
	if x.packed >= 0 && x.packed != n || x.unpacked >= 0 && x.unpacked != x.out {
		return errors.New("a block has another size than its header says")
	}
	size := int(n+3)/4*4 - int(n)
	// Table of section 3.4: the size goes with the kind, known or not.
	check := [16]int{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}[x.check&0xf]
	b, err := x.full(size + check)
	if err != nil || x.sum == nil {
		return err
	}
	want, got := b[size:], x.sum.Sum(nil)
	if x.check == xzCRC32 || x.check == xzCRC64 { // stored little endian
		for i, j := 0, len(got)-1; i < j; i, j = i+1, j-1 {
			got[i], got[j] = got[j], got[i]
		}
	}
	if !bytes.Equal(want, got) {
		return errors.New("a block's check does not match")
	}
	return nil
}

// index reads the index and the footer. Their sizes are only compared with each
// other: the blocks have been checked one by one.
func (x *xzReader) index() error {
	crc, size := crc32.NewIEEE(), int64(1)
	crc.Write([]byte{0})
	varint := func() (uint64, error) {
		var v uint64
		for shift := 0; shift < 63; shift += 7 {
			b, err := x.br.ReadByte()
			if err != nil {
				return 0, orUnexpected(err)
			}
			crc.Write([]byte{b})
			size++
			v |= uint64(b&0x7f) << shift
			if b < 0x80 {
				return v, nil
			}
		}
		return 0, errors.New("damaged index")
	}
	n, err := varint()
	if err != nil {
		return err
	}
	if n != uint64(x.blocks) {
		return errors.New("the index counts other blocks than there are")
	}
	for range 2 * n {
		if _, err := varint(); err != nil {
			return err
		}
	}
	pad := int((size+3)/4*4 - size)
	b, err := x.full(pad + 4 + 12)
	if err != nil {
		return err
	}
	crc.Write(b[:pad])
	foot := b[pad+4:]
	if crc.Sum32() != binary.LittleEndian.Uint32(b[pad:]) || string(foot[10:]) != "YZ" || foot[9] != x.check ||
		crc32.ChecksumIEEE(foot[4:10]) != binary.LittleEndian.Uint32(foot) {
		return errors.New("damaged index or footer")
	}
	return nil
}

// another skips the padding after a stream and reads the header of the next.
func (x *xzReader) another() error {
	for {
		b, err := x.br.Peek(4)
		if len(b) == 0 {
			return err
		}
		if len(b) == 4 && binary.LittleEndian.Uint32(b) == 0 {
			_, _ = x.br.Discard(4)
			continue
		}
		return x.stream()
	}
}
