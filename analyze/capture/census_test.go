package capture

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

func TestCensusCountsWhoComesBackInTime(t *testing.T) {
	server := netip.MustParseAddrPort("10.244.1.9:8080")
	for name, tc := range map[string]struct {
		every  time.Duration
		visits int
		want   bool
	}{
		"a probe":                       {10 * time.Second, 4, true},
		"too few":                       {10 * time.Second, 3, false},
		"the slowest probe":             {slowest, 4, true},
		"every second tick was lost":    {2 * slowest, 4, true},
		"a few connections of some day": {90 * time.Minute, 40, false},
	} {
		c := NewCensus()
		at := event.Nanos(1796190651 * int64(time.Second))
		for range tc.visits {
			c.Observe(&event.Flow{Client: netip.MustParseAddrPort("10.244.1.1:40000"), Server: server, First: event.Mark{At: at}})
			at = at.Add(tc.every)
		}
		assert.Equal(t, tc.want, c.visited(server), name)
	}
}
