package rules

import (
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Inputs answers what rules ask about the streams of a run. It is made once and
// serves all of its cases, however many streams there are.
type Inputs struct {
	verbosity map[string]int  // of kubelet logs, by node; "" for those that name none
	kernel    map[string]bool // whether there is a kernel log, by node; "" likewise
	logs      map[logOf]bool
	cut       map[string]bool // whether a text broke off or has a hole, by node; "" where that may be any node's
}

// logOf names a container's log.
type logOf struct{ pod, container string }

// NewInputs looks through the streams of a run and what was wrong with them. They
// must have been read: it asks for what was found in them.
func NewInputs(streams []*event.StreamInfo, problems []event.Problem) *Inputs {
	in := &Inputs{verbosity: make(map[string]int), kernel: make(map[string]bool), logs: make(map[logOf]bool), cut: make(map[string]bool)}
	broken := make(map[string]bool) // paths, and whether they are streams'
	for _, p := range problems {
		switch p.Code {
		case "truncated", "corrupt", "limit":
			broken[p.Path] = false
		}
	}
	for _, s := range streams {
		if _, ok := broken[s.Path]; ok {
			broken[s.Path] = true
			if s.Capture == nil { // a capture that broke off says so itself
				in.cut[s.Node] = true
			}
		}
		in.verbosity[s.Node] = max(in.verbosity[s.Node], s.Verbosity)
		if name := s.Path[strings.LastIndexByte(s.Path, '/')+1:]; s.Records > 0 && (strings.Contains(name, "dmesg") || strings.Contains(name, "kernel") || strings.HasPrefix(name, "kern.")) {
			in.kernel[s.Node] = true
		}
		if s.Records > 0 && strings.Contains(s.Path, "pods") {
			in.containerLog(s.Path)
		}
	}
	for _, stream := range broken {
		if !stream {
			in.cut[""] = true // an archive, which may have lost any file
		}
	}
	return in
}

// textLost reports whether text about the node may be lost.
func (in *Inputs) textLost(node string) bool { return in.cut[node] || in.cut[""] }

// containerLog notes whose log a path is: a folder of the pod's name, or of
// NAMESPACE_NAME_UID, and below it the container's folder or file.
func (in *Inputs) containerLog(path string) {
	parts := strings.Split(path, "/")
	for i, dir := range parts[:len(parts)-1] {
		pod := dir
		if w := strings.Split(dir, "_"); len(w) == 3 {
			pod = w[1]
		}
		name := parts[i+1]
		if i+1 == len(parts)-1 {
			var isLog bool
			if name, isLog = strings.CutSuffix(name, ".log"); !isLog {
				continue
			}
			name = strings.TrimSuffix(name, "-previous")
		}
		in.logs[logOf{pod, name}] = true
	}
}

// containerLogOf reports whether a log of the container was read, also one in
// which nothing was worth a note.
func (in *Inputs) containerLogOf(pod, container string) bool { return in.logs[logOf{pod, container}] }

// kernelLogOf reports whether a kernel log of the node was read, or one that names
// no node; it goes by the name of the file, for most lines of such a log are of no
// interest here.
func (in *Inputs) kernelLogOf(node string) bool { return in.kernel[node] || in.kernel[""] }

// verboseAt is the highest verbosity that a kubelet log of the node, or of an
// unnamed one, shows.
func (in *Inputs) verboseAt(node string) int { return max(in.verbosity[node], in.verbosity[""]) }
