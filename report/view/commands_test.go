package view

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

func TestCommandsOfEveryKindOfStream(t *testing.T) {
	const at = 1796190685e9 // 2026-12-02 05:51:25 UTC
	for _, c := range []struct {
		path, format string
		ref          model.Ref
		want         string
	}{
		{"kubelet.log", "journal-short", model.Ref{Line: 7}, `sed -n '7p' kubelet.log`},
		{"it's here/a b.log", "journal-short", model.Ref{Line: 7}, `sed -n '7p' 'it'\''s here/a b.log'`},
		{"-n.log", "journal-short", model.Ref{Line: 7}, `sed -n '7p' ./-n.log`},
		{"a\n$(id).log", "journal-short", model.Ref{Line: 7}, `sed -n '7p' $'a\x0a$(id).log'`},
		{"b.tar.gz!/pods.yaml", "kube-yaml", model.Ref{Line: 7}, `tar -xzOf b.tar.gz pods.yaml | sed -n '7,47p'`},
		{"b.zip!/k.export", "journal-export", model.Ref{Line: 7}, `unzip -p b.zip k.export | sed -n '7,/^$/p'`},
		{"b.tar.xz!/l.log.gz!/l.log", "journal-verbose", model.Ref{Line: 7}, `tar -xJOf b.tar.xz l.log.gz | gzip -dc | sed -n '7,32p'`},
		{"n.pcap", "pcap", model.Ref{Packet: 9, Offset: 40}, `tshark -r n.pcap -Y 'frame.number == 9'`},
		{"b.tgz!/n.pcap", "pcapng", model.Ref{Packet: 9}, `tar -xzOf b.tgz n.pcap | tshark -r - -Y 'frame.number == 9'`},
		{"n.txt", "packet-text", model.Ref{Packet: 9, Line: 18}, `sed -n '18p' n.txt`},
		{"b.tar!/-n.log", "journal-short", model.Ref{Line: 7}, `tar -xOf b.tar -- -n.log | sed -n '7p'`},
		{"-", "journal-short", model.Ref{Line: 7}, ""},
		{"k.journal", "journal-binary", model.Ref{Offset: 70},
			`journalctl --file k.journal -o short-precise --utc --since '2026-12-02 05:51:24 UTC' --until '2026-12-02 05:51:27 UTC'`},
		{"b.tar!/k.journal", "journal-binary", model.Ref{Offset: 70},
			`tar -xOf b.tar k.journal > extracted.journal && journalctl --file extracted.journal -o short-precise --utc --since '2026-12-02 05:51:24 UTC' --until '2026-12-02 05:51:27 UTC'`},
	} {
		c.ref.Stream = 1
		res := &model.Result{
			Inputs:    []model.Input{{Path: c.path, Streams: []model.Stream{{ID: 1, Path: c.path, Format: c.format}}}},
			Incidents: []model.Incident{{Evidence: []model.Evidence{{Role: model.RoleFor, Ref: c.ref, Time: model.At(at)}}}},
		}
		idx := Index(res)
		got := idx.Commands(idx.Incidents[0])
		if c.want == "" {
			assert.Empty(t, got, c.path)
			continue
		}
		assert.Equal(t, []string{c.want}, got, c.path)
	}
}

// The line for the node names it, in a way that no name can end the comment.
func TestCommandForTheNode(t *testing.T) {
	const at = 1796190685e9
	res := &model.Result{Incidents: []model.Incident{{Node: "node-a\nrm -rf x", Window: model.Window{First: model.At(at), Last: model.At(at)}}}}
	idx := Index(res)
	assert.Equal(t, []string{`journalctl -u kubelet --utc --since '2026-12-02 05:50:55 UTC' --until '2026-12-02 05:51:56 UTC' # on $'node-a\x0arm -rf x'`},
		idx.Commands(idx.Incidents[0]))
}
