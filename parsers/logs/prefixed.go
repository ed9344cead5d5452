package logs

import (
	"bytes"
	"context"
	"slices"
	"unicode/utf8"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// prefixForm is a text form in which every record is one line with a prefix:
// journalctl's short family, syslog files, CRI logs, bare klog. The engine here
// reads them all; a form only knows how to take its prefix off.
type prefixForm struct {
	name string
	// split takes the prefix off a line into r and leaves the message in r.msg. It
	// returns false when the line does not have this prefix.
	split func(line []byte, r *record) bool
	// loose is set where split takes almost any line: then it must not be tried on
	// lines of other forms.
	loose bool
	// container is set for the forms that logs of containers have.
	container bool
}

// prefixForms are all forms, for lines that are not in the form of their file.
var prefixForms []prefixForm

// registerPrefixed registers a Format made of a prefixForm.
func registerPrefixed(p prefixForm, doc string, detect func(head []byte, path string) int) struct{} {
	prefixForms = append(prefixForms, p)
	return register(Format{Name: p.name, Doc: doc, Detect: detect,
		Parse: func(ctx context.Context, in *Input) error { return readPrefixed(ctx, in, p) }})
}

// share counts how many of the non-blank lines of a head a form splits, in per
// cent, boundary lines left out. The last line may be torn and counts only if it
// fits.
func (p prefixForm) share(head []byte) (percent, lines int) {
	good, all := 0, 0
	for n := 0; len(head) > 0 && n < 400; n++ {
		line, rest, more := cutByte(head, '\n')
		head = rest
		line = peel(bytes.TrimSuffix(line, []byte("\r")))
		if len(line) == 0 || isBoundary(line) || line[0] == ' ' || line[0] == '\t' {
			continue
		}
		var r record
		switch {
		case p.split(line, &r), p.split(withoutGrep(line), &r), p.split(withoutNode(line), &r):
			good++
			all++
		case more:
			all++
		}
	}
	if all == 0 {
		return 0, 0
	}
	return good * 100 / all, good
}

// detectShare turns a share into a score: at least half of the lines must fit.
func detectShare(p prefixForm, base int) func([]byte, string) int {
	return func(head []byte, path string) int {
		percent, good := p.share(head)
		if good == 0 || percent < 50 {
			return 0
		}
		score := base * percent / 100
		if !p.container && containerOfPath(path) != nil {
			score = min(score, 25) // what looks like a prefix is the application's
		}
		return score
	}
}

// peel takes off what pastes put around a line: a byte order mark, colours, the
// bullets of old minikube versions, quote marks of mail.
func peel(line []byte) []byte {
	if len(line) == 0 {
		return line
	}
	switch line[0] {
	case 0xEF:
		line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
	case '*', '>':
		if len(line) > 1 && line[1] == ' ' {
			line = line[2:]
		} else if line[0] == '*' && len(line) == 1 {
			line = nil
		}
	}
	if bytes.IndexByte(line, 0x1B) >= 0 {
		line = withoutColours(line)
	}
	return line
}

// withoutColours removes ANSI escape sequences (ESC [ … letter).
func withoutColours(line []byte) []byte {
	out := make([]byte, 0, len(line))
	for i := 0; i < len(line); i++ {
		if line[i] != 0x1B {
			out = append(out, line[i])
			continue
		}
		if i+1 < len(line) && line[i+1] == '[' {
			i += 2
			for i < len(line) && (line[i] < 0x40 || line[i] > 0x7E) {
				i++
			}
		}
	}
	return out
}

// prefixedReader is the state of reading one prefixed stream.
type prefixedReader struct {
	s    *session
	l    *lineReader
	form prefixForm
	rec  record
	// second is what the short form remembers between lines.
	second secondCache
	// held owns the line of a record that waits for lines behind it.
	held []byte
	// early are padded lines met before their record: a newest-first export that
	// was turned round line by line.
	early [][]byte
	// wrapWidth is the length of the last line that was broken.
	wrapWidth int
}

func readPrefixed(ctx context.Context, in *Input, form prefixForm) error {
	p := &prefixedReader{s: newSession(in), l: newLineReader(ctx, in), form: form}
	line, ok := p.l.next()
	for ok {
		line, ok = p.step(peel(line))
	}
	if form.container && p.s.container == nil && in.Info.Records > 0 && p.s.kept == 0 {
		p.s.problem(event.Ref{Line: max(in.FirstLine, 1), Offset: in.FirstOffset}, "container-unknown",
			"neither path nor command says whose log this is: paste it below its kubectl logs command, or lay it down as namespaces/NAMESPACE/pods/POD/CONTAINER.log")
	}
	return p.s.finish(p.l, nil)
}

// step handles one line and whatever belongs to it, and returns the next.
func (p *prefixedReader) step(line []byte) ([]byte, bool) {
	p.rec = record{ref: event.Ref{Line: p.l.number, Offset: p.l.offset}, second: &p.second}
	if p.l.long {
		p.s.problem(p.rec.ref, "long-line", "a line longer than 1 MiB was cut")
	}
	if !p.split(line) {
		p.stray(line)
		return p.l.next()
	}
	if len(p.early) > 0 && bytes.HasSuffix(p.rec.msg, []byte("=<")) {
		p.joinEarly(line)
	} else {
		p.early = p.early[:0]
	}
	if p.l.following == ' ' {
		return p.padded(line)
	}
	p.s.canWait, p.s.waiting = true, false
	p.s.handle(&p.rec)
	p.s.canWait = false
	if p.s.waiting {
		p.hold(line)
		next, ok := p.l.next()
		return p.wrapped(next, ok)
	}
	return p.l.next()
}

// split tries the form of the file first, then the others.
func (p *prefixedReader) split(line []byte) bool {
	if p.form.split(line, &p.rec) {
		return true
	}
	if p.s.container != nil {
		// An application prints what it likes; nothing of it is a prefix.
		return splitCRI(line, &p.rec) || splitKubectl(line, &p.rec) || splitPlain(line, &p.rec)
	}
	if len(line) < 16 || isBoundary(line) {
		return false
	}
	for _, f := range prefixForms {
		ref := p.rec.ref
		if !f.loose && f.name != p.form.name && f.split(line, &p.rec) {
			return true
		}
		p.rec = record{ref: ref}
	}
	if rest := withoutGrep(line); len(rest) < len(line) {
		return p.form.split(rest, &p.rec)
	}
	if rest := withoutNode(line); len(rest) < len(line) {
		return p.form.split(rest, &p.rec)
	}
	return false
}

// withoutNode takes off the node's name that `oc adm node-logs` puts in front of
// every line when it asks several nodes (--role=master).
func withoutNode(line []byte) []byte {
	i := bytes.IndexByte(line[:min(len(line), 254)], ' ')
	if i <= 0 {
		return line
	}
	letter := false
	for _, c := range line[:i] {
		switch {
		case c >= 'a' && c <= 'z':
			letter = true
		case c >= '0' && c <= '9' || c == '-' || c == '.':
		default:
			return line
		}
	}
	if !letter {
		return line
	}
	return line[i+1:]
}

// withoutGrep takes off what grep -n and grep -H put in front of lines: a file
// name, a line number, or both, each with ':' (a match) or '-' (context).
func withoutGrep(line []byte) []byte {
	for range 2 {
		i := bytes.IndexAny(line[:min(len(line), 256)], ":- ")
		if i <= 0 || line[i] == ' ' || i+1 >= len(line) {
			break
		}
		_, number := allDigits(line[:i])
		if !number && bytes.IndexByte(line[:i], '.') < 0 && bytes.IndexByte(line[:i], '/') < 0 {
			break
		}
		line = line[i+1:]
	}
	return line
}

// padded collects the lines of a multi-line message: journalctl pads them with
// blanks to the column of the message.
func (p *prefixedReader) padded(line []byte) ([]byte, bool) {
	p.hold(line)
	width := utf8.RuneCount(p.held[:len(p.held)-len(p.rec.msg)])
	var pads [][]byte
	next, ok := p.l.next()
	for ok && isPad(next, width) && len(pads) < maxBlockLines {
		pads = append(pads, bytes.Clone(next))
		if p.l.following != ' ' {
			next, ok = p.l.next()
			break
		}
		next, ok = p.l.next()
	}
	// next is handled only after this record, whose slices lie in held.
	switch {
	case len(pads) == 0:
		p.s.canWait, p.s.waiting = true, false
		p.s.handle(&p.rec)
		p.s.canWait = false
		if p.s.waiting {
			return p.wrapped(next, ok)
		}
	case !bytes.HasSuffix(p.rec.msg, []byte("=<")) && bytes.HasPrefix(skipBlanks(pads[0]), []byte(">")):
		// A closing " >" that does not follow an opening "=<" belongs to the record
		// below it.
		p.s.handle(&p.rec)
		p.early = pads
	default:
		p.rec.msg = joinPads(p.rec.msg, pads, width)
		p.s.handle(&p.rec)
	}
	return peel(next), ok
}

// joinPads appends padded lines to a message, without their padding.
func joinPads(msg []byte, pads [][]byte, width int) []byte {
	msg = bytes.Clone(msg)
	for _, l := range pads {
		msg = append(append(msg, '\n'), l[min(width, len(l)-len(skipBlanks(l))):]...)
	}
	return msg
}

// isPad reports whether a line is indented as far as a message column would be.
// East Asian month names are wider than their characters count.
func isPad(line []byte, width int) bool {
	n := len(line) - len(bytes.TrimLeft(line, " "))
	return n >= 12 && n >= width-4
}

// joinEarly puts padded lines that came first behind their record, in order.
func (p *prefixedReader) joinEarly(line []byte) {
	p.hold(line)
	width := utf8.RuneCount(p.held[:len(p.held)-len(p.rec.msg)])
	slices.Reverse(p.early)
	p.rec.msg = joinPads(p.rec.msg, p.early, width)
	p.early = p.early[:0]
}

// hold copies the current line, so that the record outlives the reader's step.
func (p *prefixedReader) hold(line []byte) {
	p.held = append(p.held[:0], line...)
	ref := p.rec.ref
	p.rec = record{ref: ref}
	p.split(p.held)
}

// wrapped tries to complete the record in held, which ends inside a value, with
// the lines behind it: mail programs and tickets break long lines without a
// mark. Most break at a blank and drop it; lines broken at one and the same
// width were cut by a terminal, inside words too.
func (p *prefixedReader) wrapped(next []byte, ok bool) ([]byte, bool) {
	rec, width := p.rec.own(), len(p.held)
	rec.second = nil
	for n := 0; n < 32 && ok; n++ {
		part := peel(next)
		var probe record
		if len(part) == 0 || isBoundary(part) || p.form.split(part, &probe) {
			break
		}
		if width != p.wrapWidth {
			rec.msg = append(rec.msg, ' ')
		}
		p.wrapWidth, width = width, len(part)
		rec.msg = append(rec.msg, bytes.TrimRight(skipBlanks(part), " ")...)
		next, ok = p.l.next()
		p.s.in.Info.Records--
		p.s.canWait, p.s.waiting = true, false
		p.s.handle(&rec)
		p.s.canWait = false
		if !p.s.waiting {
			return peel(next), ok
		}
	}
	p.s.in.Info.Records--
	p.s.waiting = false
	p.s.handle(&rec)
	return peel(next), ok
}

// stray deals with a line that has no prefix.
func (p *prefixedReader) stray(line []byte) {
	ref := p.rec.ref
	if len(bytes.TrimSpace(line)) == 0 || p.s.boundary(line, ref) || isFiller(line) {
		return
	}
	if h := p.s.lastHost; h != nil && len(h.open) > 0 {
		o := &h.open[len(h.open)-1]
		p.s.continues(h, &record{host: o.head.host, pid: o.head.pid, msg: line, ref: ref})
		return
	}
	if isPad(line, 0) {
		if len(p.early) < maxBlockLines {
			p.early = append(p.early, bytes.Clone(line))
		}
		return
	}
	p.s.reject(ref, "unknown-line", "a line does not have the form of the file it stands in")
}
