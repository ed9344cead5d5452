package logs

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name: "kubectl-describe",
	Doc: "Output of kubectl or oc describe for pods and nodes, several after another, with their event tables; " +
		"as AKS Periscope and the Rancher collector keep it. Event ages count back from the collection.",
	Detect: detectDescribe,
	Parse: func(ctx context.Context, in *Input) error {
		o := newObjectStream(ctx, in)
		return o.finish(splitDescribed(o))
	},
})

func detectDescribe(head []byte, _ string) int {
	for n := 0; len(head) > 0 && n < 10; n++ {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		line = bytes.TrimPrefix(bytes.TrimRight(line, " \r"), []byte("\xef\xbb\xbf"))
		if len(line) == 0 || line[0] == '$' || line[0] == '#' {
			continue
		}
		if !bytes.HasPrefix(line, []byte("Name:  ")) {
			return 0
		}
		for range 12 {
			line, head, _ = bytes.Cut(head, []byte("\n"))
			for _, k := range []string{"Namespace:  ", "Roles:  ", "Labels:  ", "Annotations:  ", "Priority:  "} {
				if bytes.HasPrefix(line, []byte(k)) {
					return 83
				}
			}
		}
		return 0
	}
	return 0
}

// splitDescribed reads one described object after another: each begins with its
// name at the left margin.
func splitDescribed(o *objectStream) error {
	l := newTextLines(o.in, maxObjectBytes)
	d := &described{o: o}
	for l.scan() {
		if l.n&0xfff == 0 && o.ctx.Err() != nil {
			return o.ctx.Err()
		}
		o.lines++
		text := bytes.TrimRight(l.text(), " ")
		if bytes.HasPrefix(text, []byte("Name:")) || len(text) > 0 && text[0] == '$' {
			d.end()
		}
		d.line(text, place{l.n, l.offset})
	}
	d.end()
	return l.err
}

// described builds the tree of one object from its indentation. A node's text
// is what stands behind its key, its children are the lines indented below; a
// line without a key, and each line of a table, is a child with text alone.
type described struct {
	o      *objectStream
	open   bool
	bad    error
	levels []describedLevel
	table  bool    // inside Conditions or Events
	starts []place // of the object's lines, for the references of events
}

type describedLevel struct {
	indent     int
	node, last int32
}

func (d *described) line(text []byte, at place) {
	t := &d.o.tree
	if !d.open {
		if !bytes.HasPrefix(text, []byte("Name:")) {
			return
		}
		t.reset()
		root, _ := t.add(treeNode{kind: nodeMap})
		d.open, d.bad, d.table, d.starts = true, nil, false, d.starts[:0]
		d.levels = append(d.levels[:0], describedLevel{-1, root, 0})
	}
	d.starts = append(d.starts, at)
	indent := 0
	for indent < len(text) && text[indent] == ' ' {
		indent++
	}
	if indent == len(text) || d.bad != nil {
		return
	}
	n := treeNode{kind: nodeMap, line: int32(len(d.starts) - 1)}
	events := d.table && string(t.nodes[d.levels[1].node].key) == "Events"
	switch {
	case d.table && (indent > 0 || events): // an event's message may go on at the margin
		d.levels = d.levels[:2]
		n.text = bytes.Clone(text[min(indent, 2):])
	default:
		for len(d.levels) > 1 && d.levels[len(d.levels)-1].indent >= indent {
			d.levels = d.levels[:len(d.levels)-1]
		}
		n.key, n.text = splitKey(bytes.Clone(text[indent:]))
		d.table = indent == 0 && (string(n.key) == "Conditions" || string(n.key) == "Events")
	}
	id, err := t.add(n)
	if err != nil || len(d.levels) > maxObjectDepth {
		d.bad = errors.Join(err, errTooDeep)
		return
	}
	top := &d.levels[len(d.levels)-1]
	top.last = t.link(top.node, top.last, id)
	d.levels = append(d.levels, describedLevel{indent, id, 0})
}

// splitKey splits a line at the colon that ends its key: the first one that a
// blank or nothing follows.
func splitKey(line []byte) (key, text []byte) {
	for i, c := range line {
		switch {
		case i > 120:
			return nil, line
		case c == ':' && i > 0 && (i+1 == len(line) || line[i+1] == ' '):
			return line[:i], bytes.TrimLeft(line[i+1:], " ")
		}
	}
	return nil, line
}

func (d *described) end() {
	if !d.open {
		return
	}
	d.open = false
	o := d.o
	o.in.Info.Records++
	o.at = d.starts[0]
	if d.bad != nil {
		o.in.Info.Rejected++
		o.problem(o.at, "object-too-large", "a described object is left out: "+d.bad.Error())
		return
	}
	f := field{&o.tree, 1}
	var of event.K8sEvent
	switch {
	case f.get("Containers").ok():
		p := describedPod(f)
		o.emit(event.Stamp{}, p.Node, p)
		of = event.K8sEvent{ObjectKind: "Pod", Namespace: p.Pod.Namespace, Name: p.Pod.Name, Host: p.Node}
	case f.get("System Info").ok():
		n := describedNode(f)
		o.emit(event.Stamp{}, n.Name, n)
		of = event.K8sEvent{ObjectKind: "Node", Name: n.Name, Host: n.Name}
	default:
		return
	}
	o.in.Info.Kept++
	d.events(f.get("Events"), of)
}

// events reads the table at the end of an object. A line that is no row goes on
// with the message of the row before.
func (d *described) events(list field, of event.K8sEvent) {
	var t textTable
	var open *event.K8sEvent
	var at place
	flush := func() {
		if open != nil {
			d.o.at = at
			d.o.emit(open.Last, open.Host, open)
			if open.Reason == "AddedInterface" {
				d.o.addedInterface(open)
			}
		}
		open = nil
	}
	for l := range list.each() {
		text := l.node().text
		if len(t.cols) == 0 {
			t.readTitles(text)
			continue
		}
		if bytes.HasPrefix(text, []byte("----")) || bytes.HasPrefix(text, []byte("---------")) {
			continue
		}
		row, ok := t.row(text)
		if kind := row.str("Type"); !ok || kind != "Normal" && kind != "Warning" {
			if open != nil && len(open.Message) < maxEventMessage {
				open.Message = clip([]byte(open.Message+"\n"+string(text)), maxEventMessage)
			}
			continue
		}
		flush()
		e := of
		e.Type, e.Reason, e.TimesUnknown = row.str("Type"), row.str("Reason"), true
		e.Message = clip(row.raw("Message"), maxEventMessage)
		e.FieldPath = row.str("SubObjectPath")
		e.Container = containerOf(e.FieldPath)
		e.Last, e.First, e.Count, _ = parseAges(orRaw(row.raw("Age"), row.raw("LastSeen")))
		if first, ok := parseAge(row.raw("FirstSeen")); ok {
			e.First = first
		}
		if n, ok := allDigits(row.raw("Count")); ok {
			e.Count = max(n, 1)
		}
		from := strings.Trim(row.str("From"), "{}")
		component, host, named := strings.Cut(strings.Replace(from, ", ", " ", 1), " ")
		if e.Component = component; named {
			e.Host = host
		} else if component != "kubelet" {
			e.Host = ""
		}
		e.UID = uidInMessage(&e)
		open, at = &e, d.starts[l.node().line]
	}
	flush()
}
