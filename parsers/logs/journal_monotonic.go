package logs

import (
	"bytes"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var monotonicForm = prefixForm{name: "journal-short-monotonic", split: splitMonotonic}

var _ = registerPrefixed(monotonicForm,
	"journalctl -o short-monotonic and short-delta: seconds since boot in brackets, host, identifier[pid]; systemd's manual page journalctl(1)",
	detectShare(monotonicForm, 91))

// splitMonotonic takes "[    6.500000] host ident[pid]: " off a line; short-delta
// has " <    1.500000 >" inside the brackets. Only the message can have a time
// of day.
func splitMonotonic(line []byte, r *record) bool {
	st, rest, ok := sinceBoot(line)
	if !ok || len(rest) < 2 || rest[0] != ' ' {
		return false
	}
	r.stamp = st
	// The kernel's ring buffer has no host in this place: see dmesg.go.
	return splitTag(rest[1:], r) && r.host != nil && r.ident != nil && bytes.IndexByte(r.ident, ' ') < 0
}

// sinceBoot reads "[  6.500000]", as journalctl and the kernel print it.
func sinceBoot(b []byte) (st event.Stamp, rest []byte, ok bool) {
	if len(b) < 10 || b[0] != '[' {
		return st, b, false
	}
	secs, rest, ok := leadingUint(skipBlanks(b[1:]))
	if !ok || secs > 1<<32 || len(rest) < 7 || rest[0] != '.' {
		return st, b, false
	}
	micros, ok := allDigits(rest[1:7])
	if !ok {
		return st, b, false
	}
	rest = rest[7:]
	if delta, ok := after(rest, " <"); ok {
		i := bytes.IndexByte(delta, '>')
		if i < 0 || i > 24 {
			return st, b, false
		}
		rest = delta[i+1:]
	}
	if len(rest) == 0 || rest[0] != ']' {
		return st, b, false
	}
	return event.Stamp{At: event.Nanos(secs*int64(time.Second) + micros*int64(time.Microsecond)),
		Precision: time.Microsecond, Missing: event.MissingEpoch}, rest[1:], true
}
