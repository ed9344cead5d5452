package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Counts are the attempts of one probe, or of all probes of an incident, inside
// the window of the incident.
type Counts struct {
	Failed, Succeeded int64
	// Unknown counts attempts that neither failed nor succeeded, Missing those that
	// were due and of which nothing is seen; Missing is no part of Total.
	Unknown, Missing int64
	// Shown is set where the inputs show good attempts too: there, no success means
	// that none succeeded.
	Shown bool
}

// Total counts the attempts that are in the inputs.
func (n Counts) Total() int64 { return n.Failed + n.Succeeded + n.Unknown }

func (n *Counts) add(o Counts) {
	n.Failed += o.Failed
	n.Succeeded += o.Succeeded
	n.Unknown += o.Unknown
	n.Missing += o.Missing
	n.Shown = n.Shown || o.Shown
}

// String says how many attempts failed and what became of the others, "" where
// none failed.
func (n Counts) String() string {
	if n.Failed == 0 {
		return ""
	}
	var s string
	switch others := n.Succeeded + n.Unknown; {
	case others == 0 && !n.Shown:
		s = Count(n.Failed, "attempt", "attempts") + " failed (good ones leave no record in these inputs)"
	case others == 0 && n.Failed == 1:
		s = "the only attempt failed"
	case others == 0:
		s = "all " + Number(n.Failed) + " attempts failed"
	default:
		s = Number(n.Failed) + " of " + Count(n.Total(), "attempt", "attempts") + " failed, " + Number(n.Succeeded) + " succeeded"
	}
	if n.Unknown > 0 {
		s += ", " + Number(n.Unknown) + " with an unknown result"
	}
	if n.Missing > 0 {
		s += ", " + Number(n.Missing) + " more due and not seen"
	}
	return s
}

// Good prints the number of attempts that succeeded for a column of a table.
func (n Counts) Good() string {
	if !n.Shown && n.Succeeded == 0 {
		return "not recorded"
	}
	return Number(n.Succeeded)
}

// Counts sums up the attempts of all subjects.
func (in *Incident) Counts() Counts {
	var sum Counts
	for _, s := range in.Subjects {
		sum.add(in.SubjectCounts(s))
	}
	return sum
}

// SubjectCounts counts the attempts of one subject.
func (in *Incident) SubjectCounts(s model.Subject) Counts {
	n := in.counts[subjectKey(s)]
	n.Failed = int64(s.FailedAttempts)
	n.Unknown = max(0, int64(s.TotalAttempts)-n.Failed-n.Succeeded)
	return n
}

// countAttempts counts what the model doesn't: good attempts in the windows of
// incidents, and those that were due and are not there.
func (c *Case) countAttempts(owners map[probeKey][]*Incident) {
	firstEnd := map[*Incident]event.Nanos{}
	for _, in := range c.Incidents {
		in.counts = map[probeKey]Counts{}
		firstEnd[in] = in.Window.First.Nanos
		for _, a := range in.Attempts {
			if Failed(a) && a.Incident == in.ID {
				firstEnd[in] = a.End // the window of the model's counts begins here
				break
			}
		}
	}
	for i := range c.Res.Tables.Attempts {
		a := &c.Res.Tables.Attempts[i]
		k := attemptKey(a)
		for _, in := range owners[k] {
			n := in.counts[k]
			good := a.Outcome == "success" || a.Outcome == "warning"
			n.Shown = n.Shown || good || a.FlowID != ""
			switch inside := a.End >= firstEnd[in] && a.End <= in.Window.Last.Nanos; {
			case inside && good:
				n.Succeeded += max(a.Count, 1)
			case inside && a.Outcome == "missing":
				n.Missing += max(a.Count, 1)
			}
			in.counts[k] = n
		}
	}
}

// Affected says whom an incident hit and how many attempts failed.
func Affected(in *Incident) string {
	who := whom(in)
	what := in.Counts().String()
	switch {
	case in.FailedAttempts > 0:
	case in.Trigger == model.TriggerNotProbed:
		what = "no failed attempt: probes did not run"
	default:
		what = "no failed attempt was recorded"
	}
	return strings.Join(nonEmpty(who, what), "; ")
}

