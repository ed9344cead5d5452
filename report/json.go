package report

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

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
	return encodeJSON(w, complete(res))
}

func encodeJSON(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escape.JSON(buf.Bytes()))
	return err
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
