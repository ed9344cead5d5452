package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Fact is one row of a timeline: what happened, without a conclusion.
type Fact struct {
	At    event.Nanos
	Until event.Nanos // 0 for an instant
	Open  bool        // it lasted beyond the data: Until is the end of the span
	Kind  Kind
	Pod   string // "" for the node
	Text  string
	Quote string // what the record says, in its own words
	Ref   model.Ref
}

// Kind of a fact, for its place in a diagram.
type Kind string

// The kinds.
const (
	KindIP      Kind = "ip"
	KindSandbox Kind = "sandbox"
	KindRun     Kind = "run"
	KindFailed  Kind = "failed"
	KindReady   Kind = "ready"
	KindEffect  Kind = "effect"
	// KindRecord is a record that the verdict rests on, in its own words.
	KindRecord Kind = "record"
)

// Timeline lists the facts about an incident inside its span, by time. Failed
// attempts in a row are one fact. Intervals that reach beyond the span are
// listed with their true bounds.
func (c *Case) Timeline(in *Incident) []Fact {
	from, to := in.Span()
	var out []Fact
	add := func(f Fact) {
		if f.At <= to && max(f.At, f.Until) >= from && f.At != 0 {
			out = append(out, f)
		}
	}
	for _, p := range c.Model(in) {
		podFacts(p, to, add)
	}
	c.disputes(c.Model(in), to, add)
	for _, f := range failures(in.Attempts) {
		add(f)
	}
	pods := in.Pods()
	for _, e := range in.Consequences {
		pod, text := split(e.Text, pods)
		add(Fact{At: e.At.Nanos, Kind: KindEffect, Pod: pod, Text: text, Ref: e.Ref})
	}
	for _, f := range records(in, out) {
		add(f)
	}
	// A change of readiness that is listed as a consequence is one fact.
	out = slices.DeleteFunc(out, func(f Fact) bool {
		return f.Kind == KindReady && slices.ContainsFunc(in.Consequences, func(c model.Consequence) bool { return c.Ref == f.Ref && c.Ref.Stream != 0 })
	})
	slices.SortStableFunc(out, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Until, b.Until), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(out)
}

// split takes the pod off the beginning of a sentence about it.
func split(text string, pods []string) (pod, rest string) {
	for _, p := range pods {
		if after, ok := strings.CutPrefix(text, p+" "); ok {
			return p, after
		}
	}
	return "", text
}

// records quotes the records that the evidence rests on and that no other fact
// tells: what they say, not what follows from them.
func records(in *Incident, told []Fact) []Fact {
	seen := map[model.Ref]bool{}
	for _, f := range told {
		seen[place(f.Ref)] = true
	}
	for _, a := range in.Attempts {
		for _, refs := range [][]event.Ref{a.Refs, a.FlowRefs} {
			for _, r := range refs {
				seen[place(model.RefOf(r))] = true
			}
		}
	}
	var out []Fact
	for i := range in.Evidence {
		e := &in.Evidence[i]
		if e.Time.IsZero() || e.Excerpt == "" || seen[place(e.Ref)] || e.Role == model.RoleContext {
			continue
		}
		seen[place(e.Ref)] = true
		out = append(out, Fact{At: e.Time.Nanos, Kind: KindRecord, Text: "record", Quote: message(e.Excerpt), Ref: e.Ref})
	}
	return out
}

// place is a reference without the offset, where a line or a packet says the same.
func place(r model.Ref) model.Ref {
	if r.Line > 0 || r.Packet > 0 {
		r.Offset = 0
	}
	return r
}

// message is what a record says, without the header of a journal line or of klog:
// who wrote it and when stands beside it.
func message(excerpt string) string {
	s := strings.Join(strings.Fields(excerpt), " ")
	const header = 120 // no header is longer
	if i := strings.Index(s, "]: "); i > 0 && i < header && s[0] != '{' {
		s = s[i+3:]
	}
	klog := len(s) > 5 && strings.IndexByte("IWEF", s[0]) >= 0 && strings.Trim(s[1:5], "0123456789") == ""
	if i := strings.Index(s, "] "); klog && i > 0 && i < header {
		s = s[i+2:]
	}
	return s
}

