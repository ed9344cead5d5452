package logs

import "bytes"

var isoForm = prefixForm{name: "journal-short-iso", split: splitISO}

var _ = registerPrefixed(isoForm,
	"journalctl -o short-iso and short-iso-precise, and syslog files with RFC 3339 stamps (rsyslog on Ubuntu 24.04, forwarded syslog): stamp with offset, host, identifier[pid]",
	detectShare(isoForm, 92))

// splitISO takes "2026-12-02T05:02:40[.123456]+0000 host ident[pid]: " off a
// line, with an optional "<priority>" before it. The offset has a colon from
// systemd 255 on.
func splitISO(line []byte, r *record) bool {
	b := line
	if len(b) > 3 && b[0] == '<' {
		if _, rest, ok := leadingUint(b[1:]); ok && len(rest) > 0 && rest[0] == '>' {
			b = rest[1:]
		}
	}
	if len(b) < 22 || b[10] != 'T' || b[19] == ',' { // dmesg prints a comma
		return false
	}
	st, rest, ok := isoStamp(b)
	if !ok || len(rest) < 2 || rest[0] != ' ' {
		return false
	}
	rest = rest[1:]
	// A container log has its stream name, or the message itself, in this place.
	for _, stream := range [...]string{"stdout ", "stderr "} {
		if bytes.HasPrefix(rest, []byte(stream)) {
			return false
		}
	}
	var k klogLine
	if parseKlog(rest, &k) {
		return false
	}
	r.stamp = st
	return splitTag(rest, r) && r.ident != nil
}
