package logs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/logs"
)

var update = flag.Bool("update", false, "rewrite the golden sections of fixtures/formats")

// TestFormats runs fixtures/formats/<format>/*.txtar. A case holds inputs named
// "in/<path>", which detection must recognise as <format>, and for each one a
// golden "out/<path>": the events, problems and counters as JSON lines, zero
// fields left out. A line "flags: crlf" in the comment gives the inputs DOS
// line ends; "flags: dashes" means that lines beginning with "\-- " stand for
// "-- ", which txtar would take for the name of a file.
func TestFormats(t *testing.T) {
	cases, err := filepath.Glob("../../fixtures/formats/*/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, file := range cases {
		format := filepath.Base(filepath.Dir(file))
		t.Run(format+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			require.NoError(t, err)
			golden := map[string]string{}
			for _, f := range a.Files {
				if name, ok := strings.CutPrefix(f.Name, "out/"); ok {
					golden[name] = string(f.Data)
				}
			}
			out := &txtar.Archive{Comment: a.Comment}
			for _, f := range a.Files {
				name, ok := strings.CutPrefix(f.Name, "in/")
				if !ok {
					continue
				}
				data := f.Data
				if bytes.Contains(a.Comment, []byte("flags: crlf")) {
					data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
				}
				if bytes.Contains(a.Comment, []byte("flags: dashes")) {
					data = bytes.TrimPrefix(bytes.ReplaceAll(append([]byte("\n"), data...), []byte("\n\\-- "), []byte("\n-- ")), []byte("\n"))
				}
				c := readLog(t, name, data)
				assert.Equal(t, format, c.info.Format, "detection of %s", name)
				got := goldenText(t, c)
				out.Files = append(out.Files, f, txtar.File{Name: "out/" + name, Data: []byte(got)})
				if !*update {
					assert.Equal(t, golden[name], got, "%s (run with -update to accept)", name)
				}
			}
			if *update {
				require.NoError(t, os.WriteFile(file, txtar.Format(out), 0o644))
			}
		})
	}
}

func goldenText(t testing.TB, c *recorded) string {
	var b strings.Builder
	for _, e := range c.events {
		m := map[string]any{"at": e.Ref.Place()}
		put(m, "time", stampText(e.Time))
		put(m, "logged", stampText(e.Logged))
		put(m, "node", e.Node)
		put(m, "pid", plain(reflect.ValueOf(e.PID)))
		put(m, e.Payload.Kind().String(), plain(reflect.ValueOf(e.Payload)))
		line(t, &b, m)
	}
	for _, p := range c.problems {
		m := map[string]any{"at": p.Ref.Place(), "problem": p.Code, "message": p.Message, "count": p.Count}
		line(t, &b, m)
	}
	info := c.info
	m := map[string]any{"records": info.Records}
	for name, n := range info.Counts {
		put(m, name, plain(reflect.ValueOf(n)))
	}
	put(m, "rejected", plain(reflect.ValueOf(info.Rejected)))
	put(m, "kept", plain(reflect.ValueOf(info.Kept)))
	put(m, "node", info.Node)
	put(m, "first", stampText(info.First))
	put(m, "last", stampText(info.Last))
	if info.Verbosity >= 0 {
		m["verbosity"] = info.Verbosity
	}
	line(t, &b, map[string]any{"stream": m})
	return b.String()
}

func line(t testing.TB, b *strings.Builder, m map[string]any) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(m))
}

func put(m map[string]any, key string, v any) {
	if v != nil && v != "" {
		m[key] = v
	}
}

func stampText(s event.Stamp) any {
	if s.IsZero() {
		return nil
	}
	if s.Missing&event.MissingCollection != 0 {
		return fmt.Sprintf("%s ago ±%s", time.Duration(-s.At), s.Precision)
	}
	text := fmt.Sprintf("%s ±%s", s.At.Time().Format(time.RFC3339Nano), s.Precision)
	for i, name := range []string{"year", "zone", "date", "epoch"} {
		if s.Missing&(1<<i) != 0 {
			text += " no-" + name
		}
	}
	return text
}

// plain turns a payload into what JSON prints, without zero fields; nil for a
// zero value.
func plain(v reflect.Value) any {
	if !v.IsValid() || v.IsZero() {
		return nil
	}
	switch x := v.Interface().(type) {
	case event.Nanos:
		return x.Time().Format(time.RFC3339Nano)
	case event.Stamp:
		return stampText(x)
	case fmt.Stringer:
		if k := v.Kind(); k != reflect.Pointer && v.Type() != reflect.TypeFor[event.PodRef]() {
			return x.String()
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		return plain(v.Elem())
	case reflect.Struct:
		m := map[string]any{}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				put(m, v.Type().Field(i).Name, plain(v.Field(i)))
			}
		}
		return m
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	case reflect.Map:
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return fmt.Sprint(keys[i]) < fmt.Sprint(keys[j]) })
		m := map[string]any{}
		for _, k := range keys {
			m[fmt.Sprint(k)] = plain(v.MapIndex(k))
		}
		return m
	}
	return v.Interface()
}

// FuzzFormats feeds every registered format bytes that it did not ask for: none
// may panic, hang, or refer behind the end of its input.
func FuzzFormats(f *testing.F) {
	cases, _ := filepath.Glob("../../fixtures/formats/*/*.txtar")
	for _, file := range cases {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, in := range a.Files {
			if strings.HasPrefix(in.Name, "in/") {
				f.Add(in.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range logs.Formats() {
			score := format.Detect(data[:min(len(data), 64<<10)], "x")
			if score < 0 || score > 100 {
				t.Fatalf("%s scores %d", format.Name, score)
			}
			c := &recorded{}
			in := &logs.Input{Path: "x", R: bytes.NewReader(data), Info: &event.StreamInfo{ID: 1}, Sink: c}
			began := time.Now()
			_ = format.Parse(context.Background(), in)
			if d := time.Since(began); d > 2*time.Second && len(data) < 64<<10 {
				t.Fatalf("%s needs %v for %d bytes", format.Name, d, len(data))
			}
			for _, e := range c.events {
				if e.Payload == nil || e.Ref.Stream != 1 || e.Ref.Offset > int64(len(data)) {
					t.Fatalf("%s: bad event %+v", format.Name, e)
				}
			}
		}
	})
}
