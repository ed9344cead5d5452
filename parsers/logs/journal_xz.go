package logs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// unxz decodes one field that journald compressed with xz: a stream of one
// block, its index and footer (the .xz file format 1.2.1). The container is read
// here because a dictionary as large as the field is enough, while the header may
// ask for gigabytes. The check is left alone: journald writes none.
func unxz(dst, b []byte) ([]byte, error) {
	const streamHeader, streamFooter = 12, 12
	if len(b) < streamHeader+streamFooter+16 || string(b[:6]) != "\xFD7zXZ\x00" {
		return nil, errors.New("no xz stream")
	}
	// The footer tells where the index begins, the index how large the field is.
	footer := b[len(b)-streamFooter:]
	back := (int64(binary.LittleEndian.Uint32(footer[4:])) + 1) * 4
	if string(footer[10:]) != "YZ" || back > int64(len(b)-streamHeader-streamFooter) {
		return nil, errors.New("an xz stream without its footer")
	}
	index := b[int64(len(b)-streamFooter)-back:]
	records, n := binary.Uvarint(index[1:])
	if index[0] != 0 || n <= 0 || records != 1 {
		return nil, errors.New("an xz stream of more than one block")
	}
	index = index[1+n:]
	_, n = binary.Uvarint(index)
	if n <= 0 {
		return nil, errors.New("an xz index that does not end")
	}
	size, n := binary.Uvarint(index[n:])
	if n <= 0 || size > maxJournalPayload {
		return nil, errors.New("xz data larger than 4 MiB")
	}
	block := b[streamHeader : int64(len(b)-streamFooter)-back]
	head := (int(block[0]) + 1) * 4
	if block[0] == 0 || head > len(block) {
		return nil, errors.New("an xz block without its header")
	}
	r, err := lzma.Reader2Config{DictCap: max(int(size), lzma.MinDictCap)}.NewReader2(bytes.NewReader(block[head:]))
	if err != nil {
		return nil, err
	}
	return appendAll(dst, io.LimitReader(r, int64(size)))
}
