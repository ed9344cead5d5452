package logs

import (
	"bytes"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// OpenShift's kubelet prints a failure of its own platform's pods twice, first
// as
//
//	interesting pod/P container/C namespace/N: Readiness probe status=failure output="…" start-of-body=…
//
// and right after it as "Probe failed". The first line is held back until the
// second comes; it counts only where the second never does (a kubelet at v=0).

// heldProbe is such a line waiting for its twin.
type heldProbe struct {
	rec  record
	at   event.Stamp
	pid  int32
	what event.ProbeResult
}

// maxHeld bounds the lines held per host, heldFor how long the twin is awaited.
const (
	maxHeld = 256
	heldFor = 5 * time.Second
)

// patchProber reads OpenShift's line; k.rest stands behind "interesting pod/".
func patchProber(s *session, h *hostState, r *record, k *klogLine) {
	pod, rest, ok1 := bytes.Cut(k.rest, []byte(" container/"))
	ctr, rest, ok2 := bytes.Cut(rest, []byte(" namespace/"))
	ns, rest, ok3 := bytes.Cut(rest, []byte(": "))
	kind, rest, ok4 := bytes.Cut(rest, []byte(" probe status="))
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return
	}
	p := event.ProbeResult{Pod: event.PodRef{Namespace: s.intern(ns), Name: s.intern(pod)},
		Container: s.intern(ctr), Probe: probeType(kind)}
	status, rest, _ := cutByte(rest, ' ')
	switch string(status) {
	case "failure":
		p.Outcome = event.OutcomeFailed
	case "unknown":
		p.Outcome = event.OutcomeErrored
	default:
		return
	}
	p.Output, p.OutputBytes = output(s.text(s.fields(rest), "output"))
	at := k.time(s, h, r)
	s.flushDuplicates(h, at)
	if len(h.held) < maxHeld {
		h.held = append(h.held, heldProbe{rec: r.own(), at: at, pid: k.pid, what: p})
	}
	s.twins++
}

// dropDuplicate forgets the held line whose twin is p.
func (h *hostState) dropDuplicate(pid int32, p *event.ProbeResult) {
	for i := range h.held {
		w := &h.held[i]
		if w.rec.pid == pid && w.what.Probe == p.Probe && w.what.Container == p.Container &&
			w.what.Pod.Name == p.Pod.Name && w.what.Pod.Namespace == p.Pod.Namespace {
			h.held = append(h.held[:i], h.held[i+1:]...)
			return
		}
	}
}

// flushDuplicates emits the held lines whose twin did not come in time; all of
// them when now is zero.
func (s *session) flushDuplicates(h *hostState, now event.Stamp) {
	keep := h.held[:0]
	for _, w := range h.held {
		if !now.IsZero() && now.At.Sub(w.at.At).Abs() < heldFor {
			keep = append(keep, w)
			continue
		}
		s.emit(h, &w.rec, w.at, w.pid, &w.what)
		s.kept++
	}
	h.held = keep
}
