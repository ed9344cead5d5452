package analyze

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/probe-forensics/probe-forensics/analyze/clock"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

func TestOffsetsOfTheAPI(t *testing.T) {
	const journal, audit = event.StreamID(1), event.StreamID(2)
	infos := []*event.StreamInfo{{ID: journal, Path: "a/kubelet.log", Node: "a"}, {ID: audit, Path: "audit.log", Format: "audit-json"}}
	nodes := map[string]string{"ns/p": "a", "ns/q": "b"}
	sync := func(pod string) *event.Event {
		return &event.Event{Ref: event.Ref{Stream: audit}, Payload: &event.PodSync{Source: "audit", Pod: event.PodRef{Namespace: "ns", Name: pod}}}
	}
	span := func(d time.Duration) clock.Span { return clock.Span{From: d - time.Second, To: d + time.Second} }
	found := []clock.Comparison{
		{Kind: clock.KindAPI, Node: "a", Span: span(5 * time.Second), Agree: 4, Of: 4},
		{Kind: clock.KindAudit, Node: "a", Stream: audit, Span: span(6 * time.Second), Agree: 4, Of: 4},
		{Kind: clock.KindAudit, Node: "b", Stream: audit, Span: span(time.Second / 2), Agree: 4, Of: 4},
	}
	for _, c := range []struct {
		name         string
		found        []clock.Comparison
		given        map[string]time.Duration
		p, q, create time.Duration // audit entries of p and q, creation times on node a
	}{
		{"nothing known", nil, nil, 0, 0, 0},
		{"found where it differs", found, nil, 6 * time.Second, 0, 5 * time.Second},
		{"given for all", found, map[string]time.Duration{"api": time.Minute}, time.Minute, time.Minute, time.Minute},
		{"given for one node", found, map[string]time.Duration{"api": time.Minute, "b/api": time.Hour}, time.Minute, time.Hour, time.Minute},
		{"given as zero", found, map[string]time.Duration{"a/api": 0}, 0, 0, 0},
		{"given for the stream", found, map[string]time.Duration{"api": time.Minute, "audit.log": time.Hour}, time.Hour, time.Hour, time.Minute},
		{"a node is its captures", found, map[string]time.Duration{"a": time.Hour}, 6 * time.Second, 0, 5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newOffsets(c.found, infos, nodes, c.given)
			assert.Equal(t, c.p, o.of(sync("p")))
			assert.Equal(t, c.q, o.of(sync("q")))
			assert.Equal(t, c.create, o.ofAPI("a"))
		})
	}
}

func TestOffsetsOfALog(t *testing.T) {
	infos := []*event.StreamInfo{{ID: 1, Path: "a/kubelet.log", Node: "a"}}
	header := &event.Event{Node: "a", Ref: event.Ref{Stream: 1}, Logged: event.Known(1, 1), Payload: &event.ProbeState{}}
	bare := &event.Event{Node: "a", Ref: event.Ref{Stream: 1}, Payload: &event.NodeState{}}
	found := []clock.Comparison{{Kind: clock.KindJournal, Node: "a", Stream: 1, Span: clock.Span{From: time.Minute, To: time.Minute}, Agree: 4, Of: 4}}

	o := newOffsets(found, infos, nil, nil)
	assert.Equal(t, time.Duration(0), o.of(header), "a header is by the reference clock")
	assert.Equal(t, time.Minute, o.of(bare))

	o = newOffsets(found, infos, nil, map[string]time.Duration{"a/kubelet.log": time.Hour})
	assert.Equal(t, time.Hour, o.of(header))
	assert.Equal(t, time.Hour, o.of(bare))
}
