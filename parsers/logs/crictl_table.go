package logs

import (
	"bytes"
	"context"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name:   "crictl-table",
	Doc:    "Tables of crictl pods and crictl ps: sandboxes and containers with their attempts; ids are cut to 13 characters.",
	Detect: func(head []byte, _ string) int { return detectTable(head, crictlHeader) },
	Parse: func(ctx context.Context, in *Input) error {
		o := newObjectStream(ctx, in)
		r := &tableReader{o: o}
		return o.finish(r.run(crictlHeader, func(t *textTable) func(*tableReader, tableRow) bool {
			if t.cols[0].name == "POD ID" {
				return (*tableReader).sandbox
			}
			return (*tableReader).container
		}))
	},
})

func crictlHeader(t *textTable) bool {
	return t.has("POD ID", "STATE", "ATTEMPT", "CREATED")
}

// attempt reads the ATTEMPT column, -1 where there is none.
func (r tableRow) attempt() int {
	if n, ok := allDigits(r.raw("ATTEMPT")); ok {
		return int(min(n, 1<<30))
	}
	return -1
}

func (r *tableReader) sandbox(row tableRow) bool {
	at, _ := parseAgo(row.raw("CREATED"))
	r.o.emit(at, "", &event.SandboxChange{
		Pod:       event.PodRef{Namespace: row.str("NAMESPACE"), Name: row.str("NAME")},
		SandboxID: row.str("POD ID"), Op: event.SandboxCreated, Attempt: row.attempt(), Reason: row.str("STATE"),
	})
	return true
}

func (r *tableReader) container(row tableRow) bool {
	at, _ := parseAgo(row.raw("CREATED"))
	id := row.raw("CONTAINER")
	if id == nil {
		id = row.raw("CONTAINER ID")
	}
	r.o.emit(at, "", &event.ContainerState{
		Pod:       event.PodRef{Namespace: row.str("NAMESPACE"), Name: row.str("POD")},
		Container: row.str("NAME"), ID: string(bytes.Clone(id)), SandboxID: row.str("POD ID"),
		Op: event.ContainerCreated, Attempt: row.attempt(), ExitCode: -1, Reason: row.str("STATE"),
	})
	return true
}
