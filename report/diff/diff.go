// Package diff compares two reports: which incidents are new, which are gone,
// and whose cause or size changed. It reads what report.json holds, so both
// sides may come from files.
package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// Delta is the difference between two reports.
type Delta struct {
	// Notes say what makes the two hard to compare: other rules, another version,
	// the same inputs.
	Notes   []string   `json:"notes"`
	New     []Incident `json:"new"`
	Gone    []Incident `json:"gone"`
	Changed []Change   `json:"changed"`
	// Same counts incidents whose cause, confidence and numbers are equal.
	Same int `json:"same"`
}

// Incident is one side of a comparison.
type Incident struct {
	ID             string   `json:"id"`
	Cause          string   `json:"cause"`
	Confidence     float64  `json:"confidence"`
	Word           string   `json:"word"`
	Subjects       []string `json:"subjects"`
	FailedAttempts int      `json:"failed_attempts"`
	First          string   `json:"first"`
	Sentence       string   `json:"sentence"`
}

// Change is an incident of the same workload on both sides. What lists the
// fields that differ: "cause", "confidence", "failed_attempts".
type Change struct {
	Before Incident `json:"before"`
	After  Incident `json:"after"`
	What   []string `json:"what"`
}

// confidenceStep is the smallest change of confidence that is told.
const confidenceStep = 0.05

// Compare compares report b with the earlier report a. Incidents belong together
// when their fingerprints are equal, or else when they concern a probe of the
// same workload (or the same node); each is used once, the largest first.
func Compare(a, b *model.Result) *Delta {
	d := &Delta{Notes: notes(a, b), New: []Incident{}, Gone: []Incident{}, Changed: []Change{}}
	before, after := sideOf(a), sideOf(b)
	used := make([]bool, len(before))
	pair := make([]int, len(after))
	for i := range pair {
		pair[i] = -1
	}
	// Twice: equal fingerprints must not be taken by a weaker match.
	for _, match := range []func(x, y *entry) bool{sameFingerprint, sameSubject} {
		for j := range after {
			if pair[j] >= 0 {
				continue
			}
			for i := range before {
				if !used[i] && match(&before[i], &after[j]) {
					pair[j], used[i] = i, true
					break
				}
			}
		}
	}
	for j := range after {
		if pair[j] < 0 {
			d.New = append(d.New, after[j].brief)
			continue
		}
		c := Change{Before: before[pair[j]].brief, After: after[j].brief}
		if c.What = differences(c.Before, c.After); len(c.What) == 0 {
			d.Same++
			continue
		}
		d.Changed = append(d.Changed, c)
	}
	for i := range before {
		if !used[i] {
			d.Gone = append(d.Gone, before[i].brief)
		}
	}
	return d
}

type entry struct {
	brief       Incident
	fingerprint string
	keys        []string
}

func sideOf(res *model.Result) []entry {
	owners := map[string]string{}
	for _, p := range res.Pods {
		if p.Owner.Name != "" {
			owners[p.Namespace+"/"+p.Pod] = p.Namespace + "/" + workload(p.Owner)
		}
	}
	var out []entry
	for _, in := range view.Index(res).Incidents {
		e := entry{fingerprint: in.Fingerprint, brief: Incident{
			ID: in.ID, Cause: in.Cause.ID, Confidence: in.Cause.Confidence, Word: in.Cause.Word, Subjects: []string{}, FailedAttempts: in.FailedAttempts,
			First: in.Window.First.String(), Sentence: in.Sentence(),
		}}
		for _, s := range in.Subjects {
			name := view.PodName(s)
			if !slices.Contains(e.brief.Subjects, name) {
				e.brief.Subjects = append(e.brief.Subjects, name)
			}
			if s.Pod == "" {
				e.keys = append(e.keys, "target "+name)
				continue
			}
			e.keys = append(e.keys, strings.Join([]string{cmp.Or(owners[name], name), s.Container, s.Probe}, " "))
		}
		if in.Scope != model.ScopePod {
			e.keys = append(e.keys, "node "+in.Node)
		}
		out = append(out, e)
	}
	return out
}

// workload names an owner without the hash of a ReplicaSet, which changes with
// every roll-out.
func workload(o model.Owner) string {
	if o.Kind == "ReplicaSet" {
		if i := strings.LastIndexByte(o.Name, '-'); i > 0 {
			return "Deployment/" + o.Name[:i]
		}
	}
	return o.Kind + "/" + o.Name
}

func sameFingerprint(x, y *entry) bool {
	return x.fingerprint != "" && x.fingerprint == y.fingerprint
}

func sameSubject(x, y *entry) bool {
	return slices.ContainsFunc(x.keys, func(k string) bool { return slices.Contains(y.keys, k) })
}

func differences(a, b Incident) []string {
	var out []string
	if a.Cause != b.Cause {
		out = append(out, "cause")
	}
	if a.Word != b.Word || math.Abs(a.Confidence-b.Confidence) >= confidenceStep-1e-9 {
		out = append(out, "confidence")
	}
	if a.FailedAttempts != b.FailedAttempts {
		out = append(out, "failed_attempts")
	}
	return out
}

func notes(a, b *model.Result) []string {
	out := []string{}
	if a.BundleID != "" && a.BundleID == b.BundleID {
		out = append(out, "both reports are about the same inputs")
	}
	if a.Tool.Version != b.Tool.Version {
		out = append(out, fmt.Sprintf("the versions differ: %s and %s", a.Tool.Version, b.Tool.Version))
	}
	if a.Tool.RulesHash != b.Tool.RulesHash {
		out = append(out, "the rules differ: a changed verdict may be the rules' doing")
	}
	if a.Cluster != b.Cluster {
		out = append(out, fmt.Sprintf("the clusters differ: %s and %s", a.Cluster, b.Cluster))
	}
	return out
}

// Empty reports whether nothing changed.
func (d *Delta) Empty() bool { return len(d.New)+len(d.Gone)+len(d.Changed) == 0 }
