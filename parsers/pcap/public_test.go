package pcap_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

const public = "../../../shared/corpus/public"

// publicCaptures calls f with each capture of the public collections.
func publicCaptures(t testing.TB, f func(name string, b []byte)) {
	t.Helper()
	if _, err := os.Stat(public); err != nil {
		t.Skip("the public collections are not beside this repository")
	}
	n := 0
	require.NoError(t, filepath.WalkDir(public, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, ".pcap") || strings.HasSuffix(path, ".txt") {
			return err
		}
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		if strings.HasSuffix(path, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(b))
			require.NoError(t, err)
			b, err = io.ReadAll(z)
			require.NoError(t, err)
		}
		n++
		f(strings.TrimPrefix(path, public+"/"), b)
		return nil
	}))
	require.Greater(t, n, 450)
}

// TestPublicCaptures reads captures that other projects test their decoders
// with, many of them malformed on purpose: no panic, no hang, and whatever was
// not understood is said.
func TestPublicCaptures(t *testing.T) {
	publicCaptures(t, func(name string, b []byte) {
		if !pcap.Detect(b) {
			t.Log("no capture:", name)
			return
		}
		info := &event.StreamInfo{ID: 1, Path: name}
		var c collector
		began := time.Now()
		err := pcap.Parse(context.Background(), bytes.NewReader(b), info, &c)
		assert.Less(t, time.Since(began), 5*time.Second, name)
		if !assert.NoError(t, err, name) {
			return
		}
		if info.Rejected > 0 {
			assert.NotEmpty(t, c.problems, name)
		}
		for _, p := range c.problems {
			t.Logf("%s #%d @%d: %s: %s (%d of %d)", name, p.Ref.Packet, p.Ref.Offset, p.Code, p.Message, p.Count, info.Records)
		}
	})
}
