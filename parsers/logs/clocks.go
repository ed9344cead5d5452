package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerDialect(dialect{name: "clock-daemon", starts: "SBF2", order: 1, read: readClockDaemon})

// readClockDaemon reads steps of the clock from chronyd and ntpd. Slewing is
// harmless and not told.
//
//	System clock wrong by 12.345 seconds
//	Backward time jump detected!
//	Forward time jump detected!
func readClockDaemon(s *session, h *hostState, r *record) bool {
	if len(r.ident) != 7 && len(r.ident) != 4 {
		return false
	}
	switch string(r.ident) {
	case "chronyd", "ntpd":
	default:
		return false
	}
	msg := r.msg
	if _, rest, ok := isoStamp(msg); ok {
		msg = skipBlanks(rest)
	}
	value := ""
	if v, ok := between(msg, "System clock wrong by ", " second"); ok {
		value = s.intern(v)
	} else if v, ok := between(msg, "System clock was stepped by ", " second"); ok {
		value = s.intern(v)
	} else if !bytes.Contains(msg, []byte("time jump detected")) && !bytes.Contains(msg, []byte("time reset")) {
		return true
	}
	s.emit(h, r, event.Stamp{}, 0, &event.NodeState{Code: event.NodeTimeChanged, Value: value, Message: clip(msg, maxMessage)})
	return true
}
