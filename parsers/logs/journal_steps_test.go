package logs_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/logs"
)

// entry is one object of `journalctl -o json`.
func entry(boot string, wall, sinceBoot time.Duration) string {
	return fmt.Sprintf(`{"__REALTIME_TIMESTAMP":"%d","__MONOTONIC_TIMESTAMP":"%d","_BOOT_ID":"%s","_HOSTNAME":"n","SYSLOG_IDENTIFIER":"kubelet","MESSAGE":"x"}`,
		wall.Microseconds(), sinceBoot.Microseconds(), boot)
}

// steps reads a journal in JSON and returns the sizes of the steps told.
func steps(t require.TestingT, lines []string) []string {
	data := []byte(strings.Join(lines, "\n") + "\n")
	f, err := logs.Detect(data, "journal.json")
	require.NoError(t, err)
	c := &recorded{info: &event.StreamInfo{ID: 1, Format: f.Name, Verbosity: -1}}
	require.NoError(t, f.Parse(context.Background(), &logs.Input{R: bytes.NewReader(data), Info: c.info, Sink: c}))
	var got []string
	for _, e := range c.events {
		if n, ok := e.Payload.(*event.NodeState); ok && n.Code == event.NodeTimeChanged {
			got = append(got, n.Value)
		}
	}
	return got
}

func TestStepsOfTheWallClock(t *testing.T) {
	const day = 20600 * 24 * time.Hour
	boot := strings.Repeat("a", 32)
	// together is two entries, one second apart by both clocks.
	together := func(wall, mono time.Duration) []string {
		return []string{entry(boot, day+wall, mono), entry(boot, day+wall+time.Second, mono+time.Second)}
	}
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"steady", slices.Concat(together(0, time.Hour), together(2*time.Second, time.Hour+2*time.Second)), nil},
		{"back", slices.Concat(together(0, time.Hour), together(-time.Second, time.Hour+2*time.Second)), []string{"-3.000"}},
		{"ahead", slices.Concat(together(0, time.Hour), together(time.Hour, time.Hour+2*time.Second)), []string{"+3598.000"}},
		{"slewed", slices.Concat(together(0, time.Hour), together(time.Hour+time.Second, 2*time.Hour)), nil},
		{"another boot", []string{entry(boot, day, time.Hour), entry(strings.Repeat("b", 32), day+time.Hour, time.Second)}, nil},
		{"newest first", slices.Concat(together(5*time.Second, time.Hour+5*time.Second), together(0, time.Hour)), nil},
		{"made up", []string{entry(boot, day, 1), entry(boot, day+time.Second, time.Microsecond), entry(boot, day+2*time.Second, 2*time.Microsecond), entry(boot, day+3*time.Second, 3*time.Microsecond)}, nil},
		{"one and the same", []string{entry(boot, day, time.Hour), entry(boot, day+time.Second, time.Hour), entry(boot, day+2*time.Second, time.Hour), entry(boot, day+2*time.Second, time.Hour)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, steps(t, c.lines)) })
	}
}

// However entries are spaced, one step of the wall clock is told once, with its
// size to the millisecond, and a clock that nobody sets is told nothing of.
func TestOneStepIsToldOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wall, mono := 20600*24*time.Hour, time.Hour
		n := rapid.IntRange(4, 20).Draw(t, "entries")
		at := rapid.SampledFrom([]int{2, n / 2, n - 2, n}).Draw(t, "step before") // n: never
		step := time.Duration(rapid.SampledFrom([]int{-1, 1}).Draw(t, "sign")) * time.Duration(rapid.Int64Range(1, 1_000_000).Draw(t, "ms")) * time.Millisecond
		if step.Abs() < 200*time.Millisecond {
			step *= 1000
		}
		var lines []string
		for i := range n {
			if i == at {
				wall += step
			}
			lines = append(lines, entry(strings.Repeat("a", 32), wall, mono))
			gap := time.Duration(rapid.Int64Range(1, 1000).Draw(t, "gap")) * time.Millisecond
			wall, mono = wall+gap, mono+gap
		}
		var want []string
		if at < n {
			want = []string{fmt.Sprintf("%+.3f", step.Seconds())}
		}
		assert.Equal(t, want, steps(t, lines))
	})
}
