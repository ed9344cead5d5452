package parsers

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// TestEveryEventCanBeReadAgain takes the place of every event of a recording
// and expects to find there what the event was made from.
func TestEveryEventCanBeReadAgain(t *testing.T) {
	f := labBundles(t)[1]
	c := open(t, Options{}, f)
	var at []Locator
	var events []event.Event
	for e, err := range c.Events() {
		require.NoError(t, err)
		info := c.Infos()[e.Ref.Stream-1]
		at = append(at, Locator{Path: info.Path, Line: e.Ref.Line, Offset: e.Ref.Offset, Packet: e.Ref.Packet})
		events = append(events, *e)
	}
	got, inputs, err := ReadRef(context.Background(), []string{f}, at, Options{})
	require.NoError(t, err)
	assert.Equal(t, c.Inputs(), inputs)
	for i, x := range got {
		require.NoError(t, x.Err, "%+v", at[i])
		if at[i].Packet > 0 {
			assert.NotEmpty(t, x.Text)
			continue
		}
		found := false
		for _, e := range x.Events {
			found = found || assert.ObjectsAreEqual(e.Payload, events[i].Payload)
		}
		require.True(t, found, "%+v: %+v is not among %+v", at[i], events[i], x)
		assert.Equal(t, at[i].Line > 0, x.Text != "", "%+v", at[i])
		if p, ok := events[i].Payload.(*event.ProbeResult); ok && at[i].Line > 0 {
			assert.Contains(t, x.Text, p.Container)
		}
	}
}

func TestExcerptsOfLinesAndPackets(t *testing.T) {
	dir := t.TempDir()
	p := tarGz(t, dir, "b.tar.gz", member{"timestamp", stampFile}, member{"long.txt", "one\r\n" + strings.Repeat("x", 2*MaxExcerpt) + "\nlast without a break"})
	got, _, err := ReadRef(context.Background(), []string{p}, []Locator{
		{Path: "b.tar.gz!/long.txt", Line: 3}, {Path: "b.tar.gz!/long.txt", Line: 1}, {Path: "b.tar.gz!/long.txt", Line: 2},
		{Path: "b.tar.gz!/long.txt", Line: 4}, {Path: "b.tar.gz!/timestamp", Line: 2}, {Path: "gone", Line: 1}, {Path: "b.tar.gz!/long.txt", Line: 1},
	}, Options{})
	require.NoError(t, err)
	assert.Equal(t, "last without a break", got[0].Text)
	assert.Equal(t, "one", got[1].Text)
	assert.Len(t, got[2].Text, MaxExcerpt)
	assert.ErrorContains(t, got[3].Err, "b.tar.gz!/long.txt: :4 lies beyond the end of the stream")
	assert.Equal(t, "2026-12-02 05:00:01.008737 +0000 UTC", got[4].Text)
	require.Len(t, got[4].Events, 1)
	assert.Equal(t, "collected-at", got[4].Events[0].Payload.(*event.Notice).Code)
	assert.ErrorContains(t, got[5].Err, "no such stream")
	assert.Equal(t, got[1], got[6])

	quotes, err := Quote(context.Background(), []string{p}, []Locator{{Path: "b.tar.gz!/timestamp", Line: 2}, {Path: "b.tar.gz!/timestamp", Line: 3}}, Options{})
	require.NoError(t, err)
	assert.Equal(t, Excerpt{Text: "2026-12-02 05:00:01.008737 +0000 UTC"}, quotes[0])
	assert.Error(t, quotes[1].Err)
}

func TestExcerptsOfPackets(t *testing.T) {
	captures, _ := filepath.Glob("../../shared/corpus/netns/c1.pcap")
	if len(captures) == 0 {
		t.Skip("no captures beside the repository: ../../shared/corpus/netns")
	}
	got, _, err := ReadRef(context.Background(), captures, []Locator{{Path: "c1.pcap", Packet: 2}, {Path: "c1.pcap", Packet: 1}, {Path: "c1.pcap", Packet: 1 << 40}}, Options{})
	require.NoError(t, err)
	assert.NotEmpty(t, got[0].Text)
	assert.NotEqual(t, got[0].Text, got[1].Text)
	assert.ErrorContains(t, got[2].Err, "no packet 1099511627776")
	t.Log(got[0].Text, "\n", got[1].Text)
}
