package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// isBoundary recognises the lines that journalctl prints between entries.
func isBoundary(line []byte) bool {
	return len(line) >= 2 && line[0] == '-' && line[1] == '-' && (len(line) == 2 || line[2] == ' ')
}

// boundary reads journalctl's own lines: where the log begins, reboots, no
// entries. It returns false for anything else.
func (s *session) boundary(line []byte, ref event.Ref) bool {
	if !isBoundary(line) {
		return false
	}
	body := bytes.TrimSuffix(bytes.TrimPrefix(line, []byte("-- ")), []byte(" --"))
	switch {
	case bytes.HasPrefix(body, []byte("Logs begin at ")), bytes.HasPrefix(body, []byte("Journal begins at ")):
		_, rest, _ := bytes.Cut(body, []byte(" at "))
		st, _, _ := fullStamp(rest)
		s.notice(ref, st, "log-begins", body)
		if _, rest, ok := bytes.Cut(rest, []byte(" at ")); ok {
			st, _, _ := fullStamp(rest)
			s.notice(ref, st, "log-ends", body)
		}
	case string(body) == "No entries":
		s.notice(ref, event.Stamp{}, "no-entries", body)
	case string(body) == "Reboot", bytes.HasPrefix(body, []byte("Boot ")):
		s.bootSeen, s.bootLine, s.pendingBoot = true, ref, clip(line, maxMessage)
		s.bootLine.Stream = s.stream
	}
	return true
}

// notice emits a fact about the stream itself.
func (s *session) notice(ref event.Ref, at event.Stamp, code string, text []byte) {
	ref.Stream = s.stream
	s.in.Sink.Emit(event.Event{Time: at, Node: s.in.Info.Node, Ref: ref,
		Payload: &event.Notice{Code: code, Message: clip(text, maxMessage)}})
}

// isFiller recognises what pagers, grep and journalctl's hints leave in a paste.
func isFiller(line []byte) bool {
	for _, p := range [...]string{"~", "lines ", "(END)", "Hint: ", "      Users in groups", "      Pass -q", "No journal files were found", "```", "{noformat}"} {
		if bytes.HasPrefix(line, []byte(p)) {
			return true
		}
	}
	return false
}

var _ = registerDialect(dialect{name: "blob", starts: "[", order: 9, read: readBlob})

// readBlob recognises "[81B blob data]", which journalctl's text forms print in
// place of a message with unprintable bytes. What it said is lost.
func readBlob(s *session, _ *hostState, r *record) bool {
	if !bytes.HasSuffix(r.msg, []byte("B blob data]")) {
		return false
	}
	s.problem(r.ref, "blob-data", "journalctl printed \"blob data\" in place of a message with unprintable bytes; export or JSON keep it")
	return true
}
