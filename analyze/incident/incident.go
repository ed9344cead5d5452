// Package incident groups failed attempts and stuck states into incidents:
// episodes per probe, merged per pod, node or cluster by time and signature,
// never only because they overlap.
package incident

import (
	"cmp"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Incident is one thing that went wrong, before a cause is named.
type Incident struct {
	Scope   string // model.Scope*
	Trigger string // model.Trigger*
	Node    string
	Pods    []*identity.Pod
	// Members are the probes concerned with the attempts of the episode (failed and,
	// between first and last, successful ones), by pod, container and type.
	Members []Member
	// First and Last bound the failures, each when it was known (for a state: the
	// state); Began is when the first one began. Recovered is the first success after,
	// zero when none was seen.
	First, Last, Recovered event.Nanos
	// Signature tells alike failures apart: classes and targets.
	Signature string
	// Parts are the pods' own incidents that a node incident would replace.
	Parts []*Incident
	// States are the facts that started an incident without failed attempts.
	States []State
}

// Member is one probe of the incident.
type Member struct {
	Worker   *probe.Worker
	Attempts []*probe.Attempt // in the window, by End
	Failed   []*probe.Attempt
}

// State is a fact that makes an incident without a failed attempt.
type State struct {
	Code string // one of the State constants
	Text string
	At   event.Nanos
	To   event.Nanos
	Refs []event.Ref
}

// FailedAttempts counts the failed attempts of all members (an event that
// stands for several counts as many).
func (i *Incident) FailedAttempts() int {
	n := 0
	for _, m := range i.Members {
		for _, a := range m.Failed {
			n += int(max(a.Count, 1))
		}
	}
	return n
}

// Began is when the first failed attempt of the probe began.
func (m *Member) Began() event.Nanos {
	var at event.Nanos
	for _, a := range m.Failed {
		if t := cmp.Or(a.Start, a.End); at == 0 || t < at {
			at = t
		}
	}
	return at
}

// Began is when the incident began: with the start of its first failed attempt,
// or with its state.
func (i *Incident) Began() event.Nanos {
	at := i.First
	for j := range i.Members {
		if t := i.Members[j].Began(); t != 0 {
			at = min(at, t)
		}
	}
	return at
}
