package rules

import (
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// maxRefs bounds how many records one claim cites.
const maxRefs = 17

// Fact is an answer to a question about a case: a sentence, when it holds, and
// the records that say so. The zero Fact means "not shown".
type Fact struct {
	Claim string
	At    event.Nanos
	Refs  []event.Ref
	// N is how many observations stand behind it.
	N int
}

// OK reports whether the fact was shown: it cites at least one record.
func (f Fact) OK() bool { return len(f.Refs) > 0 }

// Say returns the fact with another sentence.
func (f Fact) Say(claim string) Fact {
	f.Claim = claim
	return f
}

// cite collects references, without zero ones and repeats, at most maxRefs.
func cite(refs ...event.Ref) []event.Ref {
	var out []event.Ref
	for _, r := range refs {
		if len(out) == maxRefs {
			break
		}
		if !r.IsZero() && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// Need adds a fact as necessary evidence and reports whether it was shown.
func (v *Verdict) Need(group string, weight float64, f Fact) bool {
	return v.add(Need, group, weight, f)
}

// Sup adds a fact as supporting evidence and reports whether it was shown.
func (v *Verdict) Sup(group string, weight float64, f Fact) bool { return v.add(Sup, group, weight, f) }

// Con adds a fact as a contradiction and reports whether it was shown.
func (v *Verdict) Con(group string, weight float64, f Fact) bool { return v.add(Con, group, weight, f) }

// Note adds a fact that carries no weight and reports whether it was shown.
func (v *Verdict) Note(group string, f Fact) bool { return v.add(Context, group, 0, f) }

func (v *Verdict) add(role Role, group string, weight float64, f Fact) bool {
	if f.OK() {
		v.Add(role, group, weight, f.At, f.Refs, f.Claim)
	}
	return f.OK()
}

// Ask notes missing observations that would have settled more.
func (v *Verdict) Ask(ids ...string) {
	for _, id := range ids {
		if !slices.Contains(v.Missing, id) {
			v.Missing = append(v.Missing, id)
		}
	}
}
