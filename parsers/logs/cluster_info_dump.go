package logs

import (
	"bytes"
	"context"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name: "cluster-info-logs",
	Doc:  "Container logs between START and END marks: logs.txt of kubectl cluster-info dump.",
	Detect: func(head []byte, _ string) int {
		if bytes.HasPrefix(head, []byte(logsStart)) {
			return 95
		}
		return 0
	},
	Parse: func(ctx context.Context, in *Input) error {
		o := newObjectStream(ctx, in)
		return o.finish(splitYAML(o))
	},
})

// The marks that `kubectl cluster-info dump` prints around container logs.
const (
	logsStart = "==== START logs for container "
	logsEnd   = "==== END logs for container "
)

// containerLogs reads the log of one container between its two marks. The lines
// carry no time.
type containerLogs struct {
	open      bool
	pod       event.PodRef
	container string
}

// start opens a log by its first mark and reports whether the line is one.
func (c *containerLogs) start(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte(logsStart))
	if !ok {
		return false
	}
	rest = bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("===="))
	name, pod, _ := strings.Cut(string(bytes.TrimSpace(rest)), " of pod ")
	*c = containerLogs{open: true, container: name}
	c.pod.Namespace, c.pod.Name, _ = strings.Cut(pod, "/")
	return true
}

// line takes one line of an open log and reports whether the log goes on.
func (c *containerLogs) line(o *objectStream, text []byte, at place) bool {
	if bytes.HasPrefix(text, []byte(logsEnd)) {
		c.open = false
		return false
	}
	o.in.Info.Records++
	return true
}
