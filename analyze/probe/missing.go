package probe

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// What became of a worker's grid, in Worker.Grid: held against the inputs, or why
// not.
const (
	GridChecked     = "checked"
	GridExec        = "exec"         // leaves no packets, and the log tells no successes
	GridNoSpec      = "no-spec"      // no input declares the period
	GridNoAttempt   = "no-attempt"   // nothing fixes when its ticks fall
	GridNoCoverage  = "no-coverage"  // neither a capture of the node's side nor a log that tells successes
	GridFiltered    = "filtered"     // the captures show nothing of the target
	GridHostNetwork = "host-network" // the node speaks to itself; no capture of all interfaces
	GridUndecided   = "undecided"    // other workers of the port tick alike
)

// Why a missing attempt is known to be missing, as its JoinReason.
const (
	MissingNoSYN  = "no-syn"  // a capture covers the tick and shows no connection
	MissingNoLine = "no-line" // a log that tells successes covers the tick and has no line
)

// lateness is how long after a tick its attempt may leave its first trace where
// the coverage ends: it may be served late, and a log tells of it when it is over.
func (w *Worker) lateness() time.Duration {
	return max(w.Period/4, 500*time.Millisecond) + cmp.Or(w.Timeout, time.Second)
}

// Missing infers the attempts that a worker's grid demands and no input shows,
// one Attempt for each unbroken run of them, with its count.
//
// Ticks are told from the attempts around them, never from a declared period
// alone: the moment at which a worker was started, and with it its phase, is not
// recorded. A tick is missing only where the kubelet had to serve it (same run of
// the container, not held, not deleted, same kubelet process, no longer attempt
// in the way) and where the absence of a trace says something: a capture of the
// node's side covers it and shows the target at other times, or a log at a
// verbosity that tells successes covers it. Everywhere else a tick without a line
// is most likely a success, and nothing is inferred; Worker.Grid says why.
func (s *Set) Missing(caps *capture.Set) {
	for _, w := range s.Workers {
		w.Missing, w.Grid = nil, s.gridOf(w)
		if w.Grid != GridChecked {
			continue
		}
		cover, why := s.cover(w, caps)
		if len(cover) == 0 {
			w.Grid = why
			continue
		}
		g := &grid{w: w, cover: cover, rephase: rephases(s.index.Node(w.Pod.Node)), set: s}
		g.walk()
	}
}

// gridOf says whether a worker's ticks can be told at all.
func (s *Set) gridOf(w *Worker) string {
	told := len(s.successes(w.Pod.Node)) > 0
	timed := slices.ContainsFunc(w.Attempts, func(a *Attempt) bool { return a.Source != "event" && a.Start != 0 })
	switch {
	case w.Handler == "exec" && !told:
		return GridExec
	case w.Period <= 0, w.Spec == nil && w.Pod.Name != "":
		return GridNoSpec
	case !timed:
		return GridNoAttempt
	case w.shared:
		return GridUndecided
	}
	return GridChecked
}

// stretch is a time that is covered, and by what.
type stretch struct {
	span
	why string
}

// cover lists the times in which the absence of an attempt of the worker means
// something, without overlaps, or says why there are none.
func (s *Set) cover(w *Worker, caps *capture.Set) ([]stretch, string) {
	var out []stretch
	for _, sp := range s.successes(w.Pod.Node) {
		out = append(out, stretch{sp, MissingNoLine})
	}
	why := GridNoCoverage
	if w.Handler == "exec" {
		return out, GridExec
	}
	for _, c := range caps.Captures {
		switch {
		case c.Inside() || c.Point == capture.Uplink || c.Node != "" && w.Pod.Node != "" && c.Node != w.Pod.Node:
		case w.Pod.HostNetwork && c.Point != capture.NodeAny:
			why = GridHostNetwork
		case !shows(c, w):
			why = GridFiltered
		default:
			for _, sp := range c.Spans() {
				out = append(out, stretch{span{sp.From, sp.To}, MissingNoSYN})
			}
		}
	}
	slices.SortFunc(out, func(a, b stretch) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), strings.Compare(a.why, b.why))
	})
	// The first to cover a time has it.
	flat := out[:0]
	for _, x := range out {
		if n := len(flat); n > 0 && x.from < flat[n-1].to {
			x.from = flat[n-1].to
		}
		if x.from < x.to {
			flat = append(flat, x)
		}
	}
	return flat, why
}

// shows reports whether the capture is known to show the worker's connections.
func shows(c *capture.Capture, w *Worker) bool {
	for _, a := range w.Attempts {
		if a.Conn != nil && slices.ContainsFunc(a.Conn.Sightings, func(s capture.Sighting) bool { return s.Capture == c }) {
			return true
		}
	}
	return false
}

// successes are the times in which the log of a node tells successful attempts.
func (s *Set) successes(node string) []span { return s.verbose[node] }

