package logs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// dataStore keeps the data objects that entries to come may point to: of the
// small fields all values (a journal stores each once), of the messages those
// that some dialect could want.
type dataStore struct {
	// index maps an object's offset in units of eight bytes to a place in values.
	index  map[uint32]uint32
	values []fieldValue
	free   []uint32
	// messages are the kept messages in order, for giving up the oldest when their
	// bytes go over maxKept.
	messages []uint32
	kept     int
	buf, out []byte
	zstd     *zstd.Decoder
}

// fieldValue is one kept data object. at is the key in the index.
type fieldValue struct {
	name  string
	value []byte
	at    uint32
}

// maxKept bounds the bytes of messages kept at once, maxValue one small field.
const (
	maxKept  = 24 << 20
	maxValue = 4 << 10
)

// dropped stands for every klog line that no catalogue knows: only that it was
// a klog line matters, it ends what was open before it.
const dropped = "I0101 00:00:00.000000       1 dropped.go:1] "

func (d *dataStore) init() {
	d.index = make(map[uint32]uint32)
	d.values = []fieldValue{{name: "MESSAGE", value: []byte(dropped)}}
}

// get sets the field that a data object holds, if it was kept.
func (d *dataStore) get(at uint64, f *journalFields) {
	if i, ok := d.index[uint32(at>>3)]; ok {
		v := &d.values[i]
		f.set([]byte(v.name), v.value)
	}
}

// dataObject reads a "FIELD=value" object of n bytes behind its object header.
func (j *journalFile) dataObject(flags byte, n int64) error {
	at := uint64(j.off - objectHeader)
	head := int64(dataHead - objectHeader)
	if j.compact {
		head = dataHeadCompact - objectHeader
	}
	if n < head {
		return j.skip(n)
	}
	if err := j.skip(head); err != nil {
		return err
	}
	n -= head
	if n > maxJournalPayload {
		return j.skip(n) // a core dump, or nonsense
	}
	if flags == 0 {
		// Most fields can be told by their first bytes and need not be copied.
		peek, _ := j.r.Peek(int(min(n, 24)))
		if name, _, ok := cutByte(peek, '='); ok && (!wantedField(name) || !keptField(name)) {
			return j.skip(n)
		}
	}
	if int64(cap(j.data.buf)) < n {
		j.data.buf = make([]byte, n+n/2)
	}
	payload := j.data.buf[:n]
	if err := j.read(payload); err != nil {
		return err
	}
	if flags != 0 {
		var err error
		if payload, err = j.data.decompress(flags, payload); err != nil {
			j.problem("bad-record", "a data object cannot be decompressed: %v", err)
			return nil
		}
	}
	name, value, ok := cutByte(payload, '=')
	if ok && keptField(name) {
		j.data.put(at, name, value)
	}
	return nil
}

// keptField reports whether journalFields has a place for a field.
func keptField(name []byte) bool {
	var f journalFields
	return wantedField(name) && f.set(name, nil)
}

// put keeps a value under the offset of its object.
func (d *dataStore) put(offset uint64, name, value []byte) {
	at := uint32(offset >> 3)
	message := string(name) == "MESSAGE"
	switch {
	case message && isNoise(value):
		d.index[at] = 0
		return
	case !message && len(value) > maxValue:
		return
	case message:
		value = value[:min(len(value), maxBlock)]
	}
	i := uint32(len(d.values))
	v := fieldValue{name: fieldConst(name), value: bytes.Clone(value), at: at}
	if n := len(d.free); n > 0 {
		i, d.free = d.free[n-1], d.free[:n-1]
		d.values[i] = v
	} else {
		d.values = append(d.values, v)
	}
	d.index[at] = i
	if message {
		d.messages = append(d.messages, i)
		d.forget(len(value))
	}
}

// forget gives up the oldest messages until n more bytes fit.
func (d *dataStore) forget(n int) {
	d.kept += n
	for d.kept > maxKept && len(d.messages) > 1 {
		oldest := d.messages[0]
		v := &d.values[oldest]
		d.kept -= len(v.value)
		delete(d.index, v.at)
		*v = fieldValue{}
		d.free = append(d.free, oldest)
		d.messages = d.messages[1:]
	}
}

// fieldConst returns a constant string for a field name.
func fieldConst(name []byte) string {
	for _, n := range [...]string{"MESSAGE", "_HOSTNAME", "SYSLOG_IDENTIFIER", "_COMM", "_SYSTEMD_UNIT", "_PID",
		"SYSLOG_PID", "_TRANSPORT", "_BOOT_ID", "__REALTIME_TIMESTAMP"} {
		if n == string(name) {
			return n
		}
	}
	return string(name)
}

// isNoise reports whether a message is a klog line that no catalogue knows. It
// is dropped before its entry is met: most of a journal is.
func isNoise(msg []byte) bool {
	var k klogLine
	if !parseKlog(msg, &k) {
		return false
	}
	if _, known := k.lookup(); known || bytes.HasSuffix(msg, []byte("=<")) {
		return false
	}
	return true
}

// decompress undoes the compression of a payload; the result is valid until the
// next call.
func (d *dataStore) decompress(flags byte, b []byte) ([]byte, error) {
	var err error
	switch flags {
	case 1:
		d.out, err = unxz(d.out[:0], b)
		return d.out, err
	case 2:
		if len(b) < 8 {
			return nil, errors.New("lz4 data without its size")
		}
		size := binary.LittleEndian.Uint64(b)
		if size > maxJournalPayload {
			return nil, errors.New("lz4 data larger than 4 MiB")
		}
		if uint64(cap(d.out)) < size {
			d.out = make([]byte, size)
		}
		n, err := lz4.UncompressBlock(b[8:], d.out[:size])
		return d.out[:max(n, 0)], err
	case 4:
		if d.zstd == nil {
			if d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*maxJournalPayload)); err != nil {
				return nil, err
			}
		}
		d.out, err = d.zstd.DecodeAll(b, d.out[:0])
		return d.out, err
	}
	return nil, errors.New("more than one compression")
}

// appendAll reads r to its end behind dst.
func appendAll(dst []byte, r io.Reader) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	_, err := buf.ReadFrom(r)
	return buf.Bytes(), err
}
