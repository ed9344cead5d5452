package clock

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Kind is whose clock was compared with the kubelet's.
type Kind string

// The clocks beside those of captures.
const (
	KindJournal Kind = "journal" // the prefix of a log line against the header that its writer put into it
	KindEvents  Kind = "events"  // Event objects of the kubelet against its log: one clock, if both were read right
	KindAPI     Kind = "api"     // creation times of objects
	KindAudit   Kind = "audit"   // an audit log of the API server
)

// Comparison is what the inputs say about one clock against that of a node's
// kubelet: the offset to add to it to get node time lies in Span.
type Comparison struct {
	Kind   Kind
	Node   string
	Stream event.StreamID // of a journal or an audit log, else zero
	Span   Span
	Agree  int // anchors that allow the span
	Of     int // anchors there are
	// Borrowed is set where an audit log alone leaves an end open and the creation
	// times of objects, which the same server wrote, close it.
	Borrowed bool
	Steps    []Step // in time order
}

// Step is a moment at which a clock was set, By is how far it moved.
type Step struct {
	At  event.Nanos
	By  time.Duration
	Ref event.Ref
	// Against is what it moved against: "monotonic clock", "kubelet's header".
	Against string
}

// minAnchors is how many pairs must agree before an offset counts as determined.
const minAnchors = 3

// Determined reports whether the anchors leave one range of offsets with two
// ends, and most of them agree.
func (c *Comparison) Determined() bool {
	return c.Span.Bounded() && c.Agree >= minAnchors && 10*c.Agree >= 6*c.Of
}

// Differs reports whether the offset is determined and zero is none of the
// offsets possible. Only then is there something to apply.
func (c *Comparison) Differs() bool {
	if c.Kind == KindJournal {
		// The prefix says when a line was received; what is less than this is the way
		// there, not a clock.
		return c.Determined() && (c.Span.From > receipt || c.Span.To < -receipt)
	}
	return c.Determined() && !c.Span.Contains(0)
}

const (
	// soon is how far the two records of one event lie apart on one clock: the kubelet
	// writes them one after the other.
	soon = 50 * time.Millisecond
	// receipt is how late a line may reach the log on a busy machine.
	receipt = 2 * time.Second
	// whole is the resolution of the API's times: seconds, cut off.
	whole = time.Second
)

// Comparer collects pairs of records of one event that two clocks dated. It is
// filled by Observe over all events, then read by Compare.
type Comparer struct {
	lines    map[lineKey]*moments
	prefixes map[origin]*prefixes
	events   map[eventKey]*eventSeen
	pods     map[string]podSeen // by namespace/name: the one created last
	audits   map[auditKey]*moments

	byText map[lineKey][]found // lines of all streams, filled once
}

// origin is a host's part of a stream.
type origin struct {
	stream event.StreamID
	node   string
}

// what a kubelet line tells.
type what uint8

const (
	lineText   what = iota + 1 // a failed probe or "Event occurred": the text that its Event object carries
	lineAdd                    // SyncLoop ADD
	lineDelete                 // SyncLoop DELETE
	lineStatus                 // "Patch status for pod"
)

type lineKey struct {
	origin
	what    what
	subject string
}

type auditKey struct {
	stream  event.StreamID
	what    what
	subject string
}

// moments are the stamps of equal records of one stream; all of them up to
// maxMoments, then their number only.
type moments struct {
	n      int
	stamps []moment
}

type moment struct {
	event.Stamp
	newest event.Nanos // of a status: the latest time inside it
}

type eventKey struct {
	subject     string
	first, last event.Nanos
}

type eventSeen struct {
	node        string
	first, last event.Stamp
	created     event.Nanos
	count       int64
	stream      event.StreamID
	ref         event.Ref
}

type podSeen struct {
	node           string
	created, start event.Nanos
}

// Bounds of what is kept.
const (
	maxMoments = 256
	maxKeys    = 1 << 16
)

// NewComparer returns an empty comparer.
func NewComparer() *Comparer {
	return &Comparer{lines: make(map[lineKey]*moments), prefixes: make(map[origin]*prefixes),
		events: make(map[eventKey]*eventSeen), pods: make(map[string]podSeen), audits: make(map[auditKey]*moments)}
}

// Observe takes one event, its stamps as recorded.
func (c *Comparer) Observe(e *event.Event) {
	if !e.Logged.IsZero() {
		c.prefix(e)
	}
	switch p := e.Payload.(type) {
	case *event.ProbeResult:
		if text := eventText(p); text != "" {
			c.line(e, lineText, textSubject(p.Pod.Namespace, p.Pod.Name, p.Container, text), moment{Stamp: e.Time})
		}
	case *event.K8sEvent:
		c.k8sEvent(p, e)
	case *event.PodSync:
		c.sync(p, e)
	case *event.PodSeen:
		c.pod(p)
	case *event.NodeState:
		if p.Code == event.NodeTimeChanged {
			c.step(p, e)
		}
	}
}