func whom(in *Incident) string {
	var parts []string
	if n := len(in.Pods()); n > 0 {
		parts = append(parts, Count(n, "pod", "pods"))
	}
	if in.Scope != model.ScopePod && in.Node != "" {
		parts = append(parts, "node "+in.Node)
	}
	n := 0
	for _, s := range in.Subjects {
		if s.Probe != "" || s.Pod == "" {
			n++
		}
	}
	if n > 0 {
		parts = append(parts, Count(n, "probe", "probes"))
	}
	return strings.Join(parts, ", ")
}

// All sums up the incidents of a case: whom they hit, and when.
type All struct {
	Pods, Nodes, Probes int
	// Failing counts the incidents with failed attempts, Recovered those of them that
	// were seen to end.
	Failing, Recovered int
	Failed             int64 // attempts
	First, Last        event.Nanos
}

// All sums up.
func (c *Case) All() All {
	var all All
	pods, nodes, probes := map[string]bool{}, map[string]bool{}, map[probeKey]bool{}
	for _, in := range c.Incidents {
		for _, p := range in.Pods() {
			pods[p] = true
		}
		if in.Node != "" {
			nodes[in.Node] = true
		}
		for _, s := range in.Subjects {
			if s.Probe != "" {
				probes[subjectKey(s)] = true
			}
		}
		all.Failed += int64(in.FailedAttempts)
		w := in.Window
		if !w.First.IsZero() && (all.First == 0 || w.First.Nanos < all.First) {
			all.First = w.First.Nanos
		}
		all.Last = max(all.Last, w.Last.Nanos, w.Recovered.Nanos)
		if in.FailedAttempts > 0 {
			all.Failing++
		}
		if in.FailedAttempts > 0 && !w.Recovered.IsZero() {
			all.Recovered++
		}
	}
	all.Pods, all.Nodes, all.Probes = len(pods), len(nodes), len(probes)
	return all
}

// Whom says whom all incidents hit.
func (a All) Whom() string {
	var parts []string
	if a.Pods > 0 {
		parts = append(parts, Count(a.Pods, "pod", "pods"))
	}
	if a.Probes > 0 {
		parts = append(parts, Count(a.Probes, "probe", "probes"))
	}
	s := strings.Join(parts, ", ")
	switch nodes := Count(a.Nodes, "node", "nodes"); {
	case a.Nodes > 0 && s != "":
		s += " on " + nodes
	case a.Nodes > 0:
		s = nodes
	}
	if a.Failed > 0 {
		s += "; " + Count(a.Failed, "failed attempt", "failed attempts")
	}
	return s
}

// When says when all incidents were.
func (a All) When() string {
	if a.First == 0 {
		return "unknown"
	}
	s := Instant(a.First)
	if a.Last > a.First {
		s += " to " + Later(a.First, a.Last)
	}
	switch {
	case a.Failing == 0:
	case a.Recovered == 0:
		s += "; no recovery seen"
	case a.Recovered == a.Failing:
		s += "; all recovered"
	default:
		s += "; " + Number(int64(a.Recovered)) + " of " + Number(int64(a.Failing)) + " seen to recover"
	}
	return s
}

// ByCause lists how many incidents have which cause, the most frequent first.
func (c *Case) ByCause() []CauseCount {
	var out []CauseCount
	at := map[string]int{}
	for _, in := range c.Incidents {
		i, ok := at[in.Cause.ID]
		if !ok {
			i = len(out)
			at[in.Cause.ID] = i
			out = append(out, CauseCount{ID: in.Cause.ID, Title: in.Title()})
		}
		out[i].Incidents++
	}
	slices.SortStableFunc(out, func(a, b CauseCount) int {
		return cmp.Or(cmp.Compare(b.Incidents, a.Incidents), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// CauseCount is a cause and how many incidents have it.
type CauseCount struct {
	ID, Title string
	Incidents int
}
