package logs

import (
	"bytes"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// journalFields collects the fields of one journal entry that matter, for the
// forms that print fields by name: export, verbose, JSON, binary.
type journalFields struct {
	message, host, ident, comm, unit, pid, syslogPID, transport, boot []byte
	realtime, monotonic                                               []byte
	hasMessage                                                        bool
}

// set takes a field. It returns false for a field of no interest.
func (f *journalFields) set(name, value []byte) bool {
	switch string(name) {
	case "MESSAGE":
		if f.hasMessage { // a repeated field: the first one is what journalctl prints
			return true
		}
		f.message, f.hasMessage = value, true
	case "_HOSTNAME":
		f.host = value
	case "SYSLOG_IDENTIFIER":
		f.ident = value
	case "_COMM":
		f.comm = value
	case "_SYSTEMD_UNIT":
		f.unit = value
	case "_PID":
		f.pid = value
	case "SYSLOG_PID":
		f.syslogPID = value
	case "_TRANSPORT":
		f.transport = value
	case "_BOOT_ID":
		f.boot = value
	case "__REALTIME_TIMESTAMP":
		f.realtime = value
	case "__MONOTONIC_TIMESTAMP":
		f.monotonic = value
	default:
		return false
	}
	return true
}

// record makes a record of an entry, the way journalctl's short forms would
// print it.
func (f *journalFields) record(r *record) {
	r.host, r.boot = f.host, f.boot
	switch {
	case len(f.ident) > 0:
		r.ident = f.ident
	case len(f.comm) > 0:
		r.ident = f.comm
	case string(f.transport) == "kernel":
		r.ident = []byte("kernel")
	default:
		r.ident = bytes.TrimSuffix(f.unit, []byte(".service"))
	}
	pid := f.pid
	if len(pid) == 0 {
		pid = f.syslogPID
	}
	if n, ok := allDigits(pid); ok {
		r.pid = int32(min(n, 1<<31-1))
	}
	if us, ok := allDigits(f.realtime); ok {
		r.stamp = realtime(us)
	}
	if us, ok := allDigits(f.monotonic); ok {
		r.sinceBoot = time.Duration(min(us, maxSinceBoot)) * time.Microsecond
	}
	r.msg = bytes.TrimRight(f.message, "\n")
}

// maxSinceBoot bounds the monotonic time of an entry, microseconds: no machine
// runs longer.
const maxSinceBoot = 1 << 50

// realtime is the stamp of microseconds since the epoch; the zero stamp when
// they do not fit.
func realtime(us int64) event.Stamp {
	const most = (1<<63 - 1) / int64(time.Microsecond)
	if us <= 0 || us > most {
		return event.Stamp{}
	}
	return event.Known(event.Nanos(us*int64(time.Microsecond)), time.Microsecond)
}
