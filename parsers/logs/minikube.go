package logs

import (
	"bytes"
	"context"
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
	var other otherSection
	line, ok := p.l.next()
	for ok {
		line = peel(line)
		if name, is := sectionName(line); is {
			if err := other.parse(ctx, in); err != nil {
				return err
			}
			p.form, reading = sectionForms[string(name)]
			if !reading {
				other.begin(string(name), place{p.l.number, p.l.offset}, p.l.consumed())
			}
			line, ok = p.l.next()
			continue
		}
		if !reading {
			other.add(line)
			line, ok = p.l.next()
			continue
		}
		line, ok = p.step(line)
	}
	if err := other.parse(ctx, in); err != nil {
		return err
	}
	return p.s.finish(p.l, nil)
}

// otherSection holds a table or description until its section ends; then the
// format that knows it reads it.
type otherSection struct {
	name string
	at   place // of the section's mark
	from int64 // offset of the line behind it
	text []byte
}

func (o *otherSection) begin(name string, at place, from int64) {
	o.name, o.at, o.from = name, at, from
}

func (o *otherSection) add(line []byte) {
	if o.name != "" && len(o.text)+len(line) < maxOtherSection {
		o.text = append(append(o.text, line...), '\n')
	}
}

// maxOtherSection bounds a section held in memory.
const maxOtherSection = 1 << 20

func (o *otherSection) parse(ctx context.Context, in *Input) error {
	text := o.text
	name := o.name
	o.name, o.text = "", nil
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	info := *in.Info // its own line count: the session counts all lines of the file
	info.Counts = nil
	err := parseOutput(ctx, &Input{
		Path: in.Path, Command: name, R: bytes.NewReader(text), Info: &info, Sink: in.Sink,
		FirstLine: o.at.line + 1, FirstOffset: o.from,
	}, text[:min(len(text), 64<<10)], o.at)
	info.Counts = in.Info.Counts
	*in.Info = info
	return err
}
