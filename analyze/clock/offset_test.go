package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Whatever the offset, anchors at irregular distances give it back to 50 ms.
func TestEstimateRecoversAnyOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		by := time.Duration(rapid.Int64Range(-int64(4*time.Minute), int64(4*time.Minute)).Draw(t, "by"))
		at := event.Nanos(time.Hour)
		var anchors, marks []Anchor
		for i := range rapid.IntRange(16, 40).Draw(t, "n") {
			// Each distance is longer than the one before: no shift repeats the pattern.
			at = at.Add(time.Second + time.Duration(i)*400*time.Millisecond + time.Duration(rapid.Int64Range(0, int64(50*time.Millisecond)).Draw(t, "gap")))
			late := time.Duration(rapid.Int64Range(0, int64(5*time.Millisecond)).Draw(t, "late"))
			anchors = append(anchors, Anchor{At: at.Add(late), Key: "k"})
			marks = append(marks, Anchor{At: at.Add(-by), Key: "k"})
		}
		o, ok := Estimate(anchors, marks, nil, MaxOffset)
		require.True(t, ok)
		assert.InDelta(t, by.Seconds(), o.Value.Seconds(), 0.05)
	})
}

// A strict period leaves whole periods open: the rivals say so.
func TestEstimateListsRivals(t *testing.T) {
	var anchors, marks []Anchor
	for i := range 30 {
		at := event.Nanos(time.Hour).Add(time.Duration(i) * 10 * time.Second)
		anchors = append(anchors, Anchor{At: at, Key: "k"})
		marks = append(marks, Anchor{At: at.Add(-90 * time.Second), Key: "k"})
	}
	o, ok := Estimate(anchors, marks, nil, MaxOffset)
	require.True(t, ok)
	assert.InDelta(t, 90, o.Value.Seconds(), 0.05)
	assert.Contains(t, o.Rivals, 80*time.Second)
	assert.Contains(t, o.Rivals, 100*time.Second)
}
