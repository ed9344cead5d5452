package model

import (
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Time is an instant in a report: RFC 3339 UTC with nanoseconds, "" when
// unknown.
type Time struct{ event.Nanos }

// At wraps nanoseconds.
func At(n event.Nanos) Time { return Time{n} }

// IsZero reports whether the instant is unknown.
func (t Time) IsZero() bool { return t.Nanos == 0 }

// Layout is the format of every time in JSON outputs.
const Layout = "2006-01-02T15:04:05.000000000Z"

// String renders with Layout, "" when unknown.
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	return t.Nanos.Time().Format(Layout)
}

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Time) UnmarshalText(b []byte) error {
	if strings.TrimSpace(string(b)) == "" {
		*t = Time{}
		return nil
	}
	v, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return err
	}
	t.Nanos = event.FromTime(v)
	return nil
}
