package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

func at(s string) event.Nanos {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return event.FromTime(t)
}

// short is a stamp as "Dec 02 04:58:07" has it: no year, no zone.
func short(s string) event.Stamp {
	t, err := time.Parse(time.DateTime, "1972-"+s)
	if err != nil {
		panic(err)
	}
	return event.Stamp{At: event.FromTime(t), Precision: time.Second, Missing: event.MissingYear | event.MissingZone}
}

func collected(s string) *event.Event {
	return &event.Event{Payload: &event.Notice{Code: "collected-at", Value: int64(at(s))}}
}

func TestYear(t *testing.T) {
	for _, c := range []struct {
		name, collected, stamp, want string
	}{
		{"the same day", "2026-12-02T05:00:00Z", "12-02 04:58:07", "2026-12-02T04:58:07Z"},
		{"the year before", "2026-01-02T00:10:00Z", "12-31 23:59:59", "2025-12-31T23:59:59Z"},
		{"a zone ahead of the collector", "2025-12-31T20:00:00Z", "01-01 03:00:00", "2026-01-01T03:00:00Z"},
		{"a leap day waits for its year", "2026-02-28T00:00:00Z", "02-29 12:00:00", "2024-02-29T12:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := New(nil, Hints{})
			r.Observe(collected(c.collected))
			r.Settle()
			got := r.Resolve(short(c.stamp), "n", 1)
			assert.Equal(t, at(c.want).Time(), got.At.Time())
			assert.Zero(t, got.Missing)
			assert.Equal(t, event.BasisYearInferred|event.BasisZoneAssumed, got.Basis)
		})
	}
}

func TestYearFromNeighbours(t *testing.T) {
	r := New([]*event.StreamInfo{{ID: 1, Modified: at("2031-01-01T00:00:00Z")}}, Hints{})
	r.Observe(&event.Event{Time: event.Known(at("2026-11-20T00:00:00Z"), time.Second), Payload: &event.PodSync{}})
	r.Settle()
	assert.Equal(t, at("2026-12-02T04:58:07Z").Time(), r.Resolve(short("12-02 04:58:07"), "n", 1).At.Time(),
		"a line may be younger than the objects beside it; a file unpacked years later dates nothing")
}

func TestZoneFromRuntimeLine(t *testing.T) {
	r := New(nil, Hints{})
	r.Observe(collected("2026-12-02T05:00:00Z"))
	r.Observe(&event.Event{Node: "n", Time: event.Known(at("2026-12-02T04:58:07Z"), time.Nanosecond), Logged: short("12-02 13:58:07"), Payload: &event.SandboxChange{}})
	r.Settle()
	got := r.Resolve(short("12-02 13:59:00"), "n", 1)
	assert.Equal(t, at("2026-12-02T04:59:00Z").Time(), got.At.Time())
	assert.Zero(t, got.Basis&event.BasisZoneAssumed, "an RFC 3339 stamp inside the line is an anchor, not an assumption")
}

func TestZoneFromStatus(t *testing.T) {
	r := New(nil, Hints{})
	r.Observe(collected("2026-12-02T05:00:00Z"))
	r.Observe(&event.Event{Payload: &event.PodSeen{Statuses: []event.ContainerStatus{{ID: "abc", StartedAt: at("2026-12-02T04:00:00Z")}}}})
	r.Observe(&event.Event{Node: "n", Time: short("12-02 09:30:01"), Payload: &event.ContainerState{Op: event.ContainerStarted, ID: "abc"}})
	r.Settle()
	assert.Equal(t, at("2026-12-02T04:30:00Z").Time(), r.Resolve(short("12-02 10:00:00"), "n", 1).At.Time())
}

func TestOverrides(t *testing.T) {
	loc, err := time.LoadLocation("Asia/Tokyo")
	require.NoError(t, err)
	r := New(nil, Hints{BaseYear: 2020, Zones: map[string]*time.Location{"": loc}})
	r.Settle()
	got := r.Resolve(short("06-01 09:00:00"), "n", 1)
	assert.Equal(t, at("2020-06-01T00:00:00Z").Time(), got.At.Time())
	assert.NotZero(t, got.Basis&event.BasisOverridden)
}

func TestAgeCountsBackFromCollection(t *testing.T) {
	r := New(nil, Hints{})
	r.Observe(collected("2026-12-02T05:00:00Z"))
	r.Settle()
	assert.Equal(t, at("2026-12-02T04:58:56Z").Time(), r.Resolve(event.Age(64*time.Second, time.Second), "", 1).At.Time())
}

// A stamp that carried everything is never changed, whatever is known.
func TestCompleteStampsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := New(nil, Hints{BaseYear: rapid.IntRange(0, 2030).Draw(t, "year")})
		r.Observe(collected("2026-12-02T05:00:00Z"))
		r.Settle()
		s := event.Known(event.Nanos(rapid.Int64Range(0, 1<<61).Draw(t, "at")), time.Microsecond)
		assert.Equal(t, s, r.Resolve(s, "n", 1))
	})
}
