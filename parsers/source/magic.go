package source

import (
	"bytes"
	"encoding/binary"
)

// kind is what a stream holds, as far as this package cares.
type kind uint8

const (
	kindPlain kind = iota
	kindTar
	kindZip
	kindGzip
	kindXZ
	kindZstd
	kindBzip2
	kindLZ4
	kindForeign // an archive that nothing here opens
)

var kindNames = [...]string{"plain", "tar", "zip", "gzip", "xz", "zstd", "bzip2", "lz4", "foreign"}

func (k kind) String() string { return kindNames[k] }

// compressed reports whether the kind wraps exactly one stream.
func (k kind) compressed() bool { return k >= kindGzip && k <= kindLZ4 }

// foreignMagics are archives without a kept pure Go reader that is worth its
// weight; naming them beats "binary data".
var foreignMagics = []struct{ magic, name string }{
	{"7z\xbc\xaf\x27\x1c", "7z"},
	{"Rar!\x1a\x07", "rar"},
	{"\x1f\x9d", "compress (.Z)"},
	{"LZIP\x01", "lzip"},
	{"\x89LZO\x00\r\n\x1a\n", "lzop"},
	{"MSCF\x00\x00\x00\x00", "cab"},
}

// sniff recognises a container by its first bytes; 512 of them are enough.
func sniff(head []byte) kind {
	has := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case has("\x1f\x8b\x08"):
		return kindGzip
	case has("\xfd7zXZ\x00"):
		return kindXZ
	case has("\x28\xb5\x2f\xfd"), isSkippableFrame(head) && bytes.Contains(head, []byte("\x28\xb5\x2f\xfd")):
		return kindZstd
	case len(head) >= 10 && has("BZh") && head[3] >= '1' && head[3] <= '9' &&
		(string(head[4:10]) == "\x31\x41\x59\x26\x53\x59" || string(head[4:10]) == "\x17\x72\x45\x38\x50\x90"):
		return kindBzip2
	case has("\x04\x22\x4d\x18"):
		return kindLZ4
	case has("PK\x03\x04"), has("PK\x05\x06"), has("PK\x07\x08PK\x03\x04"):
		return kindZip
	case isTarHeader(head):
		return kindTar
	case foreign(head) != "":
		return kindForeign
	}
	return kindPlain
}

func foreign(head []byte) string {
	for _, f := range foreignMagics {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return f.name
		}
	}
	return ""
}

// isSkippableFrame recognises the metadata frame that some tools put before the
// first zstd (or lz4) frame.
func isSkippableFrame(head []byte) bool {
	return len(head) >= 8 && binary.LittleEndian.Uint32(head)&^0xf == 0x184d2a50
}

// isTarHeader verifies the checksum of a tar header block, which holds for
// every tar dialect and, unlike the "ustar" word, is hard to meet by chance.
func isTarHeader(b []byte) bool {
	if len(b) < 512 || b[0] == 0 {
		return false
	}
	want, ok := octal(b[148:156])
	if !ok {
		return false
	}
	var unsigned, signed int64
	for i, c := range b[:512] {
		if i >= 148 && i < 156 {
			c = ' '
		}
		unsigned += int64(c)
		signed += int64(int8(c))
	}
	return want == unsigned || want == signed
}

// octal reads the octal number of a tar header field.
func octal(b []byte) (v int64, ok bool) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '7':
			v = v<<3 | int64(c-'0')
			ok = true
		case c == ' ' || c == 0:
			if ok {
				return v, true
			}
		default:
			return 0, false
		}
	}
	return v, ok
}
