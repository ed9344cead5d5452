package identity

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// One pod with any number of sandboxes, each with an IP of its own: its intervals
// of one family follow each other without overlap, each begins with its sandbox,
// and at most one is held at any time. The order of records does not matter.
func TestIntervalsFollowSandboxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "sandboxes")
		pod := event.PodRef{Namespace: "ns", Name: "p", UID: "u"}
		at := event.Nanos(time.Hour)
		var events []*event.Event
		var starts []event.Nanos
		for i := range n {
			at = at.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "gap")) * time.Second)
			id := fmt.Sprintf("sb%d", i)
			starts = append(starts, at)
			events = append(events,
				&event.Event{Time: event.Known(at, 1), Payload: &event.SandboxChange{Pod: pod, SandboxID: id, Op: event.SandboxCreated, Attempt: i}},
				&event.Event{Time: event.Known(at.Add(500*time.Millisecond), 1), Payload: &event.PodIP{Pod: pod, SandboxID: id, Fact: event.IPObserved, Via: "cri",
					IPs: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})}}})
		}
		b := NewBuilder()
		for _, i := range rapid.Permutation(indexes(len(events))).Draw(t, "order") {
			b.Add(events[i], events[i].Time.At)
		}
		x := b.Build(0)
		p := x.ByUID("u")
		assert.Len(t, p.Intervals, n)
		for i := range p.Intervals {
			iv := &p.Intervals[i]
			assert.Equal(t, starts[i], iv.From)
			if i+1 < n {
				assert.LessOrEqual(t, iv.To, p.Intervals[i+1].From)
				assert.NotZero(t, iv.To)
			} else {
				assert.Zero(t, iv.To)
			}
			assert.Len(t, x.Holders(iv.IP, iv.From), 1)
		}
		assert.Empty(t, x.Holders(p.Intervals[0].IP, starts[0]-1))
	})
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
