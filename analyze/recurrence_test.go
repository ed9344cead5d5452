package analyze

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

func TestRecurrences(t *testing.T) {
	const hour = time.Hour
	inc := func(node, cause, pod string, from, to time.Duration) model.Incident {
		at := func(d time.Duration) model.Time { return model.At(event.Nanos(1_790_000_000e9).Add(d)) }
		return model.Incident{Node: node, Cause: model.Cause{ID: cause}, Subjects: []model.Subject{{Namespace: "shop", Pod: pod}}, Window: model.Window{First: at(from), Last: at(to)}}
	}
	all := []model.Incident{
		inc("n1", "arp-unanswered", "a", 0, hour),
		inc("n1", "arp-unanswered", "b", 3*hour, 4*hour),
		inc("n1", "arp-unanswered", "a", 5*hour, 6*hour),
		inc("n2", "arp-unanswered", "c", 5*hour, 6*hour),   // another node
		inc("n1", "app-hang", "d", 0, 2*hour),              // one occasion
		inc("n1", "app-hang", "e", hour, 2*hour),           // of two pods
		inc("n1", rules.Inconclusive, "f", 0, hour),        // no cause:
		inc("n1", rules.Inconclusive, "f", 4*hour, 5*hour), // its signature differs
	}
	r := &run{}
	for i := range all {
		sig := "E-REFUSED"
		if i == len(all)-1 {
			sig = "timeout"
		}
		r.cases = append(r.cases, &rules.Case{Incident: &incident.Incident{Signature: sig}})
	}
	r.recurrences(all)
	for i := range 3 {
		rec := all[i].Recurrence
		require.NotNil(t, rec)
		assert.Equal(t, 3, rec.Times)
		assert.Equal(t, []string{"shop/a", "shop/b"}, rec.Pods)
		assert.Equal(t, all[0].Window.First, rec.First)
		assert.Equal(t, all[2].Window.Last, rec.Last)
		assert.Contains(t, rec.Note, "3 times on node n1")
	}
	for _, i := range all[3:] {
		assert.Nil(t, i.Recurrence, "%s on %s", i.Cause.ID, i.Node)
	}
}