// rephases reports whether the ticker of the node's kubelet begins anew after an
// extra probe: from 1.32 on; of an unknown version the newer way is assumed.
func rephases(n *identity.Node) bool {
	if n == nil || n.Seen == nil {
		return true
	}
	_, rest, ok := strings.Cut(strings.TrimPrefix(n.Seen.KubeletVersion, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	m, err := strconv.Atoi(strings.TrimRight(minor, "+"))
	return !ok || err != nil || m >= 32
}

// grid walks along the ticks of one worker.
type grid struct {
	w       *Worker
	set     *Set
	cover   []stretch
	rephase bool
}

// service is something that served a tick: an attempt, or a connection of the worker
// whose result its packets do not tell.
type service struct {
	start, end event.Nanos
	a          *Attempt // nil for a connection
}

func (g *grid) services() []service {
	var out []service
	for _, a := range g.w.Attempts {
		if a.Source != "event" && a.Start != 0 {
			out = append(out, service{a.Start, a.End, a})
		}
	}
	for _, t := range g.w.unjudged {
		out = append(out, service{t, t, nil})
	}
	slices.SortStableFunc(out, func(x, y service) int { return cmp.Compare(x.start, y.start) })
	return out
}

// walk looks at the time between each service and the next, and after the last.
func (g *grid) walk() {
	w := g.w
	p := &pacer{w: w, period: w.Period}
	ms := g.services()
	for i, m := range ms {
		p.step(m.start)
		if i+1 < len(ms) && ms[i+1].start.Sub(m.start) < w.Period*3/2 {
			continue // the usual case: the next tick was served
		}
		if g.held(m) {
			continue
		}
		var next event.Nanos
		if i+1 < len(ms) {
			next = ms[i+1].start
		}
		lo, hi := max(m.end, m.start.Add(w.Period/2)), g.limit(m.start, next)
		phase := m.start
		if !g.rephase && p.phases[1] != 0 {
			phase = p.phases[1]
		}
		switch {
		case next == 0, hi < next:
			// Nothing served the grid any more: a tick counts when it had time to run late.
			g.missing(phase, lo, hi.Add(-w.lateness()))
		default:
			for _, f := range p.phases {
				if f != 0 && p.inStep(f, next) {
					phase = f
					break
				}
			}
			last := next.Add(-p.tolerance())
			if !p.inStep(phase, next) {
				// The next one is the latest tick, served late.
				last = phase.Add(next.Sub(phase) / w.Period * w.Period).Add(-1)
			}
			g.missing(phase, lo, last)
		}
	}
}

// held reports whether the worker had nothing to do after a service: a liveness or
// startup probe whose failure had been decided waits for the next container, and
// a startup probe that succeeded is over.
func (g *grid) held(m service) bool {
	if m.a == nil || g.w.Type == event.Readiness {
		return false
	}
	return m.a.Threshold == CrossedFailure || g.w.Type == event.Startup && !m.a.Failed()
}

// limit is until when the worker that ran at t surely had to go on; next is when it
// ran again, zero for never.
func (g *grid) limit(t, next event.Nanos) event.Nanos {
	end := g.cover[len(g.cover)-1].to
	p := g.w.Pod
	if r := p.RunAt(g.w.Container, t); r != nil && r.To != 0 {
		end = min(end, r.To)
	} else if r == nil && slices.ContainsFunc(p.Runs, func(r identity.Run) bool { return r.Container == g.w.Container }) {
		return t // the last moment of a container that has just ended
	}
	for _, r := range g.set.restarts[p.Node] {
		if r.Started > t && (next == 0 || next >= r.Started) {
			// Last heard of before t, it may have stopped at any time since.
			end = min(end, max(r.Stopped, t))
			break
		}
	}
	for _, d := range [...]event.Nanos{p.DeletedAt, p.RemovedAt} {
		if d != 0 {
			end = min(end, d)
		}
	}
	return end
}

// missing adds the ticks of a phase in (lo, hi] that are covered.
func (g *grid) missing(phase, lo, hi event.Nanos) {
	w := g.w
	for _, c := range g.cover {
		from, to := max(lo, c.from), min(hi, c.to.Add(-w.lateness()))
		if from >= to {
			continue
		}
		first := phase.Add((from.Sub(phase)/w.Period + 1) * w.Period)
		if first > to {
			continue
		}
		n := int64(to.Sub(first)/w.Period) + 1
		last := first.Add(time.Duration(n-1) * w.Period)
		w.Missing = append(w.Missing, &Attempt{Worker: w, Outcome: event.OutcomeUnknown, Source: "grid", Missing: true, Start: first, End: last, StartInferred: true,
			Count: n, JoinReason: c.why, Phases: Phases{-1, -1, -1}, Target: g.target(first)})
	}
}

// target is where the attempt would have gone.
func (g *grid) target(t event.Nanos) model.Target {
	w := g.w
	if w.Handler == "exec" {
		return model.Target{Scheme: "exec"}
	}
	out := model.Target{Scheme: w.scheme(), Port: w.Port, Path: w.Path}
	if ip := w.PrimaryIP(t); ip.IsValid() {
		out.Host = ip.String()
	}
	return out
}
