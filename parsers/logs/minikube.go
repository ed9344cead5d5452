package logs

import (
	"bytes"
	"context"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name:   "minikube-logs",
	Doc:    "minikube logs: sections ==> NAME <== with the last lines of each source; minikube's pkg/minikube/logs",
	Detect: detectSections,
	Parse:  parseSections,
})

func detectSections(head []byte, _ string) int {
	for n := 0; n < 50 && len(head) > 0; n++ {
		var line []byte
		line, head, _ = cutByte(head, '\n')
		if _, ok := sectionName(peel(bytes.TrimSuffix(line, []byte("\r")))); ok {
			return 96
		}
	}
	return 0
}

// sectionName reads "==> kubelet <==".
func sectionName(line []byte) ([]byte, bool) {
	rest, ok := after(line, "==> ")
	if !ok || !bytes.HasSuffix(rest, []byte(" <==")) {
		return nil, false
	}
	return rest[:len(rest)-len(" <==")], true
}

// sectionForms are the sections that are read, and the form of their lines.
// Tables and descriptions in other sections are left to other formats.
var sectionForms = map[string]prefixForm{
	"kubelet": shortForm, "containerd": shortForm, "crio": shortForm, "CRI-O": shortForm, "Docker": shortForm,
	"docker": shortForm, "dmesg": dmesgForm,
}

func parseSections(ctx context.Context, in *Input) error {
	p := &prefixedReader{s: newSession(in), l: newLineReader(ctx, in)}
	reading := false
	line, ok := p.l.next()
	for ok {
		line = peel(line)
		if name, is := sectionName(line); is {
			p.form, reading = sectionForms[string(name)]
			if !reading {
				p.s.notice(event.Ref{Line: p.l.number, Offset: p.l.offset}, event.Stamp{}, "section-skipped", line)
			}
			line, ok = p.l.next()
			continue
		}
		if !reading {
			line, ok = p.l.next()
			continue
		}
		line, ok = p.step(line)
	}
	return p.s.finish(p.l, nil)
}
