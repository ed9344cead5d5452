package logs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/logs"
)

// The same objects in YAML and in JSON give the same events.
func TestYAMLAndJSONAgree(t *testing.T) {
	cases, err := filepath.Glob("../../fixtures/formats/kube-yaml/*.txtar")
	require.NoError(t, err)
	compared := 0
	for _, file := range cases {
		a, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for _, f := range a.Files {
			name, ok := strings.CutPrefix(f.Name, "in/")
			if !ok {
				continue
			}
			text, ok := asJSON(f.Data)
			if !ok {
				continue // a case of damage
			}
			compared++
			want, got := readLog(t, name, f.Data), readLog(t, name+".json", text)
			assert.Equal(t, "kube-json", got.info.Format, name)
			assert.Equal(t, payloads(want), payloads(got), "%s: %s", file, name)
		}
	}
	assert.GreaterOrEqual(t, compared, 10)
}

// asJSON converts YAML documents with a parser that is not ours.
func asJSON(src []byte) ([]byte, bool) {
	d := yaml.NewDecoder(bytes.NewReader(src))
	var out bytes.Buffer
	for {
		var v map[string]any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return out.Bytes(), out.Len() > 0
		}
		if err != nil {
			return nil, false
		}
		b, err := json.MarshalIndent(withStringKeys(v), "", "  ")
		if err != nil {
			return nil, false
		}
		out.Write(append(b, '\n'))
	}
}

func withStringKeys(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = withStringKeys(e)
		}
	case map[any]any:
		m := map[string]any{}
		for k, e := range v {
			m[fmt.Sprint(k)] = withStringKeys(e)
		}
		return m
	case []any:
		for i, e := range v {
			v[i] = withStringKeys(e)
		}
	}
	return v
}

// payloads prints the facts of a stream without their places.
func payloads(r *recorded) []string {
	var list []string
	for _, e := range r.events {
		list = append(list, fmt.Sprintf("%s %s %+v", e.Time.At.Time(), e.Node, e.Payload))
	}
	return list
}

func BenchmarkEventsJSON(b *testing.B) {
	text, err := io.ReadAll(eventList(6000))
	require.NoError(b, err)
	list, ok := asJSON(text)
	require.True(b, ok)
	f := format(b, "kube-json")
	b.SetBytes(int64(len(list)))
	b.ReportAllocs()
	for b.Loop() {
		d := &discard{}
		in := &logs.Input{Path: "events.json", R: bytes.NewReader(list), Info: &event.StreamInfo{ID: 1}, Sink: d}
		if err := f.Parse(context.Background(), in); err != nil || d.events != 6000 {
			b.Fatal(err, d.events)
		}
	}
}
