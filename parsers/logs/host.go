package logs

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// hostTool is a command or file of a host whose output is read line by line.
type hostTool struct {
	name, doc string
	// start returns what reads one line and reports whether the line has the
	// tool's form, and what runs at the end (may be nil). Both speak through the
	// hostReader; in detection it swallows what they say.
	start func(h *hostReader) (line func(text []byte) bool, end func())
}

// hostReader is what the reader of a tool speaks to.
type hostReader struct {
	o    *objectStream
	dry  bool
	said bool // the current line yielded a fact
	// pod is whose state it is, where the command or the path says so; zero for the
	// node's own.
	pod event.PodRef
}

// registerHost adds a format made of a tool. Detection asks the tool itself: it
// must know most of the first lines.
func registerHost(t hostTool) struct{} {
	return register(Format{
		Name: t.name, Doc: t.doc,
		Detect: func(head []byte, path string) int { return t.detect(head, path) },
		Parse: func(ctx context.Context, in *Input) error {
			o := newObjectStream(ctx, in)
			return o.finish(t.parse(o))
		},
	})
}

// promptLine reports a pasted prompt or a comment between outputs.
func promptLine(text []byte) bool {
	return len(text) == 0 || text[0] == '$' || text[0] == '#' || bytes.HasPrefix(text, []byte("+ "))
}

func (t *hostTool) detect(head []byte, path string) int {
	h := &hostReader{dry: true, o: &objectStream{in: &Input{Path: path}}}
	line, _ := t.start(h)
	known, seen := 0, 0
	for len(head) > 0 && seen < 60 && (known > 0 || seen < 5) {
		text, rest, whole := bytes.Cut(head, []byte("\n"))
		head = rest
		text = bytes.TrimRight(text, " \t\r")
		if seen == 0 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
		}
		if !whole && seen > 0 && len(text) > 0 && cap(text) > 4096 {
			break // cut by the peek
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if line(text) {
			known++
			seen++
		} else if !promptLine(text) {
			seen++
		}
	}
	switch {
	case known == 0 || known*4 < seen*3:
		return 0
	case known == seen:
		return 82
	}
	return 75
}

func (t *hostTool) parse(o *objectStream) error {
	h := &hostReader{o: o, pod: podOfOutput(o.in)}
	line, end := t.start(h)
	l := newTextLines(o.in, 1<<20)
	for l.scan() {
		if l.n&0xfff == 0 && o.ctx.Err() != nil {
			return o.ctx.Err()
		}
		o.lines++
		text := bytes.TrimRight(l.text(), " \t\r")
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		o.at, h.said = place{l.n, l.offset}, false
		switch {
		case line(text):
			o.in.Info.Records++
			if h.said {
				o.in.Info.Kept++
			}
		case promptLine(text):
		default:
			o.in.Info.Records++
			o.in.Info.Rejected++
			o.problem(o.at, "unknown-line", "a line does not have the form of "+t.name)
		}
	}
	if end != nil {
		end()
	}
	return l.err
}

// fact hands over one statement. Where it was true is the stream's node, when
// it was true is the collection: the output says neither.
func (h *hostReader) fact(f event.HostFact) {
	if h.dry {
		return
	}
	h.said = true
	if f.Pod == (event.PodRef{}) {
		f.Pod = h.pod
	}
	f.Value = clip([]byte(f.Value), maxHostValue)
	h.o.emit(event.Stamp{}, h.o.in.Info.Node, &f)
}

const maxHostValue = 512

// path is what names the file: the last word of the command that printed it,
// else the logical path of the stream.
func (h *hostReader) path() string { return printedPath(h.o.in) }

func printedPath(in *Input) string {
	if c := containerOfCommand(in.Command); c != nil {
		return c.path()
	}
	if w := strings.Fields(in.Command); len(w) > 0 && strings.Contains(w[len(w)-1], "/") {
		return w[len(w)-1]
	}
	return in.Path
}

