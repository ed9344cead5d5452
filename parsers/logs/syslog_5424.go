package logs

import "bytes"

var syslog5424Form = prefixForm{name: "syslog-5424", split: splitSyslog5424}

var _ = registerPrefixed(syslog5424Form,
	"syslog protocol (RFC 5424): <priority>1 stamp host app procid msgid [structured data] message",
	detectShare(syslog5424Form, 94))

// splitSyslog5424 takes `<30>1 2021-03-06T04:07:38.251122+00:00 host app 123 id
// [data] ` off a line; "-" stands for a part that is missing.
func splitSyslog5424(line []byte, r *record) bool {
	if len(line) < 30 || line[0] != '<' {
		return false
	}
	_, rest, ok := leadingUint(line[1:])
	if !ok || len(rest) < 3 || rest[0] != '>' || rest[1] != '1' || rest[2] != ' ' {
		return false
	}
	st, rest, ok := isoStamp(rest[3:])
	if !ok || len(rest) == 0 || rest[0] != ' ' {
		return false
	}
	var part [4][]byte // host, app, procid, msgid
	rest = rest[1:]
	for i := range part {
		if part[i], rest, ok = cutByte(rest, ' '); !ok {
			return false
		}
		if string(part[i]) == "-" {
			part[i] = nil
		}
	}
	if data, ok := after(rest, "-"); ok {
		rest = data
	} else {
		for len(rest) > 0 && rest[0] == '[' {
			end := closingBracket(rest)
			if end < 0 {
				return false
			}
			rest = rest[end:]
		}
	}
	rest = skipBlanks(rest)
	r.stamp, r.host, r.msg = st, part[0], bytes.TrimPrefix(rest, []byte("\xEF\xBB\xBF"))
	r.ident = bytes.TrimSuffix(part[1], []byte(".service"))
	if pid, ok := allDigits(part[2]); ok {
		r.pid = int32(min(pid, 1<<31-1))
	}
	return true
}
