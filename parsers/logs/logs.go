// Package logs reads every textual input: journals in each form journalctl
// writes, kubelet, runtime and CNI logs, Kubernetes objects in YAML and JSON,
// and the command outputs people paste. One file per format; a format registers
// itself and touches nothing downstream.
package logs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Format is one way a stream can be written.
type Format struct {
	// Name is the stable kebab-case word of the stream table ("journal-short").
	Name string
	// Doc says in a sentence what it is and where its description comes from.
	Doc string
	// Detect scores how sure the peeked head (up to 64 KiB) is this format: 0 no,
	// 100 certain. Path is the logical path and only a hint: never the sole reason
	// for more than 30.
	Detect func(head []byte, path string) int
	// Parse reads the stream to its end and emits what it finds. Damage is reported
	// as a problem and reading goes on; an error is returned only when the rest of
	// the stream cannot be read.
	Parse func(ctx context.Context, in *Input) error
}

// Input is what Parse reads.
type Input struct {
	Path string
	R    io.Reader
	Info *event.StreamInfo // counters, First/Last, Verbosity, Node: kept up to date by the parser
	Sink event.Sink
	// FirstLine and FirstOffset place the first byte of R inside the stream when R
	// is a section of it; zero means the whole stream.
	FirstLine, FirstOffset int64
	// Command is the command whose output this is, where a prompt shows it.
	Command string
}

var formats []Format

// register adds a format at package initialisation. The blank variable that
// calls it keeps a format to one file.
func register(f Format) struct{} {
	if f.Name == "" || f.Detect == nil || f.Parse == nil {
		panic("logs: incomplete format " + f.Name)
	}
	if slices.ContainsFunc(formats, func(o Format) bool { return o.Name == f.Name }) {
		panic("logs: duplicate format " + f.Name)
	}
	formats = append(formats, f)
	slices.SortFunc(formats, func(a, b Format) int { return strings.Compare(a.Name, b.Name) })
	return struct{}{}
}

// Formats returns all formats, sorted by name.
func Formats() []Format { return slices.Clone(formats) }

// Detect returns the best format for a stream's head, or an error when none
// claims it. Ties go to the first name.
func Detect(head []byte, path string) (Format, error) {
	best, score := Format{}, 0
	for _, f := range formats {
		if s := f.Detect(head, path); s > score {
			best, score = f, s
		}
	}
	if score == 0 {
		return Format{}, fmt.Errorf("none of %d text formats matches", len(formats))
	}
	return best, nil
}
