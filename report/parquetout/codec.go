package parquetout

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"reflect"
)

// codec writes rows to temporary files and reads them back: the fields in
// order, without names or types. It reflects once per row type to find the
// fields.
type codec[R any] struct{ fields []field }

type field struct {
	index []int
	kind  reflect.Kind // of the field, or of what it points to
	isPtr bool
}

func newCodec[R any]() *codec[R] {
	c := &codec[R]{}
	c.walk(reflect.TypeFor[R](), nil)
	return c
}

func (c *codec[R]) walk(t reflect.Type, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(append([]int{}, index...), i)
		switch f.Type.Kind() {
		case reflect.Struct:
			c.walk(f.Type, at)
		case reflect.Pointer:
			c.fields = append(c.fields, field{at, f.Type.Elem().Kind(), true})
		default:
			c.fields = append(c.fields, field{at, f.Type.Kind(), false})
		}
	}
}

func (c *codec[R]) append(b []byte, r *R) []byte {
	v := reflect.ValueOf(r).Elem()
	for _, f := range c.fields {
		x := v.FieldByIndex(f.index)
		if f.isPtr {
			if x.IsNil() {
				b = append(b, 0)
				continue
			}
			b = append(b, 1)
			x = x.Elem()
		}
		switch f.kind {
		case reflect.String:
			b = appendString(b, x.String())
		case reflect.Int32, reflect.Int64:
			b = binary.AppendVarint(b, x.Int())
		case reflect.Float64:
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x.Float()))
		case reflect.Bool:
			if x.Bool() {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		case reflect.Slice: // of strings
			b = binary.AppendUvarint(b, uint64(x.Len()))
			for i := range x.Len() {
				b = appendString(b, x.Index(i).String())
			}
		default:
			panic(fmt.Sprintf("parquetout: no encoding for a field of kind %s", f.kind))
		}
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// reader returns a function that reads one row a call, io.EOF after the last.
func (c *codec[R]) reader(in *bufio.Reader) func() (R, error) {
	return func() (r R, err error) {
		if _, err := in.Peek(1); err != nil {
			return r, err
		}
		v := reflect.ValueOf(&r).Elem()
		for _, f := range c.fields {
			if err := readField(in, v.FieldByIndex(f.index), f); err != nil {
				return r, fmt.Errorf("row cut short: %w", noEOF(err))
			}
		}
		return r, nil
	}
}

func readField(in *bufio.Reader, x reflect.Value, f field) error {
	if f.isPtr {
		set, err := in.ReadByte()
		if err != nil || set == 0 {
			return err
		}
		x.Set(reflect.New(x.Type().Elem()))
		x = x.Elem()
	}
	switch f.kind {
	case reflect.String:
		s, err := readString(in)
		x.SetString(s)
		return err
	case reflect.Int32, reflect.Int64:
		n, err := binary.ReadVarint(in)
		x.SetInt(n)
		return err
	case reflect.Float64:
		var buf [8]byte
		_, err := io.ReadFull(in, buf[:])
		x.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64(buf[:])))
		return err
	case reflect.Bool:
		b, err := in.ReadByte()
		x.SetBool(b == 1)
		return err
	default:
		n, err := binary.ReadUvarint(in)
		if err != nil || n == 0 {
			return err
		}
		list := make([]string, n)
		for i := range list {
			if list[i], err = readString(in); err != nil {
				return err
			}
		}
		x.Set(reflect.ValueOf(list))
		return nil
	}
}

func readString(in *bufio.Reader) (string, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil || n == 0 {
		return "", err
	}
	b := make([]byte, n)
	_, err = io.ReadFull(in, b)
	return string(b), err
}

// noEOF keeps a short file from looking like the end of one.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
