package event

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is damage or a limit met in an input, as data. Ref is the place,
// Code a stable kebab-case word that ProblemKinds explains, Message a lower-case
// sentence that says what and why, Count how often it was met in this stream
// (first place kept).
type Problem struct {
	Ref     Ref
	Path    string // logical path where the stream has no id (unreadable member)
	Code    string
	Message string
	Count   int64
}

func (p Problem) String() string {
	return fmt.Sprintf("%s%s: %s: %s", p.Path, p.Ref.Place(), p.Code, p.Message)
}

// Kind explains the problem's code.
func (p Problem) Kind() ProblemKind {
	i, found := slices.BinarySearchFunc(problemKinds, p.Code, func(k ProblemKind, code string) int { return strings.Compare(k.Code, code) })
	if !found {
		return ProblemKind{Code: p.Code, Loses: true}
	}
	return problemKinds[i]
}

// ProblemKind is what all problems of one code have in common.
type ProblemKind struct {
	Code  string
	Means string // what was met, a sentence
	// Loses says that something of the input was not read. Otherwise the problem
	// tells of a peculiarity, and everything was.
	Loses bool
	Try   string // what a person can do about it, a sentence
}

// ProblemKinds returns all kinds of problems, by code.
func ProblemKinds() []ProblemKind { return slices.Clone(problemKinds) }

// What several kinds of damage call for.
const (
	tryAgain  = "Copy or collect the file again and compare sizes; everything before the place was read."
	tryOthers = "Nothing, if few records are concerned: the others were read. If many are, collect the file again without a pager, a terminal or a log shipper between."
)

// problemKinds stands in the order of the codes.
var problemKinds = []ProblemKind{
	{"arp-limit", "More ARP frames within a second than are followed.", true,
		"Look at the capture itself: a storm of ARP is a finding of its own."},
	{"bad-annotation", "A Pod's network annotation is not valid JSON.", true,
		"Compare the annotation with kubectl get pod -o yaml; the Pod's other fields were read."},
	{"bad-field", "A line of a journal export is no field.", true, tryOthers},
	{"bad-json", "A record is not valid JSON.", true, tryOthers},
	{"bad-packet", "A packet's headers contradict each other or end early.", true,
		"Nothing, if few are concerned. If many are, capture with whole headers and compare with tcpdump -r."},
	{"bad-record", "A record lacks what every record of its format has.", true, tryOthers},
	{"bad-yaml", "An object is not valid YAML.", true, "Write the object again with kubectl get -o yaml; the others of the file were read."},
	{"blob-data", "The text \"blob data\" stands in place of a message that journalctl could not print.", true,
		"Export with journalctl -o export or -o json, which keep such messages, or add --all."},
	{"connection-limit", "More connections open at once than are followed.", true,
		"Filter the capture to the Pods in question: tcpdump -r FILE -w LESS net POD-NETWORK."},
	{"container-unknown", "A container log's path names no Pod or container.", true,
		"Keep the directories of /var/log/pods or of must-gather when the file is copied."},
	{"corrupt", "A compressed file or an archive is damaged.", true, tryAgain},
	{"duplicate-member", "Several members of an archive have one name.", false,
		"Each was read. If one was meant to replace another, unpack the archive and name the directory."},
	{"empty", "A file holds no bytes.", true, "Look at how it was collected: the command may have failed, or its output was not yet written."},
	{"encrypted", "Members of an archive are encrypted.", true, "Decrypt the archive and name what was in it."},
	{"entry-too-large", "A journal entry is larger than the limit.", true, "Nothing: the entry's first fields were read."},
	{"field-left-out", "A long message was left out by journalctl.", true, "Export with --all."},
	{"incomplete-line", "A kubelet line lacks a value that is needed.", true,
		"Export with journalctl --no-pager, or -o export, and not from a terminal."},
	{"interface-limit", "More interfaces than are told apart.", true, "Capture on fewer interfaces, or split the file."},
	{"limit", "A guard against hostile archives ended the reading.", true,
		"If the input is trusted, raise the guard: --limit depth=N, members=N, member-bytes=N, total-bytes=N or ratio=N."},
	{"line-limit", "A printed packet's line is longer than the limit, the rest was cut.", true, "Read the capture itself instead of tcpdump's text."},
	{"long-entry", "A journal entry is larger than the limit and was left out.", true, "Export the unit in question only: journalctl -u kubelet."},
	{"long-line", "A line is longer than the limit, the rest was cut.", true, "Nothing: the line's first part was read."},
	{"object-too-large", "An object is larger than the limit and was left out.", true, "Write the object to a file of its own without status and annotations."},
	{"packet-cut", "A packet was not captured to the end of its headers.", true,
		"Capture with the packets' whole headers: tcpdump without -s, or with -s 128 and more."},
	{"special-file", "Devices, pipes and sockets are not opened.", true, "Name regular files; for a pipe use standard input: -."},
	{"stamps-disagree", "A line's two time stamps are more than a zone apart.", false,
		"Nothing: the outer stamp is used. The node's clock may have been set meanwhile; see Clocks in the report."},
	{"target-limit", "More server ports than are counted.", true, "Filter the capture to the Pods in question; connections near failed probes are kept all the same."},
	{"text-before-capture", "A capture begins after lines of text, such as kubectl debug prints.", false,
		"Nothing: the packets were read. Capture with kubectl debug --quiet next time."},
	{"truncated", "The data end early.", true, tryAgain},
	{"unknown-flags", "A binary journal uses features that are not known.", true, "Export it where it was written: journalctl --file FILE -o export."},
	{"unknown-format", "No format claims the file.", true,
		"Look at the list of formats in docs/formats.md; a renamed file needs no extension, but its content must be of one of them."},
	{"unknown-line", "A line does not have the form of the file it stands in.", true, tryOthers},
	{"unknown-packet", "A printed packet has no known form.", true, "Read the capture itself instead of tcpdump's text."},
	{"unreadable", "The system refused to open or to read a file.", true,
		"Check the path and its permissions; files of a node often need root."},
	{"unresolved-name", "A printed packet names a host instead of its address.", true, "Print with tcpdump -n, or read the capture itself."},
	{"unresolved-port", "A printed packet names a service whose port is not known.", true, "Print with tcpdump -nn, or read the capture itself."},
	{"unsafe-name", "A member's name leads out of the archive.", true, "Unpack the archive yourself where that is safe, and name the directory."},
	{"unsupported-container", "An archive of a kind that is not read.", true, "Unpack it first and name the directory."},
	{"unsupported-link-type", "Packets of a link type that is not decoded.", true,
		"Capture on an Ethernet interface, a veth, a bridge or any: tcpdump -i any."},
	{"unsupported-member", "Members of an archive of a kind that is not read.", true, "Unpack the archive and name the directory."},
}
