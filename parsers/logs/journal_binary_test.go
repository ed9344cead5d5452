package logs_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/logs"
)

// journalBuilder writes a binary journal: only what a reader in file order needs,
// plus an empty hash table to step over.
type journalBuilder struct {
	buf      bytes.Buffer
	compact  bool
	compress byte // object flag: 1 xz, 2 lz4, 4 zstd
	seen     map[string]uint64
	tail     uint64
	entries  uint64
}

func newJournalBuilder(t testing.TB, compact bool, compress byte) *journalBuilder {
	t.Helper()
	j := &journalBuilder{compact: compact, compress: compress, seen: map[string]uint64{}}
	h := make([]byte, 272)
	copy(h, "LPKSHHRH")
	flags := uint32(1 << 2) // keyed hash
	if compact {
		flags |= 1 << 4
	}
	switch compress {
	case 1, 2:
		flags |= uint32(compress)
	case 4:
		flags |= 1 << 3
	}
	binary.LittleEndian.PutUint32(h[12:], flags)
	binary.LittleEndian.PutUint64(h[88:], uint64(len(h)))
	j.buf.Write(h)
	j.object(4, 0, make([]byte, 16*32))
	return j
}

// object appends an object and returns its offset.
func (j *journalBuilder) object(kind, flags byte, body []byte) uint64 {
	at := uint64(j.buf.Len())
	h := make([]byte, 16)
	h[0], h[1] = kind, flags
	binary.LittleEndian.PutUint64(h[8:], uint64(16+len(body)))
	j.buf.Write(h)
	j.buf.Write(body)
	for j.buf.Len()%8 != 0 {
		j.buf.WriteByte(0)
	}
	j.tail = at
	return at
}

func (j *journalBuilder) data(t testing.TB, field string) uint64 {
	t.Helper()
	if at, ok := j.seen[field]; ok {
		return at
	}
	head := make([]byte, 48)
	if j.compact {
		head = make([]byte, 56)
	}
	payload, flags := []byte(field), byte(0)
	if len(field) > 80 && j.compress != 0 {
		flags = j.compress
		payload = squeeze(t, flags, payload)
	}
	at := j.object(1, flags, append(head, payload...))
	j.seen[field] = at
	return at
}

