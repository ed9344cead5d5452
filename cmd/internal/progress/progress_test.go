package progress

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/stretchr/testify/assert"
)

func TestText(t *testing.T) {
	assert.Equal(t, "reading: 0% of 1.0 kB, 0 files", Text(0, 1000, 0))
	assert.Equal(t, "reading: 42% of 2.1 GB, 7 files", Text(42*21e6, 2100e6, 7))
	assert.Equal(t, "reading: 12.3 MB, 3 files", Text(12_300_000, 0, 3), "standard input has no total")
	assert.Equal(t, "reading: 2.0 kB, 3 files", Text(2000, 1000, 3), "a file that grew while it was read")
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 99_499: "99.5 kB", 99_500: "100 kB", 999_500: "1.0 MB", 5e15: "5000 TB"} {
		assert.Equal(t, want, Bytes(n), n)
	}
}

// lockedBuffer is a writer that may be read while a line writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestLineIsRemoved(t *testing.T) {
	var out lockedBuffer
	counters := &source.Progress{}
	counters.Total.Store(10)
	line := Start(&out, counters)
	assert.Eventually(t, func() bool { return strings.Contains(out.String(), "reading: 0% of 10 B") }, 10*time.Second, 10*time.Millisecond)
	line.Stop()
	line.Stop()
	assert.True(t, strings.HasSuffix(out.String(), "\r\x1b[K"))

	var none *Line
	none.Stop()
}
