package logs

import (
	"bytes"
	"html"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// klogLine is a klog header taken apart: "Lmmdd hh:mm:ss.uuuuuu pid file:line] ".
// The header has neither year nor zone; the wall clock is that of the process.
type klogLine struct {
	when wall
	pid  int32
	// text is the constant message of a structured line, without its quotes; nil
	// for free text. rest is what follows it: the keys, or all of the free text.
	text, rest []byte
	// whole is free text from its beginning.
	whole []byte
	// stamp is set instead of when where the writer had a complete time (klog JSON),
	// pairs instead of rest where the keys were not text.
	stamp event.Stamp
	pairs []pair
}

// fields returns the keys of a structured line, valid until the next call.
func (k *klogLine) fields(s *session) []pair {
	if k.pairs != nil {
		return k.pairs
	}
	return s.fields(k.rest)
}

// parseKlog reads a klog header. It rejects anything else by its first bytes.
func parseKlog(b []byte, k *klogLine) bool {
	if len(b) < 30 || b[5] != ' ' || b[8] != ':' || b[14] != '.' {
		return false
	}
	switch b[0] {
	case 'I', 'W', 'E', 'F':
	default:
		return false
	}
	k.when.month, k.when.day = two(b[1:]), two(b[3:])
	rest, _, ok := clockTime(b[6:], &k.when)
	if !ok || !k.when.valid() {
		return false
	}
	pid, rest, ok := leadingUint(skipBlanks(rest))
	if !ok || len(rest) == 0 || rest[0] != ' ' {
		return false
	}
	k.pid = int32(min(pid, 1<<31-1))
	// "file.go:123] ": the file name is not used, it changes between versions.
	i := bytes.IndexByte(rest, ']')
	if i < 2 || i > 200 {
		return false
	}
	return k.splitText(rest[i+1:])
}

// splitText separates the constant text of a structured message from its keys.
func (k *klogLine) splitText(b []byte) bool {
	if len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	if len(b) > 5 && b[0] == '&' && string(b[:6]) == "&quot;" { // copied out of a web page
		b = []byte(html.UnescapeString(string(b)))
	}
	k.text, k.rest, k.stamp, k.pairs = nil, b, event.Stamp{}, nil
	if len(b) > 1 && b[0] == '"' {
		if i := bytes.IndexByte(b[1:], '"'); i > 0 {
			k.text, k.rest = b[1:1+i], b[2+i:]
		}
	}
	return true
}

// time completes the klog reading of a record: by the record's own outer stamp
// where that is complete, else it is left to package clock.
func (k *klogLine) time(s *session, h *hostState, r *record) event.Stamp {
	if !k.stamp.IsZero() {
		return k.stamp
	}
	if !r.stamp.IsZero() && r.stamp.Missing == event.MissingZone {
		return event.Stamp{At: k.when.nearest(r.stamp.At), Precision: time.Microsecond, Missing: event.MissingZone}
	}
	if r.stamp.IsZero() || r.stamp.Missing != 0 {
		return k.when.inPlaceholder(time.Microsecond)
	}
	at, zone, ok := k.when.resolveAgainst(r.stamp.At, h.zone, h.zoneKnown)
	if !ok {
		s.problem(r.ref, "stamps-disagree", "the klog stamp and the stamp before it are more than a zone apart; the outer one is used")
		return r.stamp
	}
	h.zone, h.zoneKnown = zone, true
	return event.Known(at, time.Microsecond)
}

// valueKind says how a value of a structured line is written.
type valueKind uint8

const (
	bare   valueKind = iota // podUID=1af6…, event=&{…}, event={"ID":…}, IPs=[…]
	quoted                  // "…" with Go escapes
	block                   // <\n\tline\n\tline\n > (klog >= 2.60)
	plain                   // already unescaped (klog JSON)
)

// pair is one key=value of a structured line. cut is set when the value is not
// closed: the line was cut by a pager or a terminal.
type pair struct {
	key, val []byte
	kind     valueKind
	cut      bool
}

// fields splits ` key=value key="va\"lue" key={...} key=<...>`. The slice is
// reused by the next call.
func (s *session) fields(b []byte) []pair {
	ps := s.pairs[:0]
	for len(ps) < maxPairs {
		b = bytes.TrimLeft(b, " \t\n")
		eq := bytes.IndexByte(b, '=')
		if eq <= 0 {
			break
		}
		p := pair{key: b[:eq]}
		if i := bytes.LastIndexAny(p.key, " \n"); i >= 0 {
			p.key = p.key[i+1:]
		}
		b = p.value(b[eq+1:])
		ps = append(ps, p)
	}
	s.pairs = ps
	return ps
}

// maxPairs bounds the keys of one line; real lines have at most 15.
const maxPairs = 64

// value takes the value off the front of b and returns what follows it.
func (p *pair) value(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	switch b[0] {
	case '"':
		end := closingQuote(b)
		if end < 0 {
			p.val, p.kind, p.cut = b[1:], quoted, true
			return nil
		}
		p.val, p.kind = b[1:end], quoted
		return b[end+1:]
	case '<':
		if len(b) > 1 && b[1] == '\n' {
			return p.blockValue(b[2:])
		}
		if len(b) == 1 {
			p.kind, p.cut = block, true
			return nil
		}
	case '{', '[', '&':
		end := closingBracket(b)
		if end < 0 {
			p.val, p.cut = b, true
			return nil
		}
		p.val = b[:end]
		return b[end:]
	}
	if i := bytes.IndexAny(b, " \n"); i >= 0 {
		p.val = b[:i]
		return b[i:]
	}
	p.val = b
	return nil
}

// blockValue reads a multi-line value up to the line " >".
func (p *pair) blockValue(b []byte) []byte {
	p.kind = block
	for at := 0; ; {
		line := b[at:]
		end := bytes.IndexByte(line, '\n')
		if end >= 0 {
			line = line[:end]
		}
		if rest, ok := blockEnd(line); ok {
			p.val = bytes.TrimSuffix(b[:at], []byte("\n"))
			return b[at+len(line)-len(rest):]
		}
		if end < 0 {
			p.val, p.cut = b, true
			return nil
		}
		at += end + 1
	}
}

// blockEnd recognises the line that closes a multi-line value: " >", or " > key=".
func blockEnd(line []byte) (rest []byte, ok bool) {
	if rest, ok = after(line, " >"); ok && (len(rest) == 0 || rest[0] == ' ') {
		return rest, true
	}
	return nil, false
}

// blockLine recognises a line inside a multi-line value and takes its indent
// off: a tab, which journalctl's short forms print as eight blanks.
func blockLine(line []byte) (content []byte, ok bool) {
	if rest, ok := after(line, "\t"); ok {
		return rest, true
	}
	return after(line, "        ")
}

// closingQuote finds the quote that ends the string b begins with, -1 if none.
func closingQuote(b []byte) int {
	for i := 1; i < len(b); {
		j := bytes.IndexByte(b[i:], '"')
		if j < 0 {
			return -1
		}
		i += j
		back := 0
		for i-1-back > 0 && b[i-1-back] == '\\' {
			back++
		}
		if back%2 == 0 {
			return i
		}
		i++
	}
	return -1
}

// closingBracket finds the end of a bracketed value (Go or JSON syntax) behind
// its last bracket, -1 if it is not closed.
func closingBracket(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			j := closingQuote(b[i:])
			if j < 0 {
				return -1
			}
			i += j
		}
	}
	return -1
}

