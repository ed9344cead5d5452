package parsers

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExtractedEventsAreTheCase(t *testing.T) {
	c := open(t, Options{}, labBundles(t)[1])
	var b bytes.Buffer
	require.NoError(t, c.WriteEvents(&b))
	p := filepath.Join(t.TempDir(), "case.events")
	require.NoError(t, os.WriteFile(p, b.Bytes(), 0o644))

	again, err := OpenEvents(context.Background(), []string{p}, Options{})
	require.NoError(t, err)
	defer again.Close()
	c.ignored = nil // what was not read is not part of the file
	same(t, dump(t, c), dump(t, again))
	assert.Equal(t, c.Inputs(), again.Inputs())
	var second bytes.Buffer
	require.NoError(t, again.WriteEvents(&second))
	assert.Equal(t, b.Bytes(), second.Bytes())

	two, err := OpenEvents(context.Background(), []string{p, p}, Options{})
	require.NoError(t, err)
	defer two.Close()
	assert.Len(t, two.Infos(), 2*len(c.Infos()))
	assert.Equal(t, 1, two.Infos()[len(c.Infos())].Input)
	for e, err := range two.Events() {
		require.NoError(t, err)
		require.LessOrEqual(t, int(e.Ref.Stream), len(two.Infos()))
	}
}

func TestDamagedEventsAreAnError(t *testing.T) {
	dir := t.TempDir()
	c := open(t, Options{}, tarGz(t, dir, "b.tgz", member{"timestamp", stampFile}))
	var b bytes.Buffer
	require.NoError(t, c.WriteEvents(&b))
	for name, data := range map[string][]byte{
		"the file ends early":            b.Bytes()[:b.Len()-9],
		"not a file of extracted events": []byte("something else altogether, long enough for the header"),
		"extracted by another version":   append([]byte("probe-forensics events\n\x00\x01\x02\x03\x04\x05\x06\x07"), b.Bytes()[31:]...),
	} {
		p := filepath.Join(dir, "x")
		require.NoError(t, os.WriteFile(p, data, 0o644))
		_, err := OpenEvents(context.Background(), []string{p}, Options{})
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), name)
	}
}