// textSubject names a pod's container and a text, of which a digest is kept: long
// texts are cut by parsers at different lengths.
func textSubject(namespace, name, container, text string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text[:min(len(text), 512)]))
	return namespace + "/" + name + "\x00" + container + "\x00" + strconv.FormatUint(h.Sum64(), 16)
}

// eventText is the message of the Event object that the kubelet writes for an
// attempt, "" where it writes none.
func eventText(p *event.ProbeResult) string {
	word := p.Probe.String()
	if p.Probe == event.ProbeUnknown {
		return ""
	}
	word = strings.ToUpper(word[:1]) + word[1:]
	switch p.Outcome {
	case event.OutcomeFailed:
		return word + " probe failed: " + p.Output
	case event.OutcomeErrored:
		return word + " probe errored: " + p.Output
	case event.OutcomeWarning:
		return word + " probe warning: " + p.Output
	}
	return ""
}

func (c *Comparer) line(e *event.Event, w what, subject string, m moment) {
	remember(c.lines, lineKey{origin{e.Ref.Stream, e.Node}, w, subject}, m)
}

// remember adds a moment to those of a key, while there is room for the key.
func remember[K comparable](all map[K]*moments, k K, m moment) {
	l := all[k]
	if l == nil {
		if len(all) >= maxKeys {
			return
		}
		l = &moments{}
		all[k] = l
	}
	if l.n++; len(l.stamps) < maxMoments {
		l.stamps = append(l.stamps, m)
	}
}

// whole reports whether every stamp was kept.
func (l *moments) whole() bool { return l.n == len(l.stamps) }

func (c *Comparer) k8sEvent(p *event.K8sEvent, e *event.Event) {
	subject := textSubject(p.Namespace, p.Name, p.Container, strings.Replace(p.Message, " errored and resulted in unknown state: ", " errored: ", 1))
	if p.FromLog {
		c.line(e, lineText, subject, moment{Stamp: e.Time})
		return
	}
	if p.Component != "kubelet" || p.ObjectKind != "Pod" || p.TimesUnknown || p.First.IsZero() || p.Last.IsZero() {
		return
	}
	k := eventKey{subject, p.First.At, p.Last.At}
	if c.events[k] == nil && len(c.events) < maxKeys {
		c.events[k] = &eventSeen{node: cmp.Or(p.Host, e.Node), first: p.First, last: p.Last, created: p.Created, count: p.Count, stream: e.Ref.Stream, ref: e.Ref}
	}
}

func (c *Comparer) sync(p *event.PodSync, e *event.Event) {
	w := what(0)
	switch p.Op {
	case event.SyncAdd:
		w = lineAdd
	case event.SyncDelete:
		w = lineDelete
	case event.SyncStatus:
		w = lineStatus
	}
	if p.Source != "audit" {
		if w != 0 && p.Source != "file" {
			c.line(e, w, p.Pod.String(), moment{e.Time, p.Newest})
		}
		return
	}
	if p.Op == event.SyncUpdate {
		w = lineStatus
	}
	if w == 0 || p.Pod.Name == "" {
		return
	}
	remember(c.audits, auditKey{e.Ref.Stream, w, p.Pod.String()}, moment{Stamp: e.Time})
}

func (c *Comparer) pod(p *event.PodSeen) {
	// A mirror object is younger than the static pod it shows.
	if p.Partial || p.Mirror || p.Created == 0 {
		return
	}
	k := p.Pod.String()
	if was, ok := c.pods[k]; (!ok || was.created < p.Created) && (ok || len(c.pods) < maxKeys) {
		c.pods[k] = podSeen{node: p.Node, created: p.Created, start: p.StartTime}
	}
}

// step notes a step that the journal's two clocks show.
func (c *Comparer) step(p *event.NodeState, e *event.Event) {
	sec, err := strconv.ParseFloat(p.Value, 64)
	if err != nil || sec > 1e9 || sec < -1e9 {
		return
	}
	against := "monotonic clock"
	if !strings.HasPrefix(p.Message, "the wall clock ") {
		against = "time service"
	}
	x := c.origin(origin{e.Ref.Stream, e.Node})
	if len(x.steps) < maxMoments {
		x.steps = append(x.steps, stepSeen{e.Time, Step{By: time.Duration(sec * float64(time.Second)), Ref: e.Ref, Against: against}})
	}
}

// Zones tells the resolver which zone the kubelet's lines are in, where their
// Event objects give the same moments in UTC.
func (c *Comparer) Zones(r *Resolver) {
	for k, e := range c.eventsInOrder() {
		for _, l := range c.linesOf(lineText, k.subject) {
			if first := l.stamps[0]; l.is(e.count) && first.Missing&event.MissingZone != 0 && e.first.Missing == 0 {
				r.vote(l.node, r.offsetBetween(first.Stamp, e.first.At))
				break
			}
		}
	}
}

// is reports whether the lines are those that an Event object with the count
// sums up.
func (l *moments) is(count int64) bool { return l.whole() && int64(l.n) == count }

// sortMoments puts stamps in time order: some streams run backwards.
func sortMoments(ms []moment) {
	slices.SortStableFunc(ms, func(a, b moment) int { return cmp.Compare(a.At, b.At) })
}
