package report

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
	"strings"

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
	out.value("", reflect.ValueOf(complete(res)).Elem())
	out.text("\n")
	return out.err
}

func encodeJSON(w io.Writer, v any) error {
	out := jsonWriter{w: w}
	out.encode("", v)
	out.text("\n")
	return out.err
}

// long is how many elements a list may have to be encoded in one piece.
const long = 32

// jsonWriter writes values with long lists element by element: the encoder keeps
// all of a value in memory, thrice when it indents, and a cluster has thousands
// of pods, a capture thousands of targets.
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

// encode writes a value in one piece without a newline at its end; indent is
// that of the line it begins in.
func (j *jsonWriter) encode(indent string, v any) {
	if j.err != nil {
		return
	}
	j.buf.Reset()
	enc := json.NewEncoder(&j.buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, "  ")
	if j.err = enc.Encode(v); j.err == nil {
		_, j.err = j.w.Write(escape.JSON(bytes.TrimSuffix(j.buf.Bytes(), []byte("\n"))))
	}
}

func (j *jsonWriter) value(indent string, v reflect.Value) {
	switch {
	case !hasLong(v):
		j.encode(indent, v.Interface())
	case v.Kind() == reflect.Struct:
		j.object(indent, v)
	default:
		j.list(indent, v)
	}
}

// hasLong reports whether a list in v has many structs for elements.
func hasLong(v reflect.Value) bool {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && hasLong(v.Field(i)) {
				return true
			}
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		if v.Len() > long {
			return true
		}
		for i := range v.Len() {
			if hasLong(v.Index(i)) {
				return true
			}
		}
	}
	return false
}

// object writes a struct as the encoder would. Its fields have names, and
// omitempty for their only option.
func (j *jsonWriter) object(indent string, v reflect.Value) {
	before := "{\n"
	for i := range v.NumField() {
		name, option, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		f := v.Field(i)
		if name == "-" || option == "omitempty" && f.Kind() != reflect.Struct && (f.IsZero() || (f.Kind() == reflect.Slice || f.Kind() == reflect.Map) && f.Len() == 0) {
			continue
		}
		j.text(before + indent + "  \"" + name + "\": ")
		before = ",\n"
		j.value(indent+"  ", f)
	}
	j.text("\n" + indent + "}")
}

func (j *jsonWriter) list(indent string, v reflect.Value) {
	before := "[\n"
	for i := range v.Len() {
		j.text(before + indent + "  ")
		before = ",\n"
		j.value(indent+"  ", v.Index(i))
	}
	j.text("\n" + indent + "]")
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
