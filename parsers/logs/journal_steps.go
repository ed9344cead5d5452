package logs

import (
	"strconv"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// wallClock follows the wall clock of a host against its monotonic clock: journald
// notes both with every entry, so what they gain on each other is what somebody
// set the wall clock by. A step counts when the clocks go together right before
// and right after it: monotonic times that were made up do not.
type wallClock struct {
	boot      string
	wall      event.Nanos
	sinceBoot time.Duration
	together  bool // they did at the last entry
	// step is the size of a step at the last entry, not yet confirmed; at and ref are
	// that entry's.
	step time.Duration
	at   event.Stamp
	ref  event.Ref
}

const (
	// clockStep is the least change told: a time service slews what is smaller.
	clockStep = 100 * time.Millisecond
	// slewShare is the fastest a time service moves the clock without a step:
	// chronyd's default is one part in twelve.
	slewShare = 12
)

// noteStep emits that the wall clock was set between two entries of a host.
// Entries of another boot, and of streams that run backwards, start anew.
func (s *session) noteStep(h *hostState, r *record) {
	w := &h.wall
	passed, went := r.sinceBoot-w.sinceBoot, r.stamp.At.Sub(w.wall)
	w.wall, w.sinceBoot = r.stamp.At, r.sinceBoot
	if w.boot != string(r.boot) || passed < 0 || r.stamp.IsZero() {
		*w = wallClock{boot: string(r.boot), wall: w.wall, sinceBoot: w.sinceBoot}
		return
	}
	gained := went - passed
	switch {
	case gained.Abs() < clockStep || gained.Abs() < passed/slewShare:
		if w.step != 0 {
			s.emitStep(h, w)
		}
		w.together, w.step = w.together || passed > 0, 0
	case w.together && passed > 0:
		w.together, w.step, w.at, w.ref = false, gained, r.stamp, r.ref
	default:
		w.together, w.step = false, 0
	}
}

func (s *session) emitStep(h *hostState, w *wallClock) {
	sign := ""
	if w.step > 0 {
		sign = "+"
	}
	seconds := sign + strconv.FormatFloat(w.step.Seconds(), 'f', 3, 64)
	s.emit(h, &record{ref: w.ref, stamp: w.at}, event.Stamp{}, 0, &event.NodeState{Code: event.NodeTimeChanged, Value: seconds,
		Message: "the wall clock moved by " + seconds + " s against the monotonic clock of the journal: it was set, or the machine slept"})
}
