package logs

import (
	"bytes"
	"context"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var (
	criForm     = prefixForm{name: "cri-log", split: splitCRI, container: true}
	kubectlForm = prefixForm{name: "kubectl-timestamps", split: splitKubectl, loose: true, container: true}
)

var _ = registerPrefixed(criForm,
	"a container log as CRI runtimes write it: RFC 3339 stamp, stdout or stderr, F or P (partial line), message; Kubernetes' CRI logging format",
	detectShare(criForm, 95))

var _ = registerPrefixed(kubectlForm,
	"kubectl logs --timestamps, and pod logs of must-gather: an RFC 3339 stamp with nanoseconds in front of every line",
	detectShare(kubectlForm, 84))

var _ = register(Format{
	Name:   "container-log",
	Doc:    "a container log without a prefix, known by the path it lies under",
	Detect: detectContainerPath,
	Parse: func(ctx context.Context, in *Input) error {
		return readPrefixed(ctx, in, plainForm)
	},
})

func detectContainerPath(head []byte, path string) int {
	if containerOfPath(path) == nil || bytes.IndexByte(head, 0) >= 0 {
		return 0
	}
	return 30
}

// splitCRI takes "2023-12-18T06:13:36.831359143+00:00 stderr F " off a line.
func splitCRI(line []byte, r *record) bool {
	if len(line) < 28 || line[10] != 'T' {
		return false
	}
	st, rest, ok := isoStamp(line)
	if !ok {
		return false
	}
	rest, ok = after(rest, " std")
	if !ok || len(rest) < 5 || rest[3] != ' ' || string(rest[:3]) != "out" && string(rest[:3]) != "err" {
		return false
	}
	tag := rest[4]
	rest = rest[5:]
	// Tags may follow the first one, after a colon.
	if _, more, found := cutByte(rest, ' '); found {
		rest = more
	} else {
		rest = nil
	}
	r.stamp, r.msg, r.partial = st, rest, tag == 'P'
	return true
}

// splitKubectl takes "2023-11-02T06:12:08.604390676Z " off a line.
func splitKubectl(line []byte, r *record) bool {
	if len(line) < 20 || line[10] != 'T' {
		return false
	}
	st, rest, ok := isoStamp(line)
	if !ok || st.Missing != 0 {
		return false
	}
	if len(rest) > 0 {
		if rest[0] != ' ' {
			return false
		}
		rest = rest[1:]
	}
	r.stamp, r.msg = st, rest
	return true
}

var _ = register(Format{
	Name:   "docker-json-file",
	Doc:    `Docker's json-file log driver: {"log":"…\n","stream":"stderr","time":"…"}`,
	Detect: detectDockerJSON,
	Parse:  parseDockerJSON,
})

func detectDockerJSON(head []byte, _ string) int {
	line, _, _ := cutByte(head, '\n')
	if len(line) > 0 && line[0] == '{' && bytes.Contains(line, []byte(`"log":"`)) &&
		bytes.Contains(line, []byte(`"stream":"std`)) && bytes.Contains(line, []byte(`"time":"`)) {
		return 96
	}
	return 0
}

func parseDockerJSON(ctx context.Context, in *Input) error {
	s, l := newSession(in), newLineReader(ctx, in)
	var text []byte
	entry := func(object []byte, ref event.Ref) {
		r := record{ref: ref}
		f := newFlatJSON(object)
		known := false
		for {
			key, raw, ok := f.next()
			if !ok {
				break
			}
			switch string(key) {
			case "log":
				text, known = jsonText(text[:0], raw)
			case "time":
				r.stamp, _, _ = isoStamp(bytes.Trim(raw, `"`))
			}
		}
		if f.bad || !known {
			s.reject(ref, "bad-json", "a line is no entry of Docker's json-file log")
			return
		}
		// A line longer than 16 KiB is split; only its last part ends with a newline.
		r.msg, r.partial = bytes.TrimRight(text, "\r\n"), !bytes.HasSuffix(text, []byte("\n"))
		s.handle(&r)
	}
	(&jsonEntries{s: s, l: l, mark: `"log"`, entry: entry}).run()
	return s.finish(l, nil)
}
