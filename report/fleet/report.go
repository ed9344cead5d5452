package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Report is the content of fleet.json. Fields are added, never renamed.
type Report struct {
	SchemaVersion string `json:"schema_version"`
	// Cases counts the reports summed up, Repeated those that stood for a bundle a
	// second time and were left out.
	Cases    int       `json:"cases"`
	Repeated int       `json:"repeated"`
	Healthy  int       `json:"cases_without_incident"`
	Failed   []Failed  `json:"failed"`
	Versions []Version `json:"versions"`
	// From and To are the first and last failed attempt of any incident.
	From           model.Time `json:"from"`
	To             model.Time `json:"to"`
	Incidents      int        `json:"incidents"`
	FailedAttempts int        `json:"failed_attempts"`

	Causes     []Group `json:"by_cause"`
	Clusters   []Group `json:"by_cluster"`
	Nodes      []Group `json:"by_node"`      // "cluster/node" where there are several clusters
	Namespaces []Group `json:"by_namespace"` // the same
	Owners     []Group `json:"by_owner"`     // namespace/kind/name, the same
	Days       []Group `json:"by_day"`       // UTC, in order

	// Recurring are the signatures met more than once, the most frequent first.
	Recurring []Signature `json:"recurring"`
	// Since bounds New: the signatures that no incident before it had.
	Since model.Time  `json:"since"`
	New   []Signature `json:"new"`
}

// Version is a version and rule set that reports were made with.
type Version struct {
	Version   string `json:"version"`
	RulesHash string `json:"rules_hash"`
	Cases     int    `json:"cases"`
}

// Group counts the incidents that have something in common. An incident of
// several nodes, namespaces or owners counts in each.
type Group struct {
	Name           string       `json:"name"`
	Title          string       `json:"title,omitempty"` // of a cause
	Incidents      int          `json:"incidents"`
	FailedAttempts int          `json:"failed_attempts"`
	Cases          int          `json:"cases"`
	First          model.Time   `json:"first"`
	Last           model.Time   `json:"last"`
	Causes         []CauseCount `json:"causes"`

	cases map[string]bool
}

// CauseCount counts the incidents of one cause.
type CauseCount struct {
	Cause     string `json:"cause"`
	Incidents int    `json:"incidents"`
}

// Signature is one cause on one workload, over all cases.
type Signature struct {
	Fingerprint    string     `json:"fingerprint"`
	Cause          string     `json:"cause"`
	Title          string     `json:"title"`
	Confidence     float64    `json:"confidence"` // the highest
	Clusters       []string   `json:"clusters"`
	Owners         []string   `json:"owners"`
	Nodes          []string   `json:"nodes"`
	Incidents      int        `json:"incidents"`
	FailedAttempts int        `json:"failed_attempts"`
	First          model.Time `json:"first"`
	Last           model.Time `json:"last"`
	Cases          []string   `json:"cases"` // where it was seen, at most maxCases
	MoreCases      int        `json:"more_cases"`
	Summary        string     `json:"summary"` // of the latest incident
}

// maxCases bounds the cases that a signature lists.
const maxCases = 10

// Since is where "new" begins: an instant, or a duration back from the last
// failed attempt of all. Zero means that nothing is listed as new.
type Since struct {
	At  event.Nanos
	Ago time.Duration
}

// Report sums up what was added.
func (b *Builder) Report(since Since) *Report {
	r := &Report{SchemaVersion: model.SchemaVersion, Cases: len(b.cases), Repeated: b.again, Failed: slices.Clone(b.failed), Versions: []Version{}}
	if r.Failed == nil {
		r.Failed = []Failed{}
	}
	slices.SortFunc(r.Failed, func(a, b Failed) int { return cmp.Or(cmp.Compare(a.Bundle, b.Bundle), cmp.Compare(a.Reason, b.Reason)) })
	clusters := map[string]bool{}
	for _, c := range b.cases {
		clusters[c.cluster] = true
		if len(c.incidents) == 0 {
			r.Healthy++
		}
		i := slices.IndexFunc(r.Versions, func(v Version) bool { return v.Version == c.version && v.RulesHash == c.rules })
		if i < 0 {
			i = len(r.Versions)
			r.Versions = append(r.Versions, Version{Version: c.version, RulesHash: c.rules})
		}
		r.Versions[i].Cases++
	}
	slices.SortFunc(r.Versions, func(a, b Version) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(a.RulesHash, b.RulesHash))
	})
	all := b.incidents()
	r.Incidents = len(all)
	in := func(x *brief, names []string) []string {
		if len(clusters) < 2 {
			return names
		}
		out := make([]string, len(names))
		for i, n := range names {
			out[i] = x.cluster + "/" + n
		}
		return out
	}
	for _, x := range all {
		r.FailedAttempts += x.failed
		r.From, r.To = model.At(earliest(r.From.Nanos, x.first)), model.At(max(r.To.Nanos, x.last))
	}
	r.Causes = groups(all, func(x *brief) []string { return []string{x.cause} })
	for i, g := range r.Causes {
		if at := slices.IndexFunc(all, func(x *brief) bool { return x.cause == g.Name }); at >= 0 {
			r.Causes[i].Title, r.Causes[i].Causes = all[at].title, []CauseCount{}
		}
	}
	r.Clusters = groups(all, func(x *brief) []string { return []string{x.cluster} })
	r.Nodes = groups(all, func(x *brief) []string { return in(x, x.nodes) })
	r.Namespaces = groups(all, func(x *brief) []string { return in(x, x.namespaces) })
	r.Owners = groups(all, func(x *brief) []string { return in(x, x.owners) })
	r.Days = groups(all, func(x *brief) []string {
		if x.first == 0 {
			return []string{"unknown"}
		}
		return []string{x.first.Time().Format(time.DateOnly)}
	})
	slices.SortFunc(r.Days, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	r.signatures(all, since)
	return r
}

