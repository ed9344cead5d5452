package logs

import (
	"bytes"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// stampForm is the way a text stamps its packets.
type stampForm uint8

const (
	stampNone  stampForm = iota // tcpdump -t
	stampClock                  // 17:33:57.727497
	stampDate                   // -tttt: 2026-12-02 05:46:52.089853, local time
	stampEpoch                  // -tt: 1764654412.089853
	stampSince                  // tshark: 12.089853 since the first packet
	stampMicro                  // -ttt of version 3: 000023, microseconds since the packet before
)

const dayNanos = event.Nanos(24 * time.Hour)

// timeOrigin is where times of an unknown start begin to count: a tracker takes
// zero for "no time stamp".
const timeOrigin = event.Nanos(time.Second)

// packetStart is the first line of a packet, taken apart.
type packetStart struct {
	form      stampForm
	at        event.Nanos // as printed
	precision time.Duration
	zone      bool // the stamp names its zone
	blank     bool // a blank stands before the stamp: -ttt and -ttttt of tcpdump
	row       bool // a line of tshark or Wireshark
	rest      []byte
}

// readStamp takes the stamp that b begins with.
func readStamp(b []byte, s *packetStart) bool {
	if len(b) < 6 || !isDigit(b[0]) {
		return false
	}
	if len(b) >= 19 && b[4] == b[7] && (b[4] == '-' || b[4] == '/') && (b[10] == ' ' || b[10] == 'T') {
		if day, ok := dateNanos(b); ok {
			if !readClock(b[11:], s) {
				return false
			}
			s.form, s.at = stampDate, day+s.at
			if z, ok := after(s.rest, "Z "); ok {
				s.zone, s.rest = true, z
			} else if z, ok := after(s.rest, " UTC "); ok {
				s.zone, s.rest = true, z
			}
			s.rest = skipBlanks(s.rest)
			return true
		}
	}
	if b[1] == ':' || b[2] == ':' {
		s.form = stampClock
		if !readClock(b, s) || len(s.rest) > 0 && s.rest[0] != ' ' && s.rest[0] != '\t' {
			return false
		}
		s.rest = skipBlanks(s.rest)
		return true
	}
	whole, rest, _ := leadingUint(b)
	if len(rest) == 0 || len(b)-len(rest) > 11 {
		return false
	}
	if rest[0] == ' ' && len(b)-len(rest) == 6 {
		s.form, s.at, s.precision, s.rest = stampMicro, event.Nanos(whole)*1000, time.Microsecond, rest[1:]
		return true
	}
	frac, precision, rest, ok := readFraction(rest)
	if !ok || len(rest) == 0 || rest[0] != ' ' && rest[0] != '\t' {
		return false
	}
	s.form = stampSince
	if whole >= 1e8 {
		s.form = stampEpoch
	}
	s.at, s.precision, s.rest = event.Nanos(whole)*1e9+frac, precision, skipBlanks(rest)
	return true
}

// readClock takes H:MM:SS with a fraction, which tells printed packets from
// most logs. Hours may exceed 23 in what counts from the first packet.
func readClock(b []byte, s *packetStart) bool {
	h, rest, ok := leadingUint(b)
	if !ok || h > 99999 || len(rest) < 7 || rest[0] != ':' || rest[3] != ':' {
		return false
	}
	m, sec := two(rest[1:]), two(rest[4:])
	if m < 0 || m > 59 || sec < 0 || sec > 60 {
		return false
	}
	frac, precision, rest, ok := readFraction(rest[6:])
	s.at, s.precision, s.rest = event.Nanos(h)*3600e9+event.Nanos(m)*60e9+event.Nanos(sec)*1e9+frac, precision, rest
	return ok
}

// readFraction takes ".727497" of any length. A fraction that the capture has
// wrong is printed with a remark, which is dropped.
func readFraction(b []byte) (n event.Nanos, precision time.Duration, rest []byte, ok bool) {
	if len(b) < 2 || b[0] != '.' && b[0] != ',' || !isDigit(b[1]) {
		return 0, 0, b, false
	}
	precision = time.Second
	i := 1
	for ; i < len(b) && isDigit(b[i]); i++ {
		if precision > 1 {
			n = n*10 + event.Nanos(b[i]-'0')
			precision /= 10
		}
	}
	rest = b[i:]
	for _, remark := range []string{" (invalid ns)", " (invalid us)"} {
		if r, found := after(rest, remark); found {
			rest = r
		}
	}
	return n * event.Nanos(precision), precision, rest, true
}

// dateNanos reads YYYY-MM-DD.
func dateNanos(b []byte) (event.Nanos, bool) {
	century, year := two(b), two(b[2:])
	w := wall{month: two(b[5:]), day: two(b[8:])}
	if century < 0 || year < 0 || !w.valid() {
		return 0, false
	}
	return w.in(century*100 + year), true
}

// textClock turns printed stamps into times.
type textClock struct {
	form     stampForm
	delta    bool // each stamp counts from the packet before
	since    bool // stamps count from the first packet
	template event.Stamp
	started  bool
	last     event.Nanos // stamp of the packet before, as printed
	base     event.Nanos // added to what is printed: midnights passed
	now      event.Nanos
}

// read returns the time of a packet, and whether the precision has changed.
func (c *textClock) read(s packetStart) (event.Nanos, bool) {
	if c.form == stampNone {
		return 0, false
	}
	changed := s.precision != c.template.Precision
	c.template.Precision = s.precision
	switch {
	case c.delta:
		c.now += s.at
		if !c.started {
			c.now = timeOrigin
		}
	case c.since:
		c.now = s.at + timeOrigin
	case c.form == stampClock:
		// Packets may be some moments out of order; a stamp half a day back is the
		// next day's.
		if c.started && s.at < c.last-dayNanos/2 {
			c.base += dayNanos
		} else if c.started && s.at > c.last+dayNanos/2 && c.base > 0 {
			c.now = c.base - dayNanos + s.at // a straggler from before midnight
			return c.now, changed
		}
		c.now = c.base + s.at
	default:
		c.now = s.at
	}
	c.started, c.last = true, s.at
	return c.now, changed
}

// packetSurvey is what the first lines of a text show about its form.
type packetSurvey struct {
	form     stampForm
	numbered bool
	rows     int // lines of tshark or Wireshark
	packets  int // lines that are printed packets
	others   int // lines at the left edge that are nothing known
	banners  int
	blank    bool // a blank stands before the stamps
	falls    bool // some stamp is smaller than the one before
	zero     bool // the first stamp is zero
	zone     bool
}

// surveyPackets looks at the first lines: the form is that of the first packet
// met, and whether the stamps ever fall tells differences from running time.
func surveyPackets(head []byte) packetSurvey {
	var v packetSurvey
	var last event.Nanos
	for n := 0; len(head) > 0 && n < 600; n++ {
		line, rest, whole := cutByte(head, '\n')
		head = rest
		if n == 0 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		line = bytes.TrimRight(line, " \t\r")
		if len(line) == 0 || !whole && n > 0 && len(line) > maxPacketLine/2 {
			continue
		}
		s, numbered, ok := splitPacket(line)
		switch {
		case ok && (v.packets == 0 || s.form == v.form):
			if v.packets == 0 {
				v.form, v.numbered, v.blank, v.zero, v.zone = s.form, numbered, s.blank, s.at == 0, s.zone
			} else if s.at < last {
				v.falls = true
			}
			last = s.at
			v.packets++
			if s.row {
				v.rows++
			}
		case isPacketBanner(line):
			v.banners++
		case line[0] != ' ' && line[0] != '\t':
			v.others++
		}
	}
	return v
}

// score is how sure the survey is.
func (v packetSurvey) score() int {
	switch {
	case v.packets == 0 && v.banners == 0:
		return 0
	case v.packets == 0:
		return 60
	case v.banners > 0, v.packets >= 3 && v.packets*4 >= v.others:
		return 95
	case v.packets*4 >= v.others:
		return 88
	case v.packets >= 3:
		return 70
	}
	return 30
}

// clock is the clock for stamps of the surveyed form.
func (v packetSurvey) clock() textClock {
	c := textClock{form: v.form}
	c.template.Precision = time.Microsecond
	switch v.form {
	case stampDate:
		if !v.zone {
			c.template.Missing = event.MissingZone
		}
	case stampEpoch:
	case stampClock:
		if v.blank || v.zero {
			c.delta, c.since = v.falls, !v.falls
			c.template.Missing = event.MissingEpoch
		} else {
			c.template.Missing = event.MissingDate | event.MissingZone
		}
	case stampMicro:
		c.delta, c.template.Missing = true, event.MissingEpoch
	case stampSince:
		c.delta, c.since = v.falls && v.rows == 0, !v.falls || v.rows > 0
		c.template.Missing = event.MissingEpoch
	default:
		c.template = event.Stamp{Missing: event.MissingEpoch}
	}
	return c
}

// split recognises the first line of a packet in a text of the surveyed form.
func (v packetSurvey) split(line []byte) (packetStart, bool) {
	s, _, ok := splitPacket(line)
	if ok {
		return s, s.form == v.form && s.row == (v.rows > 0)
	}
	// A protocol that is none of ours: the stamp tells that it is a packet.
	if v.form == stampNone || v.rows > 0 {
		return s, false
	}
	body := line
	if v.numbered {
		if body, ok = packetNumber(line); !ok {
			return s, false
		}
	} else if line[0] == ' ' && !v.blank {
		return s, false
	}
	return s, readStamp(skipBlanks(body), &s) && s.form == v.form
}

// packetNumber takes the number that tcpdump --number and tshark print first.
func packetNumber(line []byte) ([]byte, bool) {
	_, rest, ok := leadingUint(skipBlanks(line))
	if !ok || len(rest) < 2 || rest[0] != ' ' && rest[0] != '\t' {
		return line, false
	}
	return skipBlanks(rest), true
}

// splitPacket recognises the first line of a printed packet of any form.
func splitPacket(line []byte) (s packetStart, numbered, ok bool) {
	for _, numbered := range []bool{false, true} {
		body := line
		if numbered {
			if body, ok = packetNumber(line); !ok {
				break
			}
		}
		s = packetStart{blank: !numbered && body[0] == ' '}
		trimmed := skipBlanks(body)
		if readStamp(trimmed, &s) {
			if startsPacket(s.rest) {
				return s, numbered, true
			}
			if numbered && startsRow(s.rest) {
				s.row = true
				return s, true, true
			}
			continue
		}
		if (numbered || line[0] != ' ' && line[0] != '\t') && startsPacket(trimmed) {
			s = packetStart{rest: trimmed}
			return s, numbered, true
		}
	}
	return s, false, false
}
