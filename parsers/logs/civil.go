package logs

import (
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// wall is a wall-clock reading without a year or a zone.
type wall struct {
	month, day, hour, min, sec int
	nanos                      int
}

// valid reports whether the reading exists in a leap year. Second 60 is a leap
// second.
func (w wall) valid() bool {
	return w.month >= 1 && w.month <= 12 && w.day >= 1 && w.day <= daysIn[w.month] &&
		w.hour >= 0 && w.hour < 24 && w.min >= 0 && w.min < 60 && w.sec >= 0 && w.sec <= 60
}

// daysIn is the length of each month, daysBefore the days of a common year
// before it.
var (
	daysIn     = [13]int{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	daysBefore = [13]int{0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334}
)

// in places the reading in a year, as UTC.
func (w wall) in(year int) event.Nanos {
	y := year - 1
	days := y*365 + y/4 - y/100 + y/400 + daysBefore[w.month] + w.day - 1
	if w.month > 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		days++
	}
	const epoch = 719162 // days from 0001-01-01 to 1970-01-01
	secs := int64(days-epoch)*86400 + int64(w.hour*3600+w.min*60+w.sec)
	return event.Nanos(secs*int64(time.Second) + int64(w.nanos))
}

// inPlaceholder is the stamp of a reading that lacks year and zone.
func (w wall) inPlaceholder(precision time.Duration) event.Stamp {
	return event.Stamp{At: w.in(event.PlaceholderYear), Precision: precision,
		Missing: event.MissingYear | event.MissingZone}
}

// clockTime reads "hh:mm:ss" and an optional fraction behind '.' or ',', and
// returns the precision of the last digit.
func clockTime(b []byte, w *wall) (rest []byte, precision time.Duration, ok bool) {
	if len(b) < 8 || b[2] != ':' || b[5] != ':' {
		return b, 0, false
	}
	w.hour, w.min, w.sec = two(b), two(b[3:]), two(b[6:])
	if w.hour < 0 || w.min < 0 || w.sec < 0 {
		return b, 0, false
	}
	rest, w.nanos, precision, ok = fraction(b[8:])
	return rest, precision, ok
}

// fraction reads the fraction of a second behind '.' or ','; there may be none.
func fraction(b []byte) (rest []byte, nanos int, precision time.Duration, ok bool) {
	if len(b) < 2 || (b[0] != '.' && b[0] != ',') || !isDigit(b[1]) {
		return b, 0, time.Second, true
	}
	b = b[1:]
	i, unit := 0, int(time.Second)
	for i < len(b) && isDigit(b[i]) {
		if unit > 1 {
			unit /= 10
			nanos += int(b[i]-'0') * unit
		}
		i++
	}
	return b[i:], nanos, time.Duration(unit), true
}

// A stamp outside these years does not fit into nanoseconds since the epoch, or
// is from before there were journals.
const firstYear, lastYear = 1970, 2261

// isoStamp reads "2026-12-02T05:02:40.123456+01:00" in all the spellings in use:
// a blank for the T, no fraction, offset with or without a colon, "Z", or no
// offset at all (MissingZone).
func isoStamp(b []byte) (st event.Stamp, rest []byte, ok bool) {
	if len(b) < 19 || b[4] != '-' || b[7] != '-' || (b[10] != 'T' && b[10] != ' ' && b[10] != 't') {
		return st, b, false
	}
	hi, lo := two(b), two(b[2:])
	if hi < 0 || lo < 0 {
		return st, b, false
	}
	w := wall{month: two(b[5:]), day: two(b[8:])}
	rest, prec, ok := clockTime(b[11:], &w)
	year := hi*100 + lo
	if !ok || !w.valid() || year < firstYear || year > lastYear {
		return st, b, false
	}
	st = event.Stamp{At: w.in(year), Precision: prec}
	off, after, hasZone := isoOffset(rest)
	if !hasZone {
		st.Missing = event.MissingZone
		return st, rest, true
	}
	st.At = st.At.Add(-off)
	return st, after, true
}

// isoOffset reads "Z", "+hh", "+hhmm" or "+hh:mm".
func isoOffset(b []byte) (off time.Duration, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, b, false
	}
	if b[0] == 'Z' || b[0] == 'z' {
		return 0, b[1:], true
	}
	if (b[0] != '+' && b[0] != '-') || len(b) < 3 || two(b[1:]) < 0 {
		return 0, b, false
	}
	off, rest = time.Duration(two(b[1:]))*time.Hour, b[3:]
	mm := rest
	if len(mm) > 0 && mm[0] == ':' {
		mm = mm[1:]
	}
	if len(mm) >= 2 && two(mm) >= 0 {
		off += time.Duration(two(mm)) * time.Minute
		rest = mm[2:]
	}
	if b[0] == '-' {
		off = -off
	}
	return off, rest, true
}

// nearest places the reading in the year that brings it nearest to an instant.
func (w wall) nearest(to event.Nanos) event.Nanos {
	year := to.Time().Year()
	best := w.in(year)
	for _, y := range [2]int{year - 1, year + 1} {
		if t := w.in(y); t.Sub(to).Abs() < best.Sub(to).Abs() {
			best = t
		}
	}
	return best
}

// zoneStep is the grid on which zone offsets lie, maxZone the largest of them.
const (
	zoneStep = 15 * time.Minute
	maxZone  = 14 * time.Hour
)

// resolveAgainst completes a reading without year and zone by a complete stamp
// of the same record: the year and the offset (a multiple of 15 minutes) that
// bring it nearest to that stamp. The offset found before (hint) is kept as
// long as it explains the record within 10 minutes, so that a record written
// late does not look like another zone. It fails when no offset on Earth
// explains the difference: then one of the two was rewritten.
func (w wall) resolveAgainst(outer event.Nanos, hint time.Duration, hinted bool) (at event.Nanos, offset time.Duration, ok bool) {
	best := w.nearest(outer)
	if hinted && best.Add(-hint).Sub(outer).Abs() < 10*time.Minute {
		return best.Add(-hint), hint, true
	}
	offset = best.Sub(outer).Round(zoneStep)
	if offset.Abs() > maxZone {
		return 0, 0, false
	}
	return best.Add(-offset), offset, true
}

// monthOf recognises the three-letter English month names, whatever their case;
// 0 for anything else. Localised names are in months.go.
func monthOf(a, b, c byte) int {
	switch uint32(a|0x20)<<16 | uint32(b|0x20)<<8 | uint32(c|0x20) {
	case 'j'<<16 | 'a'<<8 | 'n':
		return 1
	case 'f'<<16 | 'e'<<8 | 'b':
		return 2
	case 'm'<<16 | 'a'<<8 | 'r':
		return 3
	case 'a'<<16 | 'p'<<8 | 'r':
		return 4
	case 'm'<<16 | 'a'<<8 | 'y':
		return 5
	case 'j'<<16 | 'u'<<8 | 'n':
		return 6
	case 'j'<<16 | 'u'<<8 | 'l':
		return 7
	case 'a'<<16 | 'u'<<8 | 'g':
		return 8
	case 's'<<16 | 'e'<<8 | 'p':
		return 9
	case 'o'<<16 | 'c'<<8 | 't':
		return 10
	case 'n'<<16 | 'o'<<8 | 'v':
		return 11
	case 'd'<<16 | 'e'<<8 | 'c':
		return 12
	}
	return 0
}
