// Package progress shows on one terminal line how far reading has come. It
// reads counters that the reader keeps anyway and owns no state of the run.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/source"
)

const interval = 200 * time.Millisecond

// Line is a progress line on a terminal. A nil Line shows nothing.
type Line struct {
	w     io.Writer
	text  func() string
	done  chan struct{}
	ended sync.WaitGroup
}

// Start shows the counters on w until Stop.
func Start(w io.Writer, counters *source.Progress) *Line {
	return StartText(w, func() string { return Text(counters.Read.Load(), counters.Total.Load(), counters.Members.Load()) })
}

// StartText shows what text returns on w until Stop.
func StartText(w io.Writer, text func() string) *Line {
	l := &Line{w: w, text: text, done: make(chan struct{})}
	l.ended.Go(l.run)
	return l
}

// Stop removes the line. It may be called more than once.
func (l *Line) Stop() {
	if l == nil {
		return
	}
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	l.ended.Wait()
}

func (l *Line) run() {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	shown := false
	for {
		select {
		case <-tick.C:
			fmt.Fprintf(l.w, "\r\x1b[K%s", l.text())
			shown = true
		case <-l.done:
			if shown {
				fmt.Fprint(l.w, "\r\x1b[K")
			}
			return
		}
	}
}

// Text is the line for a state of the counters: bytes of the inputs as they lie
// on disk, the only ones whose total is known before reading. A total of 0 is
// unknown.
func Text(read, total, members int64) string {
	if total <= 0 || read > total {
		return fmt.Sprintf("reading: %s, %d files", Bytes(read), members)
	}
	return fmt.Sprintf("reading: %d%% of %s, %d files", read*100/total, Bytes(total), members)
}

// Bytes renders a size with a decimal unit.
func Bytes(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	v, i := float64(n), 0
	for v >= 999.5 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	if i == 0 || v >= 99.5 {
		return fmt.Sprintf("%.0f %s", v, units[i])
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
