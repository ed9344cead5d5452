package logs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// record is one entry of a log, whatever its framing: what a Format hands to
// the dialects. Its slices are valid until the next record.
type record struct {
	host  []byte // host name of the line, nil when the form has none
	ident []byte // syslog identifier or unit name without ".service", nil when absent
	pid   int32  // process id of the prefix, 0 when absent
	stamp event.Stamp
	msg   []byte
	boot  []byte // boot id, where the form carries it
	// sinceBoot is the monotonic time of the entry, zero where the form lacks it.
	sinceBoot time.Duration
	ref       event.Ref
	// partial is set when the message goes on in the next record.
	partial bool
	// second is lent by the reader: many records share their second.
	second *secondCache
}

// hostState is what the session remembers about one host of the stream.
type hostState struct {
	name string
	// zone is the offset that klog headers of this host were found to have.
	zone      time.Duration
	zoneKnown bool
	boot      string
	open      []openBlock // multi-line values begun and not yet closed
	tail      []tailBlock // the same in newest-first order: closed, not yet begun
	held      []heldProbe // OpenShift prints some probe failures twice
	// sandboxes are the pods of sandboxes, from lines that name both; lastSandbox
	// is the one asked for last.
	sandboxes   map[string]event.PodRef
	lastSandbox string
	// lastFailure is the sandbox failure told last.
	lastFailure sandboxFailure
	last        event.Stamp
	seen        bool
	wall        wallClock
}

// session carries the state of reading one stream: counters, hosts, open
// multi-line values. One goroutine owns it.
type session struct {
	in     *Input
	stream event.StreamID
	// container is set when the path says that the stream is a container's log.
	container *containerPath

	appSeen []int // lines kept per appRule
	part    []byte
	partRef event.Ref

	hosts    map[string]*hostState
	lastHost *hostState
	names    map[string]string // interned strings
	// scratch, arena and jsonText hold unescaped text of the current record.
	scratch, arena, jsonText []byte
	pairs                    []pair
	// klog and logrus are the line being read; variables of their own would be
	// allocated for every line.
	klog     klogLine
	logrus   logrusLine
	problems map[string]*event.Problem
	order    []string // problem keys in order of appearance

	level          int  // highest verbosity proven
	closing        bool // an open value is being read for good
	canWait        bool // the framing can append lines to a record that was cut
	waiting        bool // it is asked to
	openCount      int  // blocks open over all hosts
	emitted        bool
	kept           int64
	probeFailed    int64
	probeErrored   int64
	probeSucceeded int64
	sandboxEvents  int64
	twins          int64 // OpenShift's second lines
	events         int64

	ordering
	pendingBoot string // "-- Reboot --" seen, waiting for a record to date it
	bootLine    event.Ref
	bootSeen    bool
}

func newSession(in *Input) *session {
	s := &session{in: in, stream: in.Info.ID, level: -1,
		hosts: make(map[string]*hostState), names: make(map[string]string),
		problems: make(map[string]*event.Problem)}
	s.container = cmp.Or(containerOfCommand(in.Command), containerOfPath(in.Path))
	return s
}

// handle takes one record: joins it to an open multi-line value, or gives it to
// the dialect that knows such lines.
func (s *session) handle(r *record) {
	s.in.Info.Records++
	r.ref.Stream = s.stream
	if r.partial || len(s.part) > 0 {
		if len(s.part) == 0 {
			s.partRef = r.ref
		}
		if len(s.part) < maxBlock {
			s.part = append(s.part, r.msg...)
		}
		if r.partial {
			return
		}
		r.msg, r.ref = s.part, s.partRef
		defer func() { s.part = s.part[:0] }()
	}
	h := s.hostOf(r.host)
	if !r.stamp.IsZero() {
		s.see(r.stamp)
	}
	if s.bootSeen || len(r.boot) > 0 {
		s.noteBoot(h, r)
	}
	if r.sinceBoot > 0 {
		s.noteStep(h, r)
	}
	h.last, h.seen = r.stamp, true
	s.emitted = false
	if len(h.open)+len(h.tail) > 0 && s.continues(h, r) {
		return
	}
	s.dispatch(h, r)
	if s.emitted {
		s.kept++
	}
}

// dispatch finds the dialect of a record by the first byte of its message.
func (s *session) dispatch(h *hostState, r *record) {
	if len(r.msg) == 0 {
		return
	}
	if s.container != nil {
		s.appLine(h, r)
	}
	for _, d := range dialectsFor[r.msg[0]] {
		if d.read(s, h, r) {
			return
		}
	}
}

// hostOf returns the state kept for a host name; records without one share that
// of the stream's node.
func (s *session) hostOf(name []byte) *hostState {
	if h := s.lastHost; h != nil && string(name) == h.name {
		return h
	}
	h := s.hosts[string(name)]
	if h == nil {
		h = &hostState{name: string(name)}
		if len(s.hosts) < maxHosts {
			s.hosts[h.name] = h
		}
	}
	s.lastHost = h
	return h
}

// maxHosts bounds the hosts remembered at once; maxNames the interned strings.
const (
	maxHosts = 4096
	maxNames = 1 << 16
)

