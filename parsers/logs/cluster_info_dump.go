package logs

import (
	"bytes"
	"context"
	"strings"
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
	open bool
	s    *session // finds the lines that bear on probes
}

// start opens a log by its first mark and reports whether the line is one.
func (c *containerLogs) start(o *objectStream, text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte(logsStart))
	if !ok {
		return false
	}
	rest = bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("===="))
	name, pod, _ := strings.Cut(string(bytes.TrimSpace(rest)), " of pod ")
	at := &containerPath{container: name}
	at.pod.Namespace, at.pod.Name, _ = strings.Cut(pod, "/")
	c.open, c.s = true, newSession(o.in)
	c.s.container = at
	return true
}

// line takes one line of an open log and reports whether the log goes on.
func (c *containerLogs) line(o *objectStream, text []byte, at place) bool {
	if bytes.HasPrefix(text, []byte(logsEnd)) {
		c.open = false
		return false
	}
	o.in.Info.Records++
	c.s.emitted = false
	c.s.appLine(&hostState{}, &record{msg: text, ref: o.ref(at)})
	if c.s.emitted {
		o.in.Info.Kept++
	}
	return true
}
