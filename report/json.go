package report

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

var _ = register(renderer{"json", files("report.json"), renderJSON})

func renderJSON(_ context.Context, res *model.Result, out Output, _ Options) error {
	return writeFile(out, "report.json", func(w io.Writer) error { return WriteJSON(w, res) })
}

// WriteJSON writes report.json: schema 1, indented, every list present even
// when empty. Control and format characters of quoted text stand as \u escapes,
// so that showing the file at a terminal is harmless.
func WriteJSON(w io.Writer, res *model.Result) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(complete(res)); err != nil {
		return err
	}
	_, err := w.Write(escapeJSON(buf.Bytes()))
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

// escapeJSON replaces the characters that change how text around them is shown
// by their escapes. JSON has no such characters outside strings.
func escapeJSON(b []byte) []byte {
	clean := true
	for _, c := range b {
		if c >= utf8.RuneSelf || c == 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return b
	}
	out := make([]byte, 0, len(b)+len(b)/16)
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		switch {
		case r >= 0x10000 && !unicode.IsPrint(r):
			r1, r2 := utf16Pair(r)
			out = appendEscape(appendEscape(out, r1), r2)
		case r != '\n' && (r >= 0x7f && !unicode.IsPrint(r)):
			out = appendEscape(out, r)
		default:
			out = append(out, b[i:i+n]...)
		}
		i += n
	}
	return out
}

func utf16Pair(r rune) (rune, rune) {
	r -= 0x10000
	return 0xd800 + (r>>10)&0x3ff, 0xdc00 + r&0x3ff
}

func appendEscape(b []byte, r rune) []byte {
	s := strconv.FormatInt(int64(r), 16)
	return append(append(b, `\u0000`[:6-len(s)]...), s...)
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
