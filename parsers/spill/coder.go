package spill

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var errShort = errors.New("record ends early")

// coder encodes and decodes with the same code: every type has one function
// that visits its fields in a fixed order, and reads or writes each of them
// depending on dec. So the two directions cannot drift apart.
//
// Integers are varints, signed ones zigzag. A string is written once and
// numbered from 1 in order of appearance; later it is its number, and 0
// announces a new one. The numbering belongs to one chunk.
type coder struct {
	dec  bool
	buf  []byte // written so far, or still to be read
	err  error  // first error while decoding
	base event.Nanos
	ids  map[string]uint64
	strs []string

	borrow bool // decode every connection into lent
	lent   event.Flow
}

// maxInterned bounds the strings that are worth a place in the table.
const maxInterned = 1 << 10

func (c *coder) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.buf = nil
}

func (c *coder) uvarint(p *uint64) {
	if !c.dec {
		c.buf = binary.AppendUvarint(c.buf, *p)
		return
	}
	v, n := binary.Uvarint(c.buf)
	if n <= 0 {
		c.fail(errShort)
		v, n = 0, 0
	}
	*p, c.buf = v, c.buf[n:]
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

func (c *coder) varint(p *int64) {
	u := zigzag(*p)
	c.uvarint(&u)
	*p = unzigzag(u)
}

// signed is varint for any signed type.
func signed[T ~int | ~int32 | ~int64](c *coder, p *T) {
	v := int64(*p)
	c.varint(&v)
	*p = T(v)
	if c.dec && int64(*p) != v {
		c.fail(fmt.Errorf("number %d does not fit its field", v))
	}
}

// unsigned is uvarint for any unsigned type.
func unsigned[T ~uint8 | ~uint16 | ~uint32](c *coder, p *T) {
	v := uint64(*p)
	c.uvarint(&v)
	*p = T(v)
	if c.dec && uint64(*p) != v {
		c.fail(fmt.Errorf("number %d does not fit its field", v))
	}
}

// flags packs up to eight booleans into a byte.
func (c *coder) flags(ps ...*bool) {
	var b uint8
	for i, p := range ps {
		if *p {
			b |= 1 << i
		}
	}
	unsigned(c, &b)
	for i, p := range ps {
		*p = b&(1<<i) != 0
	}
}

// take cuts the next n bytes off the input.
func (c *coder) take(n uint64) []byte {
	if n > uint64(len(c.buf)) {
		c.fail(errShort)
		return nil
	}
	b := c.buf[:n]
	c.buf = c.buf[n:]
	return b
}

func text[T ~string](c *coder, p *T) {
	if !c.dec {
		c.writeString(string(*p))
		return
	}
	*p = T(c.readString())
}

func (c *coder) writeString(s string) {
	if id, ok := c.ids[s]; ok {
		c.buf = binary.AppendUvarint(c.buf, id)
		return
	}
	c.buf = binary.AppendUvarint(c.buf, 0)
	c.buf = binary.AppendUvarint(c.buf, uint64(len(s)))
	c.buf = append(c.buf, s...)
	if len(s) <= maxInterned {
		c.ids[s] = uint64(len(c.ids) + 1)
	}
}

func (c *coder) readString() string {
	var id uint64
	c.uvarint(&id)
	if id > 0 {
		if id > uint64(len(c.strs)) {
			c.fail(fmt.Errorf("string %d is not in the table", id))
			return ""
		}
		return c.strs[id-1]
	}
	var n uint64
	c.uvarint(&n)
	b := c.take(n)
	s := string(b) // a copy: what is kept of an event must not keep its chunk
	if c.err == nil && len(s) <= maxInterned {
		c.strs = append(c.strs, s)
	}
	return s
}

// nanos writes an instant as the distance from the event's time, and the zero
// instant, which means unset, as 0. The one distance whose code overflows takes
// the code that zero itself would have had.
func (c *coder) nanos(p *event.Nanos) {
	var u uint64
	if !c.dec && *p != 0 {
		if u = zigzag(int64(*p-c.base)) + 1; u == 0 {
			u = zigzag(int64(-c.base)) + 1
		}
	}
	c.uvarint(&u)
	if !c.dec {
		return
	}
	*p = 0
	if u != 0 {
		if *p = c.base + event.Nanos(unzigzag(u-1)); *p == 0 {
			*p = c.base + math.MinInt64
		}
	}
}

func (c *coder) stamp(p *event.Stamp) {
	c.nanos(&p.At)
	signed(c, &p.Precision)
	unsigned(c, &p.Missing)
	unsigned(c, &p.Basis)
}

func (c *coder) duration(p *time.Duration) { signed(c, p) }

// addr writes the length of the address and its bytes: 0 for none, 4, 16, or
// more where a zone follows.
func (c *coder) addr(p *netip.Addr) {
	if !c.dec {
		b, _ := p.MarshalBinary()
		c.buf = binary.AppendUvarint(c.buf, uint64(len(b)))
		c.buf = append(c.buf, b...)
		return
	}
	var n uint64
	c.uvarint(&n)
	if err := p.UnmarshalBinary(c.take(n)); err != nil {
		c.fail(err)
	}
}

func (c *coder) addrPort(p *netip.AddrPort) {
	a, port := p.Addr(), p.Port()
	c.addr(&a)
	unsigned(c, &port)
	*p = netip.AddrPortFrom(a, port)
}

// prefix writes address and length, 0 for no length at all.
func (c *coder) prefix(p *netip.Prefix) {
	a, bits := p.Addr(), p.Bits()
	c.addr(&a)
	signed(c, &bits)
	if c.dec {
		*p = netip.PrefixFrom(a, bits)
	}
}

func (c *coder) mac(p *event.MAC) {
	zero := p.IsZero()
	c.flags(&zero)
	switch {
	case zero:
		*p = event.MAC{}
	case c.dec:
		copy(p[:], c.take(uint64(len(p))))
	default:
		c.buf = append(c.buf, p[:]...)
	}
}

// slice writes the length plus one, so that nil and empty stay apart.
func slice[T any](c *coder, p *[]T, elem func(*coder, *T)) {
	var n uint64
	if *p != nil {
		n = uint64(len(*p)) + 1
	}
	c.uvarint(&n)
	if c.dec {
		*p = nil
		if n == 0 {
			return
		}
		if n-1 > uint64(len(c.buf)) { // an element takes a byte at least
			c.fail(errShort)
			return
		}
		*p = make([]T, 0, min(n-1, 1024))
		for range n - 1 {
			var v T
			if elem(c, &v); c.err != nil {
				return
			}
			*p = append(*p, v)
		}
		return
	}
	for i := range *p {
		elem(c, &(*p)[i])
	}
}
