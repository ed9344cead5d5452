// Package clock gives every stamp a whole instant. Records often lack the year,
// the zone or the date; the resolver infers what is missing from records that
// carry it, marks what it inferred, and never re-dates a stamp that carried a
// year.
package clock

import (
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Hints supply what inputs leave out.
type Hints struct {
	Zones    map[string]*time.Location // by node, "" for all
	BaseYear int
	Date     string // YYYY-MM-DD
}

// Resolver resolves stamps. It is filled by Observe over all events, then
// frozen by Settle, then asked.
type Resolver struct {
	hints Hints
	// bound is the latest instant known to lie at or after all records of a stream:
	// collection time, modification time, or the latest complete stamp.
	collected event.Nanos
	stated    bool // the bundle itself says when it was collected
	modified  map[event.StreamID]event.Nanos
	latest    event.Nanos
	// newest is each stream's latest stamp among those that lack a part: the moment
	// of collection lies near the newest line where nothing else tells it.
	newest map[event.StreamID]lacking

	zoneVotes map[string]map[time.Duration]int
	zones     map[string]zone

	starts map[string]event.Nanos // container id → startedAt of the status
	plegs  []plegStart
}

type lacking struct {
	stamp event.Stamp
	node  string
}

type zone struct {
	offset  time.Duration // local = UTC + offset
	assumed bool
}

type plegStart struct {
	node  string
	id    string
	stamp event.Stamp
}

// New returns a resolver over the streams.
func New(infos []*event.StreamInfo, h Hints) *Resolver {
	r := &Resolver{
		hints: h, modified: make(map[event.StreamID]event.Nanos), zoneVotes: make(map[string]map[time.Duration]int),
		zones: make(map[string]zone), starts: make(map[string]event.Nanos), newest: make(map[event.StreamID]lacking),
	}
	for _, s := range infos {
		if sane(s.Modified) {
			r.modified[s.ID] = s.Modified
		}
		if c := s.Capture; c != nil && !c.Text && c.Last != 0 {
			r.complete(c.First)
			r.complete(c.Last)
		}
	}
	return r
}

// sane reports whether a time can be that of a collection: archive tools write
// zero or 1980 when they do not know.
func sane(t event.Nanos) bool { return t > event.FromTime(time.Date(2014, 1, 1, 0, 0, 0, 0, time.UTC)) }

func (r *Resolver) complete(t event.Nanos) {
	if !sane(t) {
		return
	}
	if t > r.latest {
		r.latest = t
	}
}

// Observe looks at one event before any is resolved.
func (r *Resolver) Observe(e *event.Event) {
	if n, ok := e.Payload.(*event.Notice); ok && n.Code == "collected-at" {
		if t := event.Nanos(n.Value); sane(t) && t > r.collected {
			r.collected, r.stated = t, true
		}
		return
	}
	if m := e.Time.Missing; m != 0 && m&(event.MissingEpoch|event.MissingDate) == 0 {
		if l, ok := r.newest[e.Ref.Stream]; !ok || e.Time.At > l.stamp.At {
			r.newest[e.Ref.Stream] = lacking{e.Time, e.Node}
		}
	}
	if !e.Time.IsZero() && e.Time.Missing == 0 {
		r.complete(e.Time.At)
		// One record with a whole inner stamp and a zone-less outer one tells the zone of
		// the outer one.
		if l := e.Logged; !l.IsZero() && l.Missing&event.MissingZone != 0 {
			r.vote(e.Node, r.offsetBetween(l, e.Time.At))
		}
	}
	if !e.Logged.IsZero() && e.Logged.Missing == 0 {
		r.complete(e.Logged.At)
	}
	switch p := e.Payload.(type) {
	case *event.PodSeen:
		for _, s := range p.Statuses {
			if s.ID != "" && s.StartedAt != 0 {
				r.starts[s.ID] = s.StartedAt
			}
			if s.LastRun.ID != "" && s.LastRun.StartedAt != 0 {
				r.starts[s.LastRun.ID] = s.LastRun.StartedAt
			}
			r.complete(s.StartedAt)
		}
		r.complete(p.Created)
	case *event.ContainerState:
		if p.Op == event.ContainerStarted && p.ID != "" && e.Time.Missing&event.MissingZone != 0 && len(r.plegs) < 4096 {
			r.plegs = append(r.plegs, plegStart{node: e.Node, id: p.ID, stamp: e.Time})
		}
	}
}

// offsetBetween returns local-UTC rounded to 15 minutes, year and date ignored
// where the local stamp lacks them.
func (r *Resolver) offsetBetween(local event.Stamp, utc event.Nanos) time.Duration {
	l := local.At
	if local.Missing&event.MissingYear != 0 {
		l = withYear(l, utc.Time().Year())
		// The two may lie on different sides of a new year.
		for _, y := range [...]int{-1, 1} {
			if c := withYear(local.At, utc.Time().Year()+y); c.Sub(utc).Abs() < l.Sub(utc).Abs() {
				l = c
			}
		}
	}
	return l.Sub(utc).Round(15 * time.Minute)
}

func (r *Resolver) vote(node string, d time.Duration) {
	if d.Abs() > 15*time.Hour {
		return
	}
	v := r.zoneVotes[node]
	if v == nil {
		v = make(map[time.Duration]int)
		r.zoneVotes[node] = v
	}
	v[d]++
}

// Settle ends observation.
func (r *Resolver) Settle() {
	for _, p := range r.plegs {
		at, ok := r.starts[p.id]
		if !ok {
			continue
		}
		// PLEG reports a start 0 to 3 s after startedAt.
		d := r.offsetBetween(p.stamp, at)
		r.vote(p.node, d)
	}
	for node, votes := range r.zoneVotes {
		var best time.Duration
		n := -1
		for _, d := range slices.Sorted(keys(votes)) {
			if votes[d] > n {
				best, n = d, votes[d]
			}
		}
		r.zones[node] = zone{offset: best, assumed: false}
	}
	r.plegs, r.starts = nil, nil
	if r.collected == 0 {
		at := r.latest
		for stream, l := range r.newest {
			at = max(at, r.Resolve(l.stamp, l.node, stream).At)
		}
		r.collected = at
	}
}

func keys(m map[time.Duration]int) func(func(time.Duration) bool) {
	return func(yield func(time.Duration) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// CollectedAt is when the bundle was taken: its own statement, else the newest
// stamp of all, zero when nothing tells.
func (r *Resolver) CollectedAt() event.Nanos { return r.collected }

// Resolve returns the stamp with its missing parts filled in, its basis marked.
// node picks the zone, stream the year bound.
func (r *Resolver) Resolve(s event.Stamp, node string, stream event.StreamID) event.Stamp {
	if s.IsZero() || s.Missing == 0 {
		return s
	}
	if s.Missing&event.MissingCollection != 0 && r.collected != 0 {
		s.At, s.Missing = r.collected+s.At, 0
		s.Basis |= event.BasisDateInferred
		return s
	}
	if s.Missing&event.MissingEpoch != 0 {
		return s // nothing anchors it; left as it is and marked
	}
	if s.Missing&event.MissingDate != 0 {
		s = r.date(s, stream)
	}
	if s.Missing&event.MissingYear != 0 {
		s = r.year(s, stream)
	}
	if s.Missing&event.MissingZone != 0 {
		s = r.zone(s, node)
	}
	s.Missing = 0
	return s
}

// date puts a time-only stamp on a day. Parsers carry time-only stamps past
// midnight by themselves, so one day serves a whole stream.
func (r *Resolver) date(s event.Stamp, stream event.StreamID) event.Stamp {
	s.At += r.Day(stream)
	s.Basis |= event.BasisDateInferred
	if r.hints.Date != "" {
		s.Basis |= event.BasisOverridden
	}
	return s
}

// Day is midnight UTC of the day a stream without dates is put on: the one the
// user named, else that of the latest complete stamp, else zero.
func (r *Resolver) Day(stream event.StreamID) event.Nanos {
	if d, err := time.Parse(time.DateOnly, r.hints.Date); err == nil {
		return event.FromTime(d)
	}
	t := r.latest
	if t == 0 {
		t = r.collected
	}
	if t == 0 {
		t = r.modified[stream]
	}
	return t - t%event.Nanos(24*time.Hour)
}

func (r *Resolver) year(s event.Stamp, stream event.StreamID) event.Stamp {
	if r.hints.BaseYear != 0 {
		s.At = withYear(s.At, r.hints.BaseYear)
		s.Basis |= event.BasisOverridden
		return s
	}
	s.Basis |= event.BasisYearInferred
	bound := r.modified[stream]
	if r.stated {
		bound = r.collected
	}
	if r.stated || r.latest == 0 {
		if y, ok := yearBefore(s.At, bound); ok {
			s.At = withYear(s.At, y)
		}
		return s // without any bound it stays in the placeholder year, marked as inferred
	}
	// Nobody says when the bundle was taken: complete stamps of the same case are the
	// best neighbours, and nothing is younger than its file.
	if y, ok := yearBefore(s.At, r.latest.Add(183*24*time.Hour)); ok {
		if c := withYear(s.At, y); bound != 0 && c > bound.Add(30*time.Hour) {
			y--
		}
		s.At = withYear(s.At, y)
	}
	return s
}

// yearBefore is the latest year in which the reading does not lie after the
// bound; a day and a quarter allows for zones. A leap day waits up to eight years.
func yearBefore(at, bound event.Nanos) (int, bool) {
	if bound == 0 {
		return 0, false
	}
	for y := bound.Time().Year() + 1; y > bound.Time().Year()-9; y-- {
		if c := withYear(at, y); c <= bound.Add(30*time.Hour) && sameDay(c, at) {
			return y, true
		}
	}
	return 0, false
}

func (r *Resolver) zone(s event.Stamp, node string) event.Stamp {
	for _, n := range [...]string{node, ""} {
		if loc := r.hints.Zones[n]; loc != nil {
			t := s.At.Time()
			local := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), loc)
			s.At = event.FromTime(local)
			s.Basis |= event.BasisOverridden
			return s
		}
	}
	z, ok := r.zones[node]
	if !ok && len(r.zones) == 1 && node == "" {
		for _, only := range r.zones {
			z, ok = only, true
		}
	}
	if ok {
		s.At = s.At.Add(-z.offset)
		return s
	}
	s.Basis |= event.BasisZoneAssumed
	return s
}

// withYear moves an instant to another year, keeping month, day and time.
func withYear(n event.Nanos, year int) event.Nanos {
	t := n.Time()
	return event.FromTime(time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC))
}

func sameDay(a, b event.Nanos) bool {
	x, y := a.Time(), b.Time()
	return x.Month() == y.Month() && x.Day() == y.Day()
}
