package logs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// maxContext bounds what is read of a file about the bundle: a few lines, each
// run of the collector appending two.
const maxContext = 64 << 10

var _ = register(Format{
	Name: "bundle-timestamp",
	Doc: "When a bundle was collected: Go times, one a line, as must-gather and oc adm inspect append them " +
		"(openshift/oc pkg/cli/admin/mustgather), or the output of date as sosreport and the Rancher collector keep it. " +
		"Every line becomes a notice collected-at whose value is in Unix nanoseconds.",
	Detect: func(head []byte, _ string) int {
		line, _, _ := bytes.Cut(head, []byte("\n"))
		if _, ok := collectedAt(string(line)); ok {
			return 90
		}
		return 0
	},
	Parse: parseTimestamps,
})

var _ = register(Format{
	Name: "bundle-version",
	Doc:  "What collected a bundle: the file version of must-gather, a line with the product and one with its version. It becomes a notice bundle-version.",
	Detect: func(head []byte, name string) int {
		if path.Base(name) != "version" || len(head) > 512 || bytes.Count(head, []byte("\n")) > 2 || bytes.ContainsAny(head, "\x00{:") {
			return 0
		}
		return 30
	},
	Parse: func(_ context.Context, in *Input) error {
		text, err := io.ReadAll(io.LimitReader(in.R, maxContext))
		if err != nil {
			return err
		}
		in.Info.Records = 1
		in.Sink.Emit(event.Event{Ref: event.Ref{Stream: in.Info.ID, Line: 1},
			Payload: &event.Notice{Code: "bundle-version", Message: strings.Join(strings.Fields(string(text)), " ")}})
		return nil
	},
})

// collectedAt reads a Go time ("2026-12-02 05:00:01.234 +0000 UTC m=+0.98") or
// the output of date ("Wed Dec  2 05:14:30 UTC 2026").
func collectedAt(line string) (event.Stamp, bool) {
	line, _, _ = strings.Cut(strings.TrimSpace(line), " m=")
	f := strings.Fields(line)
	if len(f) == 4 || len(f) == 3 { // the zone's name says less than its offset
		t, err := time.Parse("2006-01-02 15:04:05.999999999 -0700", strings.Join(f[:3], " "))
		if err != nil {
			return event.Stamp{}, false
		}
		_, frac, _ := strings.Cut(f[1], ".")
		return event.Known(event.FromTime(t), precisionOf(len(frac))), true
	}
	if len(f) != 6 {
		return event.Stamp{}, false
	}
	t, err := time.Parse("Mon Jan 2 15:04:05 2006", strings.Join(append(f[:4:4], f[5]), " "))
	if err != nil {
		return event.Stamp{}, false
	}
	s := event.Known(event.FromTime(t), time.Second)
	if f[4] != "UTC" && f[4] != "GMT" {
		s.Missing = event.MissingZone // an abbreviation does not name an offset
	}
	return s, true
}

// precisionOf is the size of the last of so many digits after the point.
func precisionOf(digits int) time.Duration {
	p := time.Second
	for range min(digits, 9) {
		p /= 10
	}
	return p
}

func parseTimestamps(_ context.Context, in *Input) error {
	sc := bufio.NewScanner(io.LimitReader(in.R, maxContext))
	var offset int64
	for sc.Scan() {
		at := offset
		offset += int64(len(sc.Bytes())) + 1
		if strings.TrimSpace(sc.Text()) == "" {
			continue
		}
		in.Info.Records++
		ref := event.Ref{Stream: in.Info.ID, Line: in.Info.Records, Offset: at}
		s, ok := collectedAt(sc.Text())
		if !ok {
			in.Info.Rejected++
			in.Sink.Problem(event.Problem{Ref: ref, Code: "bad-record", Message: fmt.Sprintf("%.40q is not the time of a collection", sc.Text()), Count: 1})
			continue
		}
		in.Info.Kept++
		if in.Info.First.IsZero() || s.At < in.Info.First.At {
			in.Info.First = s
		}
		if s.At > in.Info.Last.At {
			in.Info.Last = s
		}
		in.Sink.Emit(event.Event{Time: s, Ref: ref, Payload: &event.Notice{Code: "collected-at", Message: strings.TrimSpace(sc.Text()), Value: int64(s.At)}})
	}
	return sc.Err()
}
