package identity

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// MaxLag is how long a copy of a pod's address may stay behind the runtime
// before that is a finding: the kubelet writes status within seconds, at worst
// with its next full round, and objects are not collected in one moment.
const MaxLag = time.Minute

// clockSlack is how far a statement may lie before the record that dates its
// sandbox: a CNI result is logged before the runtime returns the sandbox.
const clockSlack = 5 * time.Second

// Nearness tells how directly a source knows a pod's address.
type Nearness uint8

// From what a consumer believed to what the runtime itself holds.
const (
	Used   Nearness = iota + 1 // someone went to the address: a cached copy
	Told                       // a copy that others keep: API objects, endpoints, annotations
	Direct                     // runtime, CNI, address management, the kubelet's reading of the sandbox, packets
)

// NearnessOf returns how directly a kind of source knows.
func NearnessOf(kind string) Nearness {
	switch kind {
	case "cri", "cni-result", "cni-secondary", "ipam", "kubelet-ip", "kubelet-hosts", "event", "packets":
		return Direct
	case "probe-output":
		return Used
	}
	return Told
}

// witness is the original of which several kinds of source are prints: a change
// of address shows where one witness says first this and then that.
func witness(kind string) string {
	switch kind {
	case "audit", "status", "status-patch", "describe", "table":
		return "api"
	case "cri", "kubelet-ip", "kubelet-hosts":
		return "sandbox status"
	}
	return kind
}

// released reports whether the statement ends an ownership rather than claims it.
func (s Source) released() bool { return strings.HasSuffix(s.Kind, " (released)") }

// statement is a source with the time for which it speaks.
type statement struct {
	Source
	at event.Nanos
}

// statements returns what is said for an interval, by time. What bears no time
// speaks for the moment of collection; where it names or belongs to a known
// sandbox and knows directly, for the sandbox's begin.
func (x *Index) statements(iv *Interval) []statement {
	collected := cmp.Or(x.CollectedAt, x.Last)
	out := make([]statement, 0, len(iv.Sources))
	for _, s := range iv.Sources {
		if s.released() {
			continue
		}
		at := s.At
		if at == 0 {
			at = max(collected, iv.From)
			if NearnessOf(s.Kind) == Direct && iv.Sandbox != "" {
				at = iv.From
			}
		}
		out = append(out, statement{s, at})
	}
	slices.SortStableFunc(out, func(a, b statement) int { return cmp.Or(cmp.Compare(a.at, b.at), a.Ref.Compare(b.Ref)) })
	return out
}

func nearest(ss []statement) Nearness {
	var n Nearness
	for _, s := range ss {
		n = max(n, NearnessOf(s.Kind))
	}
	return n
}

func rank(ss []statement) float64 {
	var r float64
	for _, s := range ss {
		r = max(r, s.Trust)
	}
	return r
}

// moved tells when the address changed from that of a to that of b: a witness
// says first a and then b, and every witness of both agrees on the order.
func moved(a, b []statement) (at event.Nanos, ok bool) {
	last := make(map[string]event.Nanos)
	for _, s := range a {
		if NearnessOf(s.Kind) != Used {
			last[witness(s.Kind)] = s.at // by time: the last one stays
		}
	}
	first := make(map[string]bool)
	for _, s := range b {
		w := witness(s.Kind)
		end, both := last[w]
		if NearnessOf(s.Kind) == Used || !both || first[w] {
			continue
		}
		first[w] = true
		if s.at <= end {
			return 0, false
		}
		when := s.at
		if s.At == 0 {
			when = end + 1 // the snapshot is later, the change may have come at once
		}
		if !ok || when < at {
			at, ok = when, true
		}
	}
	return at, ok
}

// remains returns the statements later than t that are told by copies or used,
// and whether a direct one is among them.
func remains(ss []statement, t event.Nanos) (late []statement, direct bool) {
	for _, s := range ss {
		if s.at > t {
			late = append(late, s)
			direct = direct || NearnessOf(s.Kind) == Direct
		}
	}
	return late, direct
}
