package probe

import (
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// statusSlack allows for stamps of the API, which have whole seconds.
const statusSlack = 2 * time.Second

// mayRun reports whether the kubelet could have run the probe at t, as far as the
// pod's history tells: not before the initial delay, a startup probe only until
// it succeeded and the others only after, and after deletion readiness alone.
func (w *Worker) mayRun(t event.Nanos) bool {
	p := w.Pod
	if w.Type != event.Readiness && p.DeletedAt != 0 && t > p.DeletedAt.Add(statusSlack) {
		return false
	}
	r := p.RunAt(w.Container, t)
	if r == nil {
		return true
	}
	if w.Spec != nil && t < r.From.Add(w.Spec.InitialDelay-statusSlack) {
		return false
	}
	started := w.startedAt(r.From)
	if started == 0 || started < r.From || r.To != 0 && started > r.To {
		return true
	}
	if w.Type == event.Startup {
		return t <= started.Add(statusSlack)
	}
	return t >= started.Add(-statusSlack)
}

// startedAt is when the kubelet said that the startup probe had succeeded, the
// first time after from; zero without such a word.
func (w *Worker) startedAt(from event.Nanos) event.Nanos {
	if w.Pod.Spec(w.Container, event.Startup) == nil {
		return 0
	}
	for _, c := range w.Pod.Ready {
		if c.Probe == event.Startup && c.Status == "started" && c.At >= from {
			return c.At
		}
	}
	return 0
}

// life is the time of one kubelet process on a node, zero where it has no known
// start or end: workers live and tick within it.
type life struct{ from, to event.Nanos }

func (l life) contains(t event.Nanos) bool { return t >= l.from && (l.to == 0 || t < l.to) }

// lifeAt returns the life of the node's kubelet that t falls into.
func (s *Set) lifeAt(node string, t event.Nanos) life {
	var l life
	for _, r := range s.restarts[node] {
		if r.Started > t {
			l.to = r.Started
			break
		}
		l.from = r.Started
	}
	return l
}
