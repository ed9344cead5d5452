package report

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/escape"
)

var _ = register(renderer{"json", files("report.json"), renderJSON})

func renderJSON(_ context.Context, res *model.Result, out Output, _ Options) error {
	return writeFile(out, "report.json", func(w io.Writer) error { return WriteJSON(w, res) })
}

// WriteJSON writes report.json: schema 1, indented, every list present even
// when empty. Control and format characters of quoted text stand as \u escapes,
// so that showing the file at a terminal is harmless.
func WriteJSON(w io.Writer, res *model.Result) error {
	out := jsonWriter{w: w}
	out.object(reflect.ValueOf(complete(res)).Elem())
	return out.err
}

func encodeJSON(w io.Writer, v any) error {
	out := jsonWriter{w: w}
	out.value("", v)
	out.text("\n")
	return out.err
}

// jsonWriter writes values one by one: the encoder keeps all of a value in
// memory, thrice when it indents, and a cluster has thousands of pods.
type jsonWriter struct {
	w   io.Writer
	buf bytes.Buffer
	err error
}

func (j *jsonWriter) text(s string) {
	if j.err == nil {
		_, j.err = io.WriteString(j.w, s)
	}
}

// value writes a value without a newline at its end; prefix is the indent of the
// line it begins in.
func (j *jsonWriter) value(prefix string, v any) {
	if j.err != nil {
		return
	}
	j.buf.Reset()
	enc := json.NewEncoder(&j.buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, "  ")
	if j.err = enc.Encode(v); j.err == nil {
		_, j.err = j.w.Write(escape.JSON(bytes.TrimSuffix(j.buf.Bytes(), []byte("\n"))))
	}
}

// object writes a struct as the encoder would, the elements of its lists one by
// one. Its fields have names and no options.
func (j *jsonWriter) object(v reflect.Value) {
	before := "{\n"
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("json")
		if name == "-" {
			continue
		}
		j.text(before + "  \"" + name + "\": ")
		before = ",\n"
		f := v.Field(i)
		if f.Kind() != reflect.Slice || f.Len() == 0 {
			j.value("  ", f.Interface())
			continue
		}
		for k := range f.Len() {
			j.text([...]string{"[\n    ", ",\n    "}[min(k, 1)])
			j.value("    ", f.Index(k).Interface())
		}
		j.text("\n  ]")
	}
	j.text("\n}\n")
}

// ReadJSON reads a report.json. Tables are not part of it.
func ReadJSON(r io.Reader) (*model.Result, error) {
	res := new(model.Result)
	if err := json.NewDecoder(r).Decode(res); err != nil {
		return nil, err
	}
	return res, nil
}

// writeFile creates a file of the report and fills it.
func writeFile(out Output, name string, fill func(io.Writer) error) error {
	w, err := out.Create(name)
	if err != nil {
		return err
	}
	if err := fill(w); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}
