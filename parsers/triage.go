package parsers

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/logs"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
	"github.com/probe-forensics/probe-forensics/parsers/source"
)

// verdict is what is to be done with a stream.
type verdict struct {
	capture bool
	format  logs.Format // where Parse is set
	// ignore is why the stream is not worth a row of the stream table.
	ignore string
	// code and message are a problem: the stream should have been readable.
	code, message string
}

// triage judges a stream by its first bytes and by its place. Content comes
// first: a capture is a capture wherever it lies. An outer input is never
// ignored, since somebody asked for it by name.
func triage(f *source.File, head []byte, place source.Place) verdict {
	ignore := func(why string) verdict {
		if f.Outer {
			return verdict{code: codeUnknown, message: "not read: " + why}
		}
		return verdict{ignore: why}
	}
	switch {
	case len(head) == 0 && (f.Outer || expected(f.Path)):
		return verdict{code: "empty", message: "no bytes at all"}
	case len(head) == 0:
		return ignore("empty files")
	case pcap.Detect(head):
		return verdict{capture: true}
	case place.Ignore != "" && !f.Outer:
		return ignore(place.Ignore)
	}
	format, err := logs.Detect(head, f.Path)
	switch {
	case err == nil:
		return verdict{format: format}
	case len(bytes.TrimSpace(head)) == 0 && len(head) < source.PeekSize:
		return ignore("files of white space only")
	case len(head) <= 1<<10 && nothingFound(head):
		return ignore("outputs of commands that found nothing")
	case place.Layout != "" && !f.Outer && len(head) <= 512 && bytes.Count(bytes.TrimSpace(head), []byte("\n")) == 0 && !binary(head):
		return ignore("one-line messages of a collector's commands")
	case place.Role == source.RoleContainerLog && !f.Outer && !binary(head):
		return ignore("container logs in a form that no parser claims")
	case expected(f.Path), !binary(head):
		return verdict{code: codeUnknown, message: fmt.Sprintf("%v; it begins with %q", err, head[:min(len(head), 40)])}
	default:
		return ignore("binary data")
	}
}

// expected reports whether a name promises something that should be readable.
func expected(name string) bool {
	base := strings.ToLower(path.Base(name))
	for _, suffix := range []string{".pcap", ".pcapng", ".cap", ".dmp", ".journal", ".journal~", ".gz", ".xz", ".zst", ".bz2", ".zip", ".tgz", ".tar"} {
		if strings.HasSuffix(base, suffix) {
			return true
		}
	}
	return strings.Contains(base, "kubelet") || strings.Contains(base, "journalctl")
}

// nothingFound recognises what kubectl, journalctl and shells print instead of
// an output.
func nothingFound(head []byte) bool {
	for _, s := range []string{"No resources found", "-- No entries --", "error: the server doesn't have a resource type", "Error from server"} {
		if bytes.HasPrefix(head, []byte(s)) {
			return true
		}
	}
	first, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
	return bytes.HasSuffix(first, []byte("command not found")) || bytes.HasSuffix(first, []byte("No such file or directory"))
}

// binary reports whether the head is not text: zero bytes, or many control
// characters. UTF-16 counts as text, to be told as an unknown format.
func binary(head []byte) bool {
	head = head[:min(len(head), 4096)]
	if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
		return false
	}
	control := 0
	for _, c := range head {
		if c == 0 {
			return true
		}
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != 0x1b {
			control++
		}
	}
	return control*20 > len(head)
}
