package logs_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/logs"
)

// FuzzPacketText feeds broken printed packets to their reader alone: it must not
// panic, and every event must point into the text.
func FuzzPacketText(f *testing.F) {
	cases, _ := filepath.Glob("../../fixtures/formats/packet-text/*.txtar")
	for _, file := range cases {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, in := range a.Files {
			if bytes.HasPrefix([]byte(in.Name), []byte("in/")) {
				f.Add(in.Data)
				for line := range bytes.Lines(in.Data) {
					f.Add(line)
				}
			}
		}
	}
	var format logs.Format
	for _, o := range logs.Formats() {
		if o.Name == "packet-text" {
			format = o
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if score := format.Detect(data, "x"); score < 0 || score > 100 {
			t.Fatalf("score %d", score)
		}
		c := &recorded{info: &event.StreamInfo{ID: 1}}
		if err := format.Parse(context.Background(), &logs.Input{Path: "x", R: bytes.NewReader(data), Info: c.info, Sink: c}); err != nil {
			t.Fatal(err)
		}
		lines := int64(bytes.Count(data, []byte("\n")) + 1)
		for _, e := range c.events {
			if e.Ref.Stream != 1 || e.Ref.Line < 1 || e.Ref.Line > lines || e.Ref.Offset > int64(len(data)) {
				t.Fatalf("event points to %+v of %d lines", e.Ref, lines)
			}
		}
		if c.info.Rejected > c.info.Records {
			t.Fatalf("%d of %d records rejected", c.info.Rejected, c.info.Records)
		}
	})
}
