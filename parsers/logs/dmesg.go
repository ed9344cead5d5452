package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var dmesgForm = prefixForm{name: "dmesg", split: splitDmesg}

var _ = registerPrefixed(dmesgForm,
	"the kernel's ring buffer as dmesg prints it: seconds since boot, --ctime or --time-format iso; util-linux' manual page dmesg(1)",
	detectDmesg)

func detectDmesg(head []byte, path string) int {
	return detectShare(dmesgForm, 86)(head, path)
}

// splitDmesg takes "[   12.345678] ", "[Wed Dec  2 05:02:40 2026] " or
// "2026-12-02T05:02:40,123456+00:00 " off a line, with an optional "<6>" or
// "kern  :warn  : " before it.
func splitDmesg(line []byte, r *record) bool {
	b := line
	if len(b) > 3 && b[0] == '<' {
		if _, rest, ok := leadingUint(b[1:]); ok && len(rest) > 0 && rest[0] == '>' {
			b = rest[1:]
		}
	}
	if rest, ok := after(b, "kern  :"); ok {
		if _, rest, ok = bytes.Cut(rest, []byte(": ")); ok {
			b = rest
		}
	}
	if len(b) < 14 {
		return false
	}
	r.ident = kernelIdent
	if st, rest, ok := sinceBoot(b); ok {
		r.stamp, r.msg = st, skipBlanks(rest)
		return true
	}
	if b[0] == '[' {
		if st, rest, ok := ctimeStamp(b[1:]); ok && len(rest) > 0 && rest[0] == ']' {
			r.stamp, r.msg = st, skipBlanks(rest[1:])
			return true
		}
		return false
	}
	if len(b) < 26 || b[10] != 'T' || b[19] != ',' {
		return false
	}
	st, rest, ok := isoStamp(b)
	if !ok || len(rest) == 0 || rest[0] != ' ' {
		return false
	}
	r.stamp, r.msg = st, rest[1:]
	return true
}

var kernelIdent = []byte("kernel")

// ctimeStamp reads "Wed Dec  2 05:02:40 2026", a local time without a zone.
func ctimeStamp(b []byte) (st event.Stamp, rest []byte, ok bool) {
	if len(b) < 24 || b[3] != ' ' || b[7] != ' ' || b[10] != ' ' || b[19] != ' ' {
		return st, b, false
	}
	w := wall{month: monthOf(b[4], b[5], b[6]), day: twoPadded(b[8:])}
	_, precision, ok := clockTime(b[11:19], &w)
	hi, lo := two(b[20:]), two(b[22:])
	year := hi*100 + lo
	if !ok || !w.valid() || hi < 0 || lo < 0 || year < firstYear || year > lastYear {
		return st, b, false
	}
	return event.Stamp{At: w.in(year), Precision: precision, Missing: event.MissingZone}, b[24:], true
}