// podOfOutput finds the pod in whose network namespace or control group a
// command ran: kubectl exec names it, or the path of the file.
func podOfOutput(in *Input) event.PodRef {
	w := strings.Fields(in.Command)
	for i := 0; i+2 < len(w); i++ {
		if (strings.HasSuffix(w[i], "kubectl") || strings.HasSuffix(w[i], "oc")) && slices.Contains(w[i+1:], "exec") {
			pod, _ := podInCommand(w[i+1:], "exec")
			return pod
		}
	}
	path := printedPath(in)
	if p := podInPath(path); p.UID != "" {
		return p
	}
	seg := strings.Split(path, "/")
	for i := 0; i+1 < len(seg); i++ {
		if seg[i] != "pods" {
			continue
		}
		if p := strings.Split(seg[i+1], "_"); len(p) == 3 { // /var/log/pods/NS_POD_UID
			return event.PodRef{Namespace: p[0], Name: p[1], UID: p[2]}
		}
		if i >= 2 && seg[i-2] == "namespaces" && i+2 < len(seg) {
			return event.PodRef{Namespace: seg[i-1], Name: seg[i+1]}
		}
	}
	return event.PodRef{}
}

// podInCommand reads the arguments of kubectl exec or logs, up to the command
// that exec runs: the pod and the container they name.
func podInCommand(w []string, verb string) (pod event.PodRef, container string) {
	if i := slices.Index(w, "--"); i >= 0 {
		w = w[:i]
	}
	seen := false
	var free []string
	for i := 0; i < len(w); i++ {
		switch s := w[i]; {
		case s == verb:
			seen = true
		case s == "-c" || s == "--container":
			container = wordAfter(w[i:], s)
			i++
		case strings.HasPrefix(s, "--container="):
			container = strings.TrimPrefix(s, "--container=")
		case s == "-n" || s == "--namespace" || s == "--context" || s == "--kubeconfig" || s == "--tail" || s == "--since" || s == "--since-time":
			i++
		case strings.HasPrefix(s, "-"):
		case seen:
			free = append(free, s)
		}
	}
	if len(free) == 0 {
		return event.PodRef{}, ""
	}
	pod.Namespace = namespaceInCommand(strings.Join(w, " "))
	pod.Name = strings.TrimPrefix(strings.TrimPrefix(free[0], "pods/"), "pod/")
	if verb == "logs" && len(free) > 1 && container == "" {
		container = free[1] // kubectl logs POD CONTAINER
	}
	return pod, container
}

// containerOfCommand finds whose log "kubectl logs" or "oc logs" printed; nil
// where the command is another, or names a workload instead of a pod.
func containerOfCommand(command string) *containerPath {
	w := strings.Fields(command)
	i := slices.Index(w, "logs")
	if i < 1 || !slices.ContainsFunc(w[:i], func(s string) bool { return s == "oc" || strings.HasSuffix(s, "kubectl") }) {
		return nil
	}
	pod, container := podInCommand(w, "logs")
	if pod.Name == "" || strings.Contains(pod.Name, "/") {
		return nil
	}
	return &containerPath{pod: pod, container: container, previous: slices.Contains(w, "-p") || slices.Contains(w, "--previous")}
}

// podInPath finds the pod that a cgroup's path belongs to: "pod<uid>", with
// dashes or, under systemd, with underscores.
func podInPath(path string) event.PodRef {
	for i := 0; ; {
		n := strings.Index(path[i:], "pod")
		if n < 0 {
			return event.PodRef{}
		}
		i += n + 3
		if len(path) < i+36 {
			return event.PodRef{}
		}
		uid := strings.ReplaceAll(path[i:i+36], "_", "-")
		if uid[8] == '-' && uid[13] == '-' && uid[18] == '-' && uid[23] == '-' && strings.Trim(uid, "0123456789abcdef-") == "" {
			return event.PodRef{UID: uid}
		}
	}
}

// words cuts a line at blanks.
func words(b []byte) []string { return strings.Fields(string(b)) }

// wordAfter returns the word after a key in a list of words, "" if there is
// none.
func wordAfter(w []string, key string) string {
	for i, s := range w {
		if s == key && i+1 < len(w) {
			return w[i+1]
		}
	}
	return ""
}