func earliest(a, b event.Nanos) event.Nanos {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// groups counts incidents by what keys names, the largest group first.
func groups(all []*brief, keys func(*brief) []string) []Group {
	found := map[string]*Group{}
	causes := map[string]map[string]int{}
	for _, x := range all {
		for _, k := range keys(x) {
			g := found[k]
			if g == nil {
				g = &Group{Name: k, cases: map[string]bool{}}
				found[k], causes[k] = g, map[string]int{}
			}
			g.Incidents++
			g.FailedAttempts += x.failed
			g.First, g.Last = model.At(earliest(g.First.Nanos, x.first)), model.At(max(g.Last.Nanos, x.last))
			for _, b := range x.bundles {
				g.cases[b] = true
			}
			causes[k][x.cause]++
		}
	}
	out := make([]Group, 0, len(found))
	for k, g := range found {
		g.Cases = len(g.cases)
		g.Causes = make([]CauseCount, 0, len(causes[k]))
		for c, n := range causes[k] {
			g.Causes = append(g.Causes, CauseCount{c, n})
		}
		slices.SortFunc(g.Causes, func(a, b CauseCount) int {
			return cmp.Or(-cmp.Compare(a.Incidents, b.Incidents), cmp.Compare(a.Cause, b.Cause))
		})
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b Group) int {
		return cmp.Or(-cmp.Compare(a.Incidents, b.Incidents), -cmp.Compare(a.FailedAttempts, b.FailedAttempts), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// signatures fills Recurring and New.
func (r *Report) signatures(all []*brief, since Since) {
	found := map[string]*Signature{}
	last := map[string]event.Nanos{}
	for _, x := range all { // by time, so the summary is that of the latest
		if x.fingerprint == "" {
			continue
		}
		s := found[x.fingerprint]
		if s == nil {
			s = &Signature{Fingerprint: x.fingerprint, Cause: x.cause, Title: x.title, First: model.At(x.first)}
			found[x.fingerprint] = s
		}
		s.Incidents++
		s.FailedAttempts += x.failed
		s.Confidence = max(s.Confidence, x.confidence)
		s.First = model.At(earliest(s.First.Nanos, x.first))
		if x.last >= last[x.fingerprint] {
			last[x.fingerprint], s.Summary = x.last, x.summary
			s.Last = model.At(x.last)
		}
		s.Clusters = append(s.Clusters, x.cluster)
		s.Owners = append(s.Owners, x.owners...)
		s.Nodes = append(s.Nodes, x.nodes...)
		s.Cases = append(s.Cases, x.bundles...)
	}
	r.Recurring, r.New = []Signature{}, []Signature{}
	switch {
	case since.Ago != 0 && r.To.Nanos != 0:
		r.Since = model.At(r.To.Nanos - event.Nanos(since.Ago))
	case since.Ago == 0:
		r.Since = model.At(since.At)
	}
	for s := range maps.Values(found) {
		for _, list := range []*[]string{&s.Clusters, &s.Owners, &s.Nodes, &s.Cases} {
			slices.Sort(*list)
			if *list = slices.Compact(*list); *list == nil {
				*list = []string{}
			}
		}
		if n := len(s.Cases); n > maxCases {
			s.Cases, s.MoreCases = s.Cases[:maxCases], n-maxCases
		}
		if s.Incidents > 1 {
			r.Recurring = append(r.Recurring, *s)
		}
		if !r.Since.IsZero() && s.First.Nanos >= r.Since.Nanos {
			r.New = append(r.New, *s)
		}
	}
	order := func(a, b Signature) int {
		return cmp.Or(-cmp.Compare(a.Incidents, b.Incidents), -cmp.Compare(a.FailedAttempts, b.FailedAttempts),
			cmp.Compare(a.First.Nanos, b.First.Nanos), cmp.Compare(a.Fingerprint, b.Fingerprint))
	}
	slices.SortFunc(r.Recurring, order)
	slices.SortFunc(r.New, order)
}
