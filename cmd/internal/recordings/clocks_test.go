package recordings

import (
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// otherAPI is a stream whose API server ran on a clock that was off.
type otherAPI struct {
	event.Stream
	by time.Duration
}

func (s otherAPI) Events() iter.Seq2[*event.Event, error] {
	audits := make(map[event.StreamID]bool)
	for _, i := range s.Infos() {
		audits[i.ID] = i.Format == "audit-json"
	}
	move := func(t event.Nanos) event.Nanos {
		if t == 0 {
			return 0
		}
		return t.Add(s.by)
	}
	return func(yield func(*event.Event, error) bool) {
		for e, err := range s.Stream.Events() {
			if err == nil {
				if audits[e.Ref.Stream] && !e.Time.IsZero() {
					e.Time.At = e.Time.At.Add(s.by)
				}
				switch p := e.Payload.(type) {
				case *event.PodSeen:
					p.Created, p.Deleted = move(p.Created), move(p.Deleted)
				case *event.K8sEvent:
					p.Created = move(p.Created)
				}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// The clock of the API server is found from what it stored about the kubelet's
// acts; with it off by seconds the verdicts stay.
func TestShiftedAPI(t *testing.T) {
	each(t, func(t *testing.T, name, dir string) {
		switch name[:2] {
		case "02", "15", "23", "25":
		default:
			t.Skip("its audit log and objects add nothing to the others")
		}
		plain := causes(run(t, dir, nil))
		for _, by := range []time.Duration{-8 * time.Second, 20 * time.Second} {
			r := run(t, dir, func(s event.Stream) event.Stream { return otherAPI{s, by} })
			found := 0
			for _, c := range r.Clock {
				if c.Kind != "api" && (c.Kind != "audit" || c.Undetermined) {
					continue
				}
				found++
				assert.True(t, c.Applied, "%s moved by %s: %s", c.Source, by, c.Note)
				assert.InDelta(t, -by.Seconds()*1000, c.OffsetMS, c.UncertaintyMS+1, "%s moved by %s", c.Source, by)
			}
			assert.Positive(t, found)
			for pod, was := range plain {
				assert.Equal(t, was.ID, causes(r)[pod].ID, "%s with the API's clock moved by %s", pod, by)
			}
		}
	})
}

// Nothing is moved in recordings whose clocks were one.
func TestOneClockStaysUnmoved(t *testing.T) {
	each(t, func(t *testing.T, _, dir string) {
		for _, c := range run(t, dir, nil).Clock {
			assert.False(t, c.Applied, "%s %s: %f ms ± %f", c.Kind, c.Source, c.OffsetMS, c.UncertaintyMS)
			assert.Empty(t, c.Steps, "%s %s", c.Kind, c.Source)
			assert.Equal(t, c.Undetermined, strings.HasPrefix(c.Note, "undetermined"))
		}
	})
}