// get returns the pair of a key, nil when the line lacks it.
func get(ps []pair, key string) *pair {
	for i := range ps {
		if string(ps[i].key) == key {
			return &ps[i]
		}
	}
	return nil
}

// text returns the unescaped value of a key. The slice is valid until the next
// call with an escaped value.
func (s *session) text(ps []pair, key string) []byte {
	if p := get(ps, key); p != nil {
		return s.unescape(p)
	}
	return nil
}

// name returns the value of a key as an interned string, "" when it is missing
// or was cut.
func (s *session) name(ps []pair, key string) string {
	p := get(ps, key)
	if p == nil || p.cut {
		return ""
	}
	return s.intern(s.unescape(p))
}

// unescape returns the plain value of a pair.
func (s *session) unescape(p *pair) []byte {
	switch p.kind {
	case quoted:
		if bytes.IndexByte(p.val, '\\') < 0 {
			return p.val
		}
		s.scratch = appendUnquoted(s.scratch[:0], p.val)
		return s.scratch
	case block:
		s.scratch = appendBlock(s.scratch[:0], p.val)
		return s.scratch
	}
	return p.val
}

// appendBlock joins the lines of a multi-line value without their indent. Tabs
// inside become eight blanks, as in journalctl's short forms: the same entry
// must read the same in every form.
func appendBlock(dst, b []byte) []byte {
	for len(b) > 0 {
		line, rest, more := cutByte(b, '\n')
		content, _ := blockLine(line)
		for _, c := range content {
			if c == '\t' {
				dst = append(dst, "        "...)
			} else {
				dst = append(dst, c)
			}
		}
		if more {
			dst = append(dst, '\n')
		}
		b = rest
	}
	return dst
}
