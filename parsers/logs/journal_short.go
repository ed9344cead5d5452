package logs

import (
	"bytes"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var shortForm = prefixForm{name: "journal-short", split: splitShort}

var _ = registerPrefixed(shortForm,
	"journalctl -o short and short-precise, and traditional syslog (RFC 3164): month, day and time without year or zone, host, identifier[pid]; systemd's manual page journalctl(1)",
	detectShort)

// detectShort also claims a file that holds nothing but journalctl's "no
// entries" lines.
func detectShort(head []byte, path string) int {
	if n := detectShare(shortForm, 90)(head, path); n > 0 {
		return n
	}
	line, _, _ := cutByte(head, '\n')
	for _, p := range [...]string{"-- Logs begin at ", "-- Journal begins at ", "-- No entries --"} {
		if bytes.HasPrefix(line, []byte(p)) {
			return 60
		}
	}
	return 0
}

// splitShort takes "Dec 02 05:02:40[.123456] [host ]ident[[pid]]: " off a line,
// with an optional "<priority>" before it.
func splitShort(line []byte, r *record) bool {
	b := line
	if len(b) > 3 && b[0] == '<' {
		if _, rest, ok := leadingUint(b[1:]); ok && len(rest) > 0 && rest[0] == '>' {
			b = rest[1:]
		}
	}
	if len(b) < 16 {
		return false
	}
	if c := r.second; c != nil && string(b[:secondLen]) == string(c.text[:]) {
		rest, nanos, precision, ok := fraction(b[secondLen:])
		if !ok || len(rest) == 0 || rest[0] != ' ' {
			return false
		}
		r.stamp = event.Stamp{At: c.at + event.Nanos(nanos), Precision: precision, Missing: event.MissingYear | event.MissingZone}
		return splitTag(rest[1:], r)
	}
	month, rest := 0, b
	if b[3] == ' ' {
		month, rest = monthOf(b[0], b[1], b[2]), b[4:]
	}
	if month == 0 {
		if month, rest = localMonth(b); month == 0 {
			return false
		}
	}
	if !shortTail(rest, month, r) {
		return false
	}
	if c := r.second; c != nil && b[3] == ' ' && b[9] == ':' && r.stamp.Missing == event.MissingYear|event.MissingZone {
		copy(c.text[:], b)
		c.at = r.stamp.At - r.stamp.At%event.Nanos(time.Second)
	}
	return true
}

// secondLen is the length of "Dec 02 05:02:40".
const secondLen = 15

// secondCache is the second that was read last.
type secondCache struct {
	text [secondLen]byte
	at   event.Nanos
}

// shortTail reads what follows the month of a short prefix.
func shortTail(b []byte, month int, r *record) bool {
	w := wall{month: month}
	switch {
	case len(b) >= 12 && (b[2] == ' ' || b[2] == ',') && twoPadded(b) > 0:
		w.day, b = twoPadded(b), b[3:]
	case len(b) >= 12 && b[1] == ' ' && isDigit(b[0]):
		w.day, b = int(b[0]-'0'), b[2:]
	default:
		return false
	}
	year := 0
	if len(b) > 13 && b[4] == ' ' && two(b) >= 19 && two(b[2:]) >= 0 {
		year, b = two(b)*100+two(b[2:]), b[5:]
	}
	b, precision, ok := clockTime(b, &w)
	if !ok || !w.valid() {
		return false
	}
	r.stamp = w.inPlaceholder(precision)
	if year >= firstYear && year <= lastYear {
		r.stamp = event.Stamp{At: w.in(year), Precision: precision, Missing: event.MissingZone}
	}
	if len(b) == 0 || b[0] != ' ' {
		return false
	}
	return splitTag(b[1:], r)
}

// splitTag reads "[host ]ident[[pid]]: message". The host is missing with
// journalctl --no-hostname; the pid in files of rsyslog.
func splitTag(b []byte, r *record) bool {
	first, rest, ok := cutByte(b, ' ')
	if n := len(first); n > 1 && first[n-1] == ':' && first[0] != '[' {
		// No host: the first word is the tag already.
		r.host, r.msg = nil, rest
		return r.tag(first[:n-1])
	}
	if !ok {
		return false
	}
	r.host = first
	if string(first) == "..." { // left out by whoever pasted it
		r.host, r.msg = nil, rest
		return true
	}
	// The tag ends at the first ": ", which stands close by; identifiers may hold
	// blanks and slashes.
	window := rest[:min(len(rest), 256)]
	i := bytes.Index(window, []byte(": "))
	if i < 0 {
		if n := len(window); n > 0 && n == len(rest) && window[n-1] == ':' {
			i = n - 1
		} else {
			r.msg = rest
			return true
		}
	}
	r.msg = rest[min(i+2, len(rest)):]
	return r.tag(rest[:i])
}

// tag splits "ident[pid]". A pid in brackets must be a number, else it is part
// of the identifier.
func (r *record) tag(b []byte) bool {
	r.ident, r.pid = b, 0
	if n := len(b); n > 2 && b[n-1] == ']' {
		if i := bytes.LastIndexByte(b, '['); i >= 0 {
			if pid, ok := allDigits(b[i+1 : n-1]); ok {
				r.ident, r.pid = b[:i], int32(min(pid, 1<<31-1))
			}
		}
	}
	r.ident = bytes.TrimSuffix(r.ident, []byte(".service"))
	return len(r.ident) > 0
}

// fullStamp reads "Tue 2021-08-03 09:13:20[.123456] UTC", as journalctl prints
// headers and short-full entries. A zone name that is not in zones.go leaves
// the zone missing.
func fullStamp(b []byte) (st event.Stamp, rest []byte, ok bool) {
	i := bytes.IndexByte(b, ' ')
	if i < 2 || i > 12 || len(b) < i+20 || b[i+11] != ' ' {
		return st, b, false
	}
	st, rest, ok = isoStamp(b[i+1:])
	if !ok || st.Missing&event.MissingZone == 0 {
		return st, rest, ok
	}
	if len(rest) < 2 || rest[0] != ' ' {
		return st, rest, true
	}
	zone, after, _ := cutByte(rest[1:], ' ')
	zone = bytes.TrimRight(zone, ",.")
	if off, ok := zoneOffset(zone); ok {
		st.At, st.Missing = st.At.Add(-off), 0
	}
	return st, after, true
}

// zoneOffset reads a zone as journalctl prints it: "UTC", "+03", "CEST".
func zoneOffset(zone []byte) (time.Duration, bool) {
	if off, rest, ok := isoOffset(zone); ok && len(rest) == 0 {
		return off, true
	}
	minutes, ok := zoneMinutes[string(zone)]
	return time.Duration(minutes) * time.Minute, ok
}
