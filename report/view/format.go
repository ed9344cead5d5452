package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Instant prints a time in UTC with milliseconds, "unknown" when it is.
func Instant(n event.Nanos) string {
	if n == 0 {
		return "unknown"
	}
	return n.Time().Format("2006-01-02 15:04:05.000")
}

// Clock prints the time of day in UTC with milliseconds.
func Clock(n event.Nanos) string {
	if n == 0 {
		return "unknown"
	}
	return n.Time().Format("15:04:05.000")
}

// Duration prints a duration with the two units that matter: "41 s",
// "4 min 10 s", "0.08 ms".
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-d)
	case d == 0:
		return "0 s"
	case d < time.Second:
		return short(float64(d)/1e6) + " ms"
	case d < 10*time.Second:
		return short(d.Seconds()) + " s"
	case d < 2*time.Minute:
		return strconv.Itoa(int(math.Round(d.Seconds()))) + " s"
	case d < 2*time.Hour:
		return pair(int64(d.Round(time.Second)/time.Second), 60, "min", "s")
	case d < 48*time.Hour:
		return pair(int64(d.Round(time.Minute)/time.Minute), 60, "h", "min")
	default:
		return pair(int64(d.Round(time.Hour)/time.Hour), 24, "d", "h")
	}
}

func pair(small, unit int64, major, minor string) string {
	s := strconv.FormatInt(small/unit, 10) + " " + major
	if small%unit != 0 {
		s += " " + strconv.FormatInt(small%unit, 10) + " " + minor
	}
	return s
}

// short prints three significant digits at most.
func short(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return trimZero(strconv.FormatFloat(v, 'f', 1, 64))
	case v >= 1:
		return trimZero(strconv.FormatFloat(v, 'f', 2, 64))
	default:
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
}

func trimZero(s string) string { return strings.TrimRight(strings.TrimRight(s, "0"), ".") }

// Millis prints milliseconds as a duration.
func Millis(ms float64) string { return Duration(time.Duration(ms * 1e6)) }

// Seconds prints seconds as a duration.
func Seconds(s float64) string { return Duration(time.Duration(s * 1e9)) }

// Count prints a number with its noun: "1 pod", "3 pods".
func Count[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(int64(n)) + " " + many
}

// Number prints an integer with a thin grouping that every font has: 1,204,000.
func Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if neg {
		return "-" + b.String()
	}
	return b.String()
}

// Bytes prints a size: "512 B", "4.6 MiB".
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, i := float64(n)/unit, 0
	for v >= unit && i < 4 {
		v /= unit
		i++
	}
	return short(v) + " " + [...]string{"KiB", "MiB", "GiB", "TiB", "PiB"}[i]
}

// Confidence prints the number of a verdict, always with two digits.
func Confidence(c float64) string { return strconv.FormatFloat(c, 'f', 2, 64) }

// Target prints where a probe goes: "http 10.0.0.1:8080/healthz".
func Target(t model.Target) string {
	if t.Scheme == "exec" {
		return "exec"
	}
	host := t.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	s := host
	if t.Port != 0 {
		s += ":" + strconv.Itoa(t.Port)
	}
	s += t.Path
	if t.Scheme != "" && s != "" {
		s = " " + s
	}
	return t.Scheme + s
}

// Subject names the probe of a subject: "shop/web-1 web readiness".
func Subject(s model.Subject) string {
	if s.Pod == "" {
		return Target(s.Target)
	}
	return strings.Join(nonEmpty(s.Namespace+"/"+s.Pod, s.Container, s.Probe), " ")
}

// PodName names the pod of a subject, its target where the pod is unknown.
func PodName(s model.Subject) string {
	if s.Pod == "" {
		return Target(s.Target)
	}
	return s.Namespace + "/" + s.Pod
}

func nonEmpty(parts ...string) []string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// List joins words: "a", "a and b", "a, b and c"; more than limit are counted.
func List(words []string, limit int) string {
	if len(words) > limit {
		return fmt.Sprintf("%s and %s more", strings.Join(words[:limit], ", "), Number(int64(len(words)-limit)))
	}
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
