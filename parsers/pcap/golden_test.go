package pcap_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const captures = "../../fixtures/captures"

// TestGolden reads each capture of the fixtures and compares what it says, as
// text, with the file beside it.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(captures + "/*/*.pcap*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		if strings.HasSuffix(path, ".golden") {
			continue
		}
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			info, c := parseFile(t, path)
			got := render(info, c)
			if *update {
				require.NoError(t, os.WriteFile(path+".golden", []byte(got), 0o644))
				return
			}
			want, err := os.ReadFile(path + ".golden")
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
}

// render prints a stream's row and its events in frame order: one line each,
// with every field that is not zero. Times count from the first frame.
func render(info *event.StreamInfo, c *collector) string {
	var b strings.Builder
	z := info.First.At
	fmt.Fprintf(&b, "%s %v records=%d first=%s span=%v\n", info.Format, info.Capture.LinkTypes, info.Records,
		info.First.At.Time().Format("2006-01-02T15:04:05.000000000Z"), info.Last.At.Sub(z))
	keys := make([]string, 0, len(info.Counts))
	for k, v := range info.Counts {
		if v != 0 {
			keys = append(keys, fmt.Sprintf("%s=%d", k, v))
		}
	}
	slices.Sort(keys)
	fmt.Fprintln(&b, "counts", strings.Join(keys, " "))
	for _, x := range info.Capture.Targets {
		fmt.Fprintf(&b, "target %v syn=%d synack=%d rst_from=%d rst_to=%d\n", x.Addr, x.SYN, x.SYNACK, x.RSTFrom, x.RSTTo)
	}
	for _, x := range info.Capture.Talkers {
		fmt.Fprintf(&b, "talker %v %v frames=%d\n", x.MAC, x.IP, x.Frames)
	}
	for _, p := range c.problems {
		fmt.Fprintf(&b, "problem #%d @%d %s: %s (%d)\n", p.Ref.Packet, p.Ref.Offset, p.Code, p.Message, p.Count)
	}
	events := slices.Clone(c.events)
	slices.SortStableFunc(events, func(a, b event.Event) int { return a.Ref.Compare(b.Ref) })
	for _, e := range events {
		fmt.Fprintf(&b, "#%d %s %s%s\n", e.Ref.Packet, since(e.Time.At, z), e.Payload.Kind(), fields(e.Payload, z))
	}
	return b.String()
}

func since(at, zero event.Nanos) string { return fmt.Sprintf("+%.6f", at.Sub(zero).Seconds()) }

// fields prints the fields of a payload that are set.
func fields(p any, z event.Nanos) string {
	var b strings.Builder
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		name := v.Type().Field(i).Name
		switch x := v.Field(i).Interface().(type) {
		case event.Mark:
			fmt.Fprintf(&b, " %s=#%d%s", name, x.Packet, since(x.At, z))
		case event.ICMPError:
			fmt.Fprintf(&b, " %s=#%d%s from %v type %d code %d", name, x.Packet, since(x.At, z), x.From, x.Type, x.Code)
		case []event.Nanos:
			for i, at := range x {
				fmt.Fprintf(&b, "%s%s", []string{" " + name + "=", ","}[min(i, 1)], since(at, z))
			}
		case string:
			fmt.Fprintf(&b, " %s=%q", name, x)
		default:
			fmt.Fprintf(&b, " %s=%v", name, x)
		}
	}
	return b.String()
}
