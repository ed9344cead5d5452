package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// klog >= 2.60 prints a value with line breaks as a block:
//
//	… output=<
//		first line
//		second line
//	 >
//
// journald makes one entry of each line when the kubelet writes to standard
// output, so a block must be put together again from records of one process.
// Newest-first exports have the lines in the opposite order. Free text up to
// kubelet 1.20 goes on over raw lines without any mark.

// maxBlock bounds what is kept of one block, maxBlockLines how long its end is
// waited for, maxOpen the blocks open at once (one a process).
const (
	maxBlock      = 64 << 10
	maxBlockLines = 4096
	maxOpen       = 256
)

// openBlock is a record whose last value has begun and not ended.
type openBlock struct {
	head  record // owns its slices
	raw   bool   // free text: everything up to the next klog header belongs to it
	skip  bool   // a line of no interest: only its end matters
	lines int
}

// tailBlock is a block met from its end, in a newest-first export.
type tailBlock struct {
	pid   int32
	lines [][]byte // last line first
	size  int
}

// own makes the record independent of the read buffer.
func (r *record) own() record {
	o := *r
	o.host, o.ident, o.msg, o.boot = bytes.Clone(r.host), bytes.Clone(r.ident), bytes.Clone(r.msg), nil
	return o
}

// openBlock begins a block, or completes it when its lines came before. It
// returns false when the record is to be read as it stands.
func (s *session) openBlock(h *hostState, r *record, wanted bool) bool {
	for i, t := range h.tail {
		if t.pid != r.pid {
			continue
		}
		h.tail = append(h.tail[:i], h.tail[i+1:]...)
		if !wanted {
			return true
		}
		whole := r.own()
		for n := len(t.lines) - 1; n >= 0; n-- {
			whole.msg = append(append(whole.msg, '\n'), t.lines[n]...)
		}
		s.dispatch(h, &whole)
		return true
	}
	if s.closing || s.openCount >= maxOpen {
		return false
	}
	s.openCount++
	o := openBlock{skip: !wanted}
	if wanted {
		o.head = r.own()
	} else {
		o.head.pid = r.pid
	}
	h.open = append(h.open, o)
	return true
}

// openRaw begins free text that may go on over the following lines. It returns
// false when the record is being read for good.
func (s *session) openRaw(h *hostState, r *record) bool {
	if s.closing || s.openCount >= maxOpen {
		return false
	}
	s.openCount++
	h.open = append(h.open, openBlock{head: r.own(), raw: true})
	return true
}

// continues gives a record to the block it belongs to. It returns false when
// the record stands for itself.
func (s *session) continues(h *hostState, r *record) bool {
	for i := range h.open {
		if o := &h.open[i]; o.head.pid == r.pid {
			return s.continueOpen(h, i, r)
		}
	}
	for i := range h.tail {
		t := &h.tail[i]
		if t.pid != r.pid {
			continue
		}
		if _, ok := blockLine(r.msg); ok && len(t.lines) < maxBlockLines && t.size < maxBlock {
			t.lines = append(t.lines, bytes.Clone(r.msg))
			t.size += len(r.msg)
			return true
		}
		var k klogLine
		if !bytes.HasSuffix(r.msg, []byte("=<")) || !parseKlog(r.msg, &k) {
			h.tail = append(h.tail[:i], h.tail[i+1:]...)
		}
		return false
	}
	return false
}

func (s *session) continueOpen(h *hostState, i int, r *record) bool {
	o := &h.open[i]
	var k klogLine
	if parseKlog(r.msg, &k) || o.lines >= maxBlockLines || o.raw && foreignLine(r) {
		s.closeBlock(h, i)
		return false
	}
	o.lines++
	if o.raw {
		o.add(r.msg)
		return true
	}
	if _, ok := blockEnd(r.msg); ok {
		o.add(r.msg)
		s.closeBlock(h, i)
		return true
	}
	if _, ok := blockLine(r.msg); ok {
		o.add(r.msg)
	}
	// Anything else is the rest of a line that journald split at its maximum
	// length: far beyond what is kept.
	return true
}

// foreignLine tells lines of another program in a stream without process ids.
func foreignLine(r *record) bool {
	if r.pid != 0 {
		return false
	}
	_, logrus := after(r.msg, "time=")
	_, _, iso := isoStamp(r.msg)
	return logrus || iso
}

func (o *openBlock) add(line []byte) {
	if !o.skip && len(o.head.msg)+len(line) < maxBlock {
		o.head.msg = append(append(o.head.msg, '\n'), line...)
	}
}

// closeBlock reads the record with what has come of its block.
func (s *session) closeBlock(h *hostState, i int) {
	o := h.open[i]
	h.open = append(h.open[:i], h.open[i+1:]...)
	s.openCount--
	if o.skip {
		return
	}
	before := s.closing
	s.closing = true
	s.emitted = false
	s.dispatch(h, &o.head)
	if s.emitted {
		s.kept++
	}
	s.emitted = false
	s.closing = before
}

// closeOpen ends every block at the end of the stream, hosts in order of name.
func (s *session) closeOpen() {
	for _, h := range s.hostsInOrder() {
		for len(h.open) > 0 {
			s.closeBlock(h, 0)
		}
		h.tail = nil
		s.flushDuplicates(h, event.Stamp{})
	}
}

var _ = registerDialect(dialect{name: "block-end", starts: " ", read: readBlockEnd})

// readBlockEnd takes a closing " >" that no open block waits for: in a
// newest-first export the block's lines and its head are still to come.
func readBlockEnd(s *session, h *hostState, r *record) bool {
	if _, ok := blockEnd(r.msg); !ok {
		return false
	}
	if len(h.tail) < 16 {
		h.tail = append(h.tail, tailBlock{pid: r.pid, lines: [][]byte{bytes.Clone(r.msg)}})
	}
	return true
}