// emit hands over one event about a record. A zero stamp at means the record's
// own.
func (s *session) emit(h *hostState, r *record, at event.Stamp, pid int32, p event.Payload) {
	e := event.Event{Time: at, Node: h.name, PID: pid, Ref: r.ref, Payload: p}
	if at.IsZero() {
		e.Time = r.stamp
	} else {
		e.Logged = r.stamp
	}
	if e.PID == 0 {
		e.PID = r.pid
	}
	if e.Node == "" {
		e.Node = s.in.Info.Node
	}
	s.emitted = true
	s.events++
	switch p := p.(type) {
	case *event.ProbeResult:
		switch p.Outcome {
		case event.OutcomeFailed:
			s.probeFailed++
		case event.OutcomeErrored:
			s.probeErrored++
		case event.OutcomeSucceeded, event.OutcomeWarning:
			s.probeSucceeded++
		}
	case *event.SandboxChange:
		s.sandboxEvents++
	}
	s.in.Sink.Emit(e)
}

// problem records damage; the same code is reported once, with its first place
// and how often it was met.
func (s *session) problem(ref event.Ref, code, message string) {
	if p := s.problems[code]; p != nil {
		p.Count++
		return
	}
	ref.Stream = s.stream
	s.problems[code] = &event.Problem{Ref: ref, Path: s.in.Path, Code: code, Message: message, Count: 1}
	s.order = append(s.order, code)
}

// reject counts a record that could not be read.
func (s *session) reject(ref event.Ref, code, message string) {
	s.in.Info.Rejected++
	s.problem(ref, code, message)
}

// intern returns b as a string, the same one for equal content: pod and
// namespace names repeat in every line.
func (s *session) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if v, ok := s.names[string(b)]; ok {
		return v
	}
	v := strings.ToValidUTF8(string(b), "\uFFFD")
	if len(s.names) < maxNames && len(b) <= 512 {
		s.names[string(b)] = v
	}
	return v
}

// prove notes that the kubelet wrote a line of a verbosity level. Runtimes pass
// on lines of CNI plugins that log by the same library; they prove nothing.
func (s *session) prove(r *record, level int8) {
	switch string(r.ident) {
	case "crio", "containerd", "dockerd":
		return
	}
	if int(level) > s.level {
		s.level = int(level)
	}
}

// finish closes what is open and writes the counters of the stream. The error
// is that of reading; it becomes part of the result.
func (s *session) finish(l *lineReader, readErr error) error {
	s.closeOpen()
	info := s.in.Info
	info.Kept += s.kept
	info.Verbosity = max(info.Verbosity, s.level)
	s.finishOrder(info)
	if info.Node == "" {
		info.Node = s.onlyHost()
	}
	if l != nil {
		info.Bytes = max(info.Bytes, l.consumed())
		info.Count("lines", l.number-max(s.in.FirstLine-1, 0))
		readErr = errors.Join(readErr, l.err)
	}
	for _, c := range [...]struct {
		name string
		n    int64
	}{{"probe_failed", s.probeFailed}, {"probe_errored", s.probeErrored},
		{"probe_succeeded", s.probeSucceeded}, {"probe_lines_repeated", s.twins},
		{"sandbox_events", s.sandboxEvents}, {"events", s.events}} {
		if c.n > 0 {
			info.Count(c.name, c.n)
		}
	}
	for _, k := range s.order {
		s.in.Sink.Problem(*s.problems[k])
	}
	if readErr != nil {
		return fmt.Errorf("%s: after record %d: %w", s.in.Path, info.Records, readErr)
	}
	return nil
}

// hostsInOrder returns the hosts sorted by name.
func (s *session) hostsInOrder() []*hostState {
	hosts := make([]*hostState, 0, len(s.hosts))
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		hosts = append(hosts, s.hosts[name])
	}
	return hosts
}

// onlyHost is the host name if the whole stream had just one.
func (s *session) onlyHost() string {
	only := ""
	for name, h := range s.hosts {
		if name == "" || !h.seen {
			continue
		}
		if only != "" {
			return ""
		}
		only = name
	}
	return only
}

// noteBoot emits that a host was rebooted before this record: the boot id
// differs from that of its record before, or a "-- Boot --" line stood between.
// In a newest-first stream it is the record before that came after the boot.
func (s *session) noteBoot(h *hostState, r *record) {
	line := s.bootSeen
	s.bootSeen = false
	text, ref := s.pendingBoot, s.bootLine
	if len(r.boot) > 0 {
		if string(r.boot) == h.boot {
			return
		}
		line = h.boot != ""
		boot := string(r.boot)
		text, ref = "-- Boot "+boot+" --", r.ref
		if s.descends(h, r) {
			text = "-- Boot " + h.boot + " --"
		}
		h.boot = boot
	}
	if !line {
		return
	}
	at := r.stamp
	if s.descends(h, r) {
		at = h.last
	}
	s.emit(h, &record{ref: ref, stamp: at}, event.Stamp{}, 0, &event.NodeState{Code: event.NodeReboot, Message: text})
}

// descends reports whether a record stands before its host's last one in time,
// in a stream that runs backwards so far.
func (s *session) descends(h *hostState, r *record) bool {
	return r.stamp.Missing&event.MissingEpoch == 0 && !h.last.IsZero() && r.stamp.At < h.last.At && s.backward > s.forward
}
