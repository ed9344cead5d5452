package logs

import (
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var unixForm = prefixForm{name: "journal-short-unix", split: splitUnix}

var _ = registerPrefixed(unixForm,
	"journalctl -o short-unix: seconds since the epoch with microseconds, host, identifier[pid]; systemd's manual page journalctl(1)",
	detectShare(unixForm, 92))

// splitUnix takes "1627982001.500000 host ident[pid]: " off a line.
func splitUnix(line []byte, r *record) bool {
	if len(line) < 20 || !isDigit(line[0]) || line[10] != '.' || line[17] != ' ' {
		return false
	}
	secs, rest, ok := leadingUint(line)
	if !ok || len(rest) < 8 || rest[0] != '.' {
		return false
	}
	micros, ok := allDigits(rest[1:7])
	if !ok {
		return false
	}
	r.stamp = event.Known(event.Nanos(secs*int64(time.Second)+micros*int64(time.Microsecond)), time.Microsecond)
	return splitTag(rest[8:], r) && r.ident != nil
}