// podFacts are the facts a pod carries itself. An interval without an end lasts
// to the end of the span.
func podFacts(p *model.Pod, end event.Nanos, add func(Fact)) {
	name := p.Namespace + "/" + p.Pod
	for _, iv := range p.IPIntervals {
		f := Fact{At: iv.From.Nanos, Until: until(iv.To, end), Open: iv.To.IsZero(), Kind: KindIP, Pod: name, Text: "address " + iv.IP + " " + iv.State}
		if len(iv.Sources) > 0 {
			f.Ref = iv.Sources[0].Ref
		}
		add(f)
	}
	for _, s := range p.Sandboxes {
		add(Fact{At: s.From.Nanos, Until: until(s.To, end), Open: s.To.IsZero(), Kind: KindSandbox, Pod: name, Text: fmt.Sprintf("sandbox %.12s", s.ID), Ref: s.Ref})
	}
	for _, r := range p.Runs {
		text := "container " + r.Container + " running"
		if !r.To.IsZero() {
			text = "container " + r.Container + " ran"
			if r.ExitCode != nil {
				text += fmt.Sprintf(", exit code %d", *r.ExitCode)
			}
			if r.KilledBy != "" {
				text += ", killed by " + r.KilledBy
			}
		}
		add(Fact{At: r.From.Nanos, Until: until(r.To, end), Open: r.To.IsZero(), Kind: KindRun, Pod: name, Text: text, Ref: r.Ref})
	}
	for _, r := range p.Ready {
		text := r.Probe + " probe: " + r.Status
		if r.Container != "" {
			text = "container " + r.Container + " " + text
		}
		add(Fact{At: r.At.Nanos, Kind: KindReady, Pod: name, Text: text, Ref: r.Ref})
	}
}

func until(t model.Time, end event.Nanos) event.Nanos {
	if t.IsZero() {
		return end
	}
	return t.Nanos
}

// failures joins failed attempts of a probe that follow each other without a
// good one between them.
func failures(attempts []*model.Attempt) []Fact {
	type streak struct {
		first, last *model.Attempt
		n           int64
	}
	open := map[probeKey]*streak{}
	var keys []probeKey
	var out []Fact
	end := func(k probeKey) {
		s := open[k]
		if s == nil {
			return
		}
		a := s.first
		f := Fact{At: when(a), Until: max(s.last.End, when(s.last)), Kind: KindFailed, Pod: podOf(a)}
		what := strings.Join(nonEmpty(a.Container, a.Probe, "probe"), " ")
		if s.n == 1 {
			f.Until = 0
			f.Text, f.Quote = what+" failed", Why(a)
		} else {
			f.Text, f.Quote = fmt.Sprintf("%s failed %d times, first", what, s.n), Why(a)
		}
		if len(a.Refs) > 0 {
			f.Ref = model.RefOf(a.Refs[0])
		}
		out = append(out, f)
		delete(open, k)
	}
	for _, a := range attempts {
		k := attemptKey(a)
		if !Failed(a) {
			end(k)
			continue
		}
		if open[k] == nil {
			open[k] = &streak{first: a}
			keys = append(keys, k)
		}
		open[k].last = a
		open[k].n += max(a.Count, 1)
	}
	for _, k := range keys {
		end(k)
	}
	return out
}

func podOf(a *model.Attempt) string {
	if a.Pod == "" {
		return Target(a.Target)
	}
	return a.Namespace + "/" + a.Pod
}

// Why is the output of an attempt, or its class where it printed nothing.
func Why(a *model.Attempt) string {
	switch {
	case a.Output != "":
		return a.Output
	case a.ErrorClass != "":
		return cmp.Or(classWords[a.ErrorClass], a.ErrorClass)
	default:
		return a.Outcome
	}
}

// classWords say what an error class means where the record quotes no output.
var classWords = map[string]string{
	"E-REFUSED": "connection refused", "E-CONN-TIMEOUT": "no connection in time", "E-HDR-TIMEOUT-OLD": "no response in time",
	"E-AMBIG-TIMEOUT": "time-out", "E-BODY": "body not read in time", "E-NOROUTE": "no route to host", "E-NETUNREACH": "network unreachable",
	"E-EADDRNOTAVAIL": "no local port free", "E-EMPTYIP": "pod without an address", "E-RESET": "connection reset", "E-EOF": "connection closed",
	"E-STATUS": "HTTP status out of range", "E-TLS": "TLS error", "E-GRPC-STATUS": "gRPC health not serving", "E-GRPC-CONN": "no gRPC connection",
	"E-EXEC-EXIT": "the command ended with an error", "E-EXEC-TIMEOUT": "the command did not end in time", "E-RUNTIME": "the runtime could not run the command",
}

// Length is how long an incident lasted: to its recovery, else to its last
// failure.
func (in *Incident) Length() time.Duration {
	return max(in.Window.Last.Nanos, in.Window.Recovered.Nanos).Sub(in.Window.First.Nanos)
}
