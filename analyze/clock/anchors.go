package clock

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// found are the lines of one stream, with where they come from.
type found struct {
	origin
	*moments
}

// linesOf returns the lines about a subject by stream and node: the same lines
// often stand in several streams.
func (c *Comparer) linesOf(w what, subject string) []found {
	return c.index()[lineKey{what: w, subject: subject}]
}

func (c *Comparer) index() map[lineKey][]found {
	if c.byText == nil {
		c.byText = make(map[lineKey][]found)
		for k, l := range c.lines {
			sortMoments(l.stamps)
			short := lineKey{what: k.what, subject: k.subject}
			c.byText[short] = append(c.byText[short], found{k.origin, l})
		}
		for _, fs := range c.byText {
			slices.SortFunc(fs, func(a, b found) int {
				return cmp.Or(cmp.Compare(a.stream, b.stream), strings.Compare(a.node, b.node))
			})
		}
	}
	return c.byText
}

func (c *Comparer) eventsInOrder() iter.Seq2[eventKey, *eventSeen] {
	keys := slices.SortedFunc(maps.Keys(c.events), func(a, b eventKey) int {
		return cmp.Or(strings.Compare(a.subject, b.subject), cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last))
	})
	return func(yield func(eventKey, *eventSeen) bool) {
		for _, k := range keys {
			if !yield(k, c.events[k]) {
				return
			}
		}
	}
}

// Compare returns what was found of each clock, by node, kind and stream. r must
// be settled.
func (c *Comparer) Compare(r *Resolver) []Comparison {
	var out []Comparison
	for o, x := range c.prefixes {
		if j := x.journal(r, o); j.Of >= minAnchors || len(j.Steps) > 0 {
			out = append(out, j)
		}
	}
	nodes := c.nodes()
	api := make(map[string][]Span)
	same := make(map[string][]Span)
	c.eventSpans(r, same, api)
	c.podSpans(r, api)
	for node := range nodes {
		for kind, spans := range map[Kind][]Span{KindEvents: same[node], KindAPI: api[node]} {
			if len(spans) > 0 {
				x := Comparison{Kind: kind, Node: node}
				x.set(spans)
				out = append(out, x)
			}
		}
	}
	out = append(out, c.audit(r, api)...)
	slices.SortFunc(out, func(a, b Comparison) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(string(a.Kind), string(b.Kind)), cmp.Compare(a.Stream, b.Stream))
	})
	return out
}

// nodes are those whose kubelet wrote lines that can be compared.
func (c *Comparer) nodes() map[string]bool {
	nodes := make(map[string]bool)
	for k := range c.lines {
		nodes[k.node] = true
	}
	return nodes
}

// eventSpans compares the kubelet's Event objects with the lines it wrote for
// them, and with the time at which the API server stored them: never before.
func (c *Comparer) eventSpans(r *Resolver, same, api map[string][]Span) {
	for k, e := range c.eventsInOrder() {
		began, node := r.Resolve(e.first, e.node, e.stream).At, e.node
		for _, l := range c.linesOf(lineText, k.subject) {
			if !l.is(e.count) {
				continue
			}
			node = l.node
			first, last := l.resolved(r, 0), l.resolved(r, l.n-1)
			same[node] = append(same[node], pairSpan(first, began, e.first.Precision))
			if l.n > 1 {
				same[node] = append(same[node], pairSpan(last, r.Resolve(e.last, e.node, e.stream).At, e.last.Precision))
			}
			began = first
			break
		}
		if e.created != 0 {
			api[node] = append(api[node], Span{began.Sub(e.created) - whole, Open})
		}
	}
}

// pairSpan is what a line says of another clock that dated the same moment with
// a resolution, the rest cut off.
func pairSpan(line, other event.Nanos, resolution time.Duration) Span {
	d := line.Sub(other)
	return Span{d - max(resolution, time.Microsecond) - soon, d + soon}
}

func (l found) resolved(r *Resolver, i int) event.Nanos {
	return r.Resolve(l.stamps[i].Stamp, l.node, l.stream).At
}

// podSpans compares the creation time of pods with what came of it: the kubelet
// cannot know or start a pod before.
func (c *Comparer) podSpans(r *Resolver, api map[string][]Span) {
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		p := c.pods[name]
		if p.start != 0 && p.node != "" {
			api[p.node] = append(api[p.node], Span{-Open, p.start.Sub(p.created) + whole})
		}
		for _, l := range c.linesOf(lineAdd, name) {
			if l.whole() && (p.node == "" || l.node == p.node) {
				api[l.node] = append(api[l.node], Span{-Open, l.resolved(r, l.n-1).Sub(p.created)})
				break
			}
		}
	}
}

// audit compares the audit logs with the lines that follow their entries. A
// status that the kubelet wrote carries times of its own, all before the entry.
func (c *Comparer) audit(r *Resolver, api map[string][]Span) []Comparison {
	type key struct {
		node   string
		stream event.StreamID
	}
	spans := make(map[key][]Span)
	keys := slices.SortedFunc(maps.Keys(c.audits), func(a, b auditKey) int {
		return cmp.Or(cmp.Compare(a.stream, b.stream), cmp.Compare(a.what, b.what), strings.Compare(a.subject, b.subject))
	})
	for _, k := range keys {
		entries := c.audits[k]
		sortMoments(entries.stamps)
		for _, l := range c.linesOf(k.what, k.subject) {
			if !l.is(int64(entries.n)) || !entries.whole() {
				continue
			}
			to := key{l.node, k.stream}
			for i, e := range entries.stamps {
				// The entry is dated when the answer is complete: what it tells may reach the
				// kubelet a moment before.
				s := Span{-Open, l.resolved(r, i).Sub(e.At) + soon}
				if n := l.stamps[i].newest; n != 0 {
					s.From = n.Sub(e.At)
				}
				spans[to] = append(spans[to], s)
			}
			break
		}
	}
	var out []Comparison
	for k, ss := range spans {
		x := Comparison{Kind: KindAudit, Node: k.node, Stream: k.stream}
		if x.set(ss); !x.Span.Bounded() && len(api[k.node]) > 0 {
			y := x
			if y.set(slices.Concat(ss, api[k.node])); y.Determined() {
				x, x.Borrowed = y, true
			}
		}
		out = append(out, x)
	}
	return out
}
