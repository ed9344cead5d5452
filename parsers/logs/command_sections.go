package logs

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name: "command-outputs",
	Doc: "A pasted or recorded terminal: outputs of commands, each behind its prompt ($ ip neigh, [root@node ~]# ss -ltn, " +
		"+ cat /proc/pressure/cpu). Every output is read by the format that knows it.",
	Detect: func(head []byte, _ string) int {
		for line := range bytes.Lines(head) {
			line = bytes.TrimRight(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), " \r\n")
			if len(line) == 0 {
				continue
			}
			if _, ok := readPrompt(line); ok {
				return 97
			}
			return 0
		}
		return 0
	},
	Parse: parseCommands,
})

// prompt is what a prompt line says.
type prompt struct{ host, command string }

// knownCommands begin the command lines whose outputs people paste. A "#" is a
// prompt only before one of them: it begins comments, too.
var knownCommands = []string{
	"arp", "bridge", "brctl", "cat", "conntrack", "crictl", "curl", "date", "dmesg", "docker", "ethtool", "grep", "hostname", "ifconfig",
	"ip", "ip6tables", "ip6tables-save", "iptables", "iptables-save", "journalctl", "k3s", "kubectl", "less", "lsof", "microk8s", "netstat",
	"nft", "nsenter", "nstat", "oc", "ping", "podman", "route", "ss", "sudo", "sysctl", "tail", "tc", "tcpdump", "tshark", "uname", "watch", "zcat",
}

// readPrompt recognises "$ cmd", "# cmd", "+ cmd", "user@host:~$ cmd" and
// "[user@host dir]# cmd" before a known command.
func readPrompt(line []byte) (prompt, bool) {
	text := string(line)
	var p prompt
	switch {
	case strings.HasPrefix(text, "$ "), strings.HasPrefix(text, "# "), strings.HasPrefix(text, "+ "):
		p.command = strings.TrimSpace(text[2:])
	default:
		end := strings.IndexAny(text, "$#")
		if end < 3 || end > 120 || end+1 >= len(text) || text[end+1] != ' ' {
			return p, false
		}
		user, host, ok := strings.Cut(strings.TrimPrefix(text[:end], "["), "@")
		if !ok || user == "" || strings.ContainsAny(user, " \t") {
			return p, false
		}
		p.host = host
		if i := strings.IndexAny(host, " :]"); i >= 0 {
			p.host = host[:i]
		}
		p.command = strings.TrimSpace(text[end+1:])
	}
	name, _, _ := strings.Cut(p.command, " ")
	name = name[strings.LastIndexByte(name, '/')+1:]
	return p, slices.Contains(knownCommands, name)
}

// commandReader yields the output of one command after another.
type commandReader struct {
	l     *textLines
	next  prompt // of the output that follows
	found bool   // next is set
	left  []byte // of the current line, not yet read
	end   bool   // of the current output
}

// Read implements io.Reader over the current output.
func (c *commandReader) Read(b []byte) (int, error) {
	for len(c.left) == 0 {
		if c.end || !c.l.scan() {
			c.end = true
			return 0, io.EOF
		}
		if p, ok := readPrompt(bytes.TrimRight(c.l.text(), " ")); ok {
			c.next, c.found, c.end = p, true, true
			return 0, io.EOF
		}
		c.left = c.l.raw
	}
	n := copy(b, c.left)
	c.left = c.left[n:]
	return n, nil
}

func parseCommands(ctx context.Context, in *Input) error {
	c := &commandReader{l: newTextLines(in, maxObjectBytes)}
	if _, err := io.Copy(io.Discard, c); err != nil { // what stands before the first prompt
		return err
	}
	head := make([]byte, 64<<10)
	for c.found {
		p, at := c.next, place{c.l.n, c.l.offset}
		c.found, c.end = false, false
		sub := &Input{
			Path: in.Path, Command: p.command, Info: in.Info, Sink: in.Sink,
			FirstLine: at.line + 1, FirstOffset: c.l.next,
		}
		if p.host != "" {
			sub.Sink = hostSink{in.Sink, p.host}
		}
		n, err := io.ReadFull(c, head)
		whole := err != nil
		if len(bytes.TrimSpace(head[:n])) > 0 {
			var rest io.Reader = c
			if whole {
				rest = bytes.NewReader(nil)
			}
			sub.R = io.MultiReader(bytes.NewReader(slices.Clone(head[:n])), rest)
			if err := parseOutput(ctx, sub, head[:n], at); err != nil {
				return err
			}
		}
		if _, err := io.Copy(io.Discard, c); err != nil {
			return err
		}
	}
	in.Info.Count("lines", c.l.n-firstLine(in)-in.Info.Counts["lines"]) // prompts and what was left out
	return c.l.err
}

// parseOutput reads one output by the format that knows it. An output that none
// knows is noted: it may be what matters most.
func parseOutput(ctx context.Context, in *Input, head []byte, at place) error {
	f, err := Detect(head, printedPath(in))
	if err != nil || f.Name == "command-outputs" || f.Name == "minikube-logs" {
		in.Info.Records++
		first, _, _ := bytes.Cut(bytes.TrimSpace(head), []byte("\n"))
		in.Sink.Emit(event.Event{
			Ref:     event.Ref{Stream: in.Info.ID, Line: at.line, Offset: at.offset},
			Payload: &event.Notice{Code: "section-skipped", Message: clip([]byte(in.Command+": "+string(first)), maxMessage)},
		})
		return nil
	}
	return f.Parse(ctx, in)
}

// hostSink names the node of events that do not know theirs: the host in the
// prompt.
type hostSink struct {
	event.Sink
	host string
}

// Emit implements event.Sink.
func (s hostSink) Emit(e event.Event) {
	if e.Node == "" {
		e.Node = s.host
	}
	s.Sink.Emit(e)
}