func squeeze(t testing.TB, flags byte, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	switch flags {
	case 1:
		w, err := xz.WriterConfig{DictCap: 1 << 16}.NewWriter(&out)
		require.NoError(t, err)
		_, err = w.Write(b)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	case 2:
		dst := make([]byte, 8+lz4.CompressBlockBound(len(b)))
		binary.LittleEndian.PutUint64(dst, uint64(len(b)))
		n, err := lz4.CompressBlock(b, dst[8:], nil)
		require.NoError(t, err)
		require.NotZero(t, n, "incompressible")
		out.Write(dst[:8+n])
	case 4:
		w, err := zstd.NewWriter(&out)
		require.NoError(t, err)
		_, err = w.Write(b)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	return out.Bytes()
}

// entry appends an entry of fields at a time in microseconds.
func (j *journalBuilder) entry(t testing.TB, us uint64, boot byte, fields ...string) {
	t.Helper()
	var items []byte
	for _, f := range fields {
		at := j.data(t, f)
		if j.compact {
			items = binary.LittleEndian.AppendUint32(items, uint32(at))
		} else {
			items = binary.LittleEndian.AppendUint64(items, at)
			items = binary.LittleEndian.AppendUint64(items, 0x1234)
		}
	}
	j.entries++
	body := make([]byte, 48)
	binary.LittleEndian.PutUint64(body[0:], j.entries)
	binary.LittleEndian.PutUint64(body[8:], us)
	body[24] = boot
	j.object(3, 0, append(body, items...))
}

// bytes completes the header and pads the file as journald does.
func (j *journalBuilder) bytes() []byte {
	b := append(bytes.Clone(j.buf.Bytes()), make([]byte, 4096)...)
	binary.LittleEndian.PutUint64(b[136:], j.tail)
	binary.LittleEndian.PutUint64(b[152:], j.entries)
	return b
}

const failed = `I1202 05:03:%02d.634781    3137 prober.go:120] "Probe failed" probeType="Readiness" pod="shop/web-0" podUID="u-web" containerName="web" probeResult="failure" output="Get \"http://10.244.1.73:8080/healthz\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)"`

func sampleJournal(t testing.TB, compact bool, compress byte) []byte {
	t.Helper()
	j := newJournalBuilder(t, compact, compress)
	base := []string{"_HOSTNAME=node-a", "SYSLOG_IDENTIFIER=kubelet", "_PID=3137"}
	for i := range 8 {
		us := uint64(1796187780000000 + i*1000000)
		j.entry(t, us, 1, append(base, fmt.Sprintf("MESSAGE="+failed, i))...)
		j.entry(t, us+10, 1, append(base, fmt.Sprintf(`MESSAGE=I1202 05:03:%02d.700000    3137 x.go:1] "Noise"`, i))...)
	}
	j.entry(t, 1796187790000000, 2, append(base, "MESSAGE=I1202 05:03:10.000000    3137 server.go:1262] \"Started kubelet\"")...)
	return j.bytes()
}

// TestBinaryJournalLayouts reads one journal in every layout and compression.
func TestBinaryJournalLayouts(t *testing.T) {
	for _, compact := range []bool{false, true} {
		for name, compress := range map[string]byte{"plain": 0, "xz": 1, "lz4": 2, "zstd": 4} {
			t.Run(fmt.Sprintf("%s/compact=%v", name, compact), func(t *testing.T) {
				got := readLog(t, "system.journal", sampleJournal(t, compact, compress))
				assert.Equal(t, "journal-binary", got.info.Format)
				assert.EqualValues(t, 17, got.info.Records)
				assert.EqualValues(t, 8, got.info.Counts["probe_failed"])
				assert.Equal(t, "node-a", got.info.Node)
				assert.Empty(t, got.problems)
				require.Len(t, got.events, 10, "8 failures, a reboot, a start")
				first := got.events[0]
				assert.Equal(t, "@", first.Ref.Place()[:1])
				assert.EqualValues(t, 3137, first.PID)
				assert.Equal(t, "2026-12-02T05:03:00.634781", first.Time.At.Time().Format("2006-01-02T15:04:05.000000"))
				assert.Equal(t, event.KindNodeState, got.events[8].Payload.Kind())
			})
		}
	}
}

// TestDamagedJournal overwrites parts of a journal: what is whole around the
// damage is still read, and the damage is told.
func TestDamagedJournal(t *testing.T) {
	whole := sampleJournal(t, true, 4)
	r := rand.New(rand.NewPCG(1, 2))
	told := 0
	for range 200 {
		b := bytes.Clone(whole)
		at := 272 + r.IntN(len(b)-4096-272)
		for i := range min(64, len(b)-at) {
			b[at+i] = byte(r.Uint32())
		}
		c := &recorded{info: &event.StreamInfo{ID: 1}}
		f, err := logs.Detect(b, "x")
		require.NoError(t, err)
		require.NoError(t, f.Parse(context.Background(), &logs.Input{Path: "x", R: bytes.NewReader(b), Info: c.info, Sink: c}))
		assert.LessOrEqual(t, c.info.Records, int64(17))
		assert.GreaterOrEqual(t, c.info.Records, int64(12), "damage of 64 bytes at %d", at)
		told += len(c.problems)
	}
	assert.Positive(t, told)
}

func FuzzBinaryJournal(f *testing.F) {
	for _, compact := range []bool{false, true} {
		for _, compress := range []byte{0, 1, 2, 4} {
			f.Add(sampleJournal(f, compact, compress))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := append([]byte("LPKSHHRH"), data[min(8, len(data)):]...)
		c := &recorded{info: &event.StreamInfo{ID: 1}}
		f, err := logs.Detect(b, "x")
		require.NoError(t, err)
		_ = f.Parse(context.Background(), &logs.Input{Path: "x", R: bytes.NewReader(b), Info: c.info, Sink: c})
		for _, e := range c.events {
			if e.Ref.Offset > int64(len(b)) {
				t.Fatalf("event behind the end: %+v", e)
			}
		}
	})
}
