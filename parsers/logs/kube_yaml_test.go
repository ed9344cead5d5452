package logs_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/logs"
)

// eventItem is one event as the API server prints it, about 1.2 KiB.
const eventItem = `- apiVersion: v1
  count: %d
  eventTime: null
  firstTimestamp: "2026-12-02T04:58:07Z"
  involvedObject:
    apiVersion: v1
    fieldPath: spec.containers{web}
    kind: Pod
    name: frontend-7d9c6b5f4-%05d
    namespace: shop
    resourceVersion: "912"
    uid: 2d6c26c8-98da-4bfa-a0a8-fb8bd78e5c57
  kind: Event
  lastTimestamp: "2026-12-02T04:59:07Z"
  message: 'Readiness probe failed: Get "http://10.244.1.7:8080/healthz": dial tcp
    10.244.1.7:8080: connect: connection refused'
  metadata:
    creationTimestamp: "2026-12-02T04:58:07Z"
    managedFields:
    - apiVersion: v1
      fieldsType: FieldsV1
      fieldsV1:
        f:count: {}
        f:firstTimestamp: {}
        f:involvedObject: {}
        f:lastTimestamp: {}
        f:message: {}
        f:reason: {}
        f:source:
          f:component: {}
          f:host: {}
        f:type: {}
      manager: kubelet
      operation: Update
      time: "2026-12-02T04:58:07Z"
    name: frontend-7d9c6b5f4-x2k8p.18ed5700fbf3a4a1
    namespace: shop
    resourceVersion: "921"
    uid: 3bb6e5f6-6b2a-4a75-a3a5-8a9d2e3ee3d0
  reason: Unhealthy
  reportingComponent: kubelet
  reportingInstance: node-a
  source:
    component: kubelet
    host: node-a
  type: Warning
`

// eventList writes a list of n events as it is read.
func eventList(n int) io.Reader {
	parts := []io.Reader{strings.NewReader("---\napiVersion: v1\nitems:\n")}
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, eventItem, i%7+1, i)
	}
	for range n / 1000 {
		parts = append(parts, strings.NewReader(b.String()))
	}
	return io.MultiReader(append(parts, strings.NewReader("kind: List\nmetadata:\n  resourceVersion: \"\"\n"))...)
}

// discard is a sink that only counts.
type discard struct{ events, problems int }

func (d *discard) Emit(event.Event)      { d.events++ }
func (d *discard) Problem(event.Problem) { d.problems++ }

func format(t testing.TB, name string) logs.Format {
	for _, f := range logs.Formats() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no format %s", name)
	return logs.Format{}
}

func TestEventListMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 12 MB")
	}
	d := &discard{}
	in := &logs.Input{Path: "events.yaml", R: eventList(10_000), Info: &event.StreamInfo{ID: 1}, Sink: d}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	require.NoError(t, format(t, "kube-yaml").Parse(context.Background(), in))
	runtime.ReadMemStats(&after)
	assert.Equal(t, discard{events: 10_000}, *d)
	assert.Less(t, after.HeapSys-min(before.HeapSys, after.HeapSys), uint64(48<<20), "heap growth")
}

func BenchmarkEventsYAML(b *testing.B) {
	f := format(b, "kube-yaml")
	size, _ := io.Copy(io.Discard, eventList(60_000))
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		d := &discard{}
		in := &logs.Input{Path: "events.yaml", R: eventList(60_000), Info: &event.StreamInfo{ID: 1}, Sink: d}
		if err := f.Parse(context.Background(), in); err != nil || d.events != 60_000 {
			b.Fatal(err, d.events)
		}
	}
}

// An object beyond the bounds is left out and reported; what follows is read.
func TestObjectBounds(t *testing.T) {
	node := func(name string) string {
		return "- apiVersion: v1\n  kind: Node\n  metadata:\n    name: " + name + "\n"
	}
	bomb := "- apiVersion: v1\n  kind: Node\n  a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("  a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i, i, i, i, i)
	}
	for name, c := range map[string]struct{ item, code string }{
		"huge scalar":   {"- kind: Node\n  x: " + strings.Repeat("y", 9<<20) + "\n", "object-too-large"},
		"huge uncommon": {"- kind: Node\n  x: !!str " + strings.Repeat("y", 2<<20) + "\n", "bad-yaml"},
		"alias bomb":    {bomb, "bad-yaml"},
		"alias loop":    {"- kind: Node\n  a: &a [*a, *a]\n", "bad-yaml"},
		"deep":          {"- kind: Node\n  a: " + strings.Repeat("[", 5000) + "\n", "bad-yaml"},
		"many values":   {"- kind: Node\n  a: [" + strings.Repeat("x, ", 400_000) + "x]\n", "bad-yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			text := "apiVersion: v1\nitems:\n" + node("first") + c.item + node("last")
			got := readLog(t, "x.yaml", []byte(text))
			require.Len(t, got.problems, 1)
			assert.Equal(t, c.code, got.problems[0].Code)
			assert.EqualValues(t, 7, got.problems[0].Ref.Line)
			require.Len(t, got.events, 2)
			assert.Equal(t, "last", got.events[1].Payload.(*event.NodeSeen).Name)
		})
	}
	t.Run("json", func(t *testing.T) {
		text := `{"kind":"List","apiVersion":"v1","items":[{"kind":"Node","x":"` + strings.Repeat("y", 9<<20) +
			`"},` + "\n" + `{"kind":"Node","metadata":{"name":"last"}}]}`
		got := readLog(t, "x.json", []byte(text))
		require.Len(t, got.problems, 1)
		assert.Equal(t, "object-too-large", got.problems[0].Code)
		require.Len(t, got.events, 1)
		assert.EqualValues(t, 2, got.events[0].Ref.Line)
		assert.Equal(t, int64(bytes.IndexByte([]byte(text), '\n')+1), got.events[0].Ref.Offset)
	})
}
