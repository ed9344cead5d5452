// Package view prepares what several renderers show: names of references, the
// order of incidents, the verdict in one sentence, timelines, the packets of an
// attempt, commands that reproduce a finding. It holds words and numbers, never
// markup; its strings contain text from inputs and are escaped by renderers.
package view

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Case is a result with the indexes that views need.
type Case struct {
	Res *model.Result
	// Incidents in the order in which a reader should meet them: most failed
	// attempts first, then the surer verdict, then time.
	Incidents []*Incident

	streams map[event.StreamID]stream
	flows   map[string][]*model.FlowRow
}

// Incident is an incident with its attempts.
type Incident struct {
	*model.Incident
	// Number counts from 1 in reading order.
	Number int
	// Attempts of the incident's subjects around its window, by time.
	Attempts []*model.Attempt
	// Failed and Good are the exchanges of a typical failed attempt and of a good one
	// of the same probe, nil where no capture saw one.
	Failed, Good *Exchange

	counts map[probeKey]Counts // what Subjects does not say
}

type stream struct {
	model *model.Stream
	input *model.Input
	name  string // shortest suffix of the path that tells the streams apart
}

// New indexes a result. It reads the flows and ARP tables once, keeping only
// what the exchanges of incidents need.
func New(ctx context.Context, res *model.Result) (*Case, error) {
	c := Index(res)
	if err := c.loadExchanges(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Index indexes a result without reading its tables: incidents have no
// exchanges then.
func Index(res *model.Result) *Case {
	c := &Case{Res: res, streams: map[event.StreamID]stream{}}
	for i := range res.Inputs {
		in := &res.Inputs[i]
		for j := range in.Streams {
			c.streams[in.Streams[j].ID] = stream{model: &in.Streams[j], input: in}
		}
	}
	c.nameStreams()
	for i := range res.Incidents {
		c.Incidents = append(c.Incidents, &Incident{Incident: &res.Incidents[i]})
	}
	slices.SortStableFunc(c.Incidents, func(a, b *Incident) int {
		return cmp.Or(cmp.Compare(b.FailedAttempts, a.FailedAttempts), cmp.Compare(b.Cause.Confidence, a.Cause.Confidence),
			cmp.Compare(a.Window.First.Nanos, b.Window.First.Nanos), cmp.Compare(a.ID, b.ID))
	})
	for i, in := range c.Incidents {
		in.Number = i + 1
	}
	c.shareAttempts()
	return c
}

// nameStreams gives each stream the shortest suffix of its path, two parts at
// least, that no other stream ends with.
func (c *Case) nameStreams() {
	count := map[string]int{}
	for _, s := range c.streams {
		parts := pathParts(s.model.Path)
		for i := range parts {
			count[strings.Join(parts[i:], "/")]++
		}
	}
	for id, s := range c.streams {
		parts := pathParts(s.model.Path)
		s.name = s.model.Path
		for i := max(len(parts)-2, 0); i >= 0; i-- {
			if name := strings.Join(parts[i:], "/"); count[name] == 1 {
				s.name = name
				break
			}
		}
		c.streams[id] = s
	}
}

// pathParts splits a path; a compressed file and what is in it are one part.
func pathParts(p string) []string {
	var out []string
	for member := range strings.SplitSeq(p, "!/") {
		if n := len(out); n > 0 && !strings.Contains(member, "/") && strings.HasPrefix(out[n-1], member) {
			out[n-1] = member
			continue
		}
		out = append(out, strings.Split(member, "/")...)
	}
	return out
}

// Ref prints a reference: "journal/kubelet.log:48211", "captures/a.pcap#1123".
func (c *Case) Ref(r model.Ref) string {
	if r.Stream == 0 {
		return ""
	}
	name := c.StreamName(r.Stream)
	if r.Line == 0 && r.Packet == 0 && r.Offset == 0 {
		return name
	}
	return name + r.Event().Place()
}

// StreamName is the short name of a stream.
func (c *Case) StreamName(id event.StreamID) string {
	if s, ok := c.streams[id]; ok {
		return s.name
	}
	return "stream " + Number(int64(id))
}

// probeKey identifies a probe of a container of a pod.
type probeKey struct{ ns, pod, uid, container, probe string }

func subjectKey(s model.Subject) probeKey {
	return probeKey{s.Namespace, s.Pod, s.UID, s.Container, s.Probe}
}

func attemptKey(a *model.Attempt) probeKey {
	return probeKey{a.Namespace, a.Pod, a.UID, a.Container, a.Probe}
}

// shareAttempts gives each incident the attempts of its subjects that are its
// own or lie close to its window.
func (c *Case) shareAttempts() {
	owners := map[probeKey][]*Incident{}
	byID := map[string]*Incident{}
	for _, in := range c.Incidents {
		byID[in.ID] = in
		for _, s := range in.Subjects {
			if s.Pod != "" {
				owners[subjectKey(s)] = append(owners[subjectKey(s)], in)
			}
		}
	}
	for i := range c.Res.Tables.Attempts {
		a := &c.Res.Tables.Attempts[i]
		own := byID[a.Incident]
		if own != nil {
			own.Attempts = append(own.Attempts, a)
		}
		for _, in := range owners[attemptKey(a)] {
			from, to := in.Span()
			if in != own && a.Incident == "" && a.End >= from && a.Start <= to {
				in.Attempts = append(in.Attempts, a)
			}
		}
	}
	for _, in := range c.Incidents {
		slices.SortStableFunc(in.Attempts, func(a, b *model.Attempt) int {
			return cmp.Or(cmp.Compare(when(a), when(b)), cmp.Compare(a.ID, b.ID))
		})
	}
	c.countAttempts(owners)
}

// when is the time at which an attempt is drawn.
func when(a *model.Attempt) event.Nanos {
	if a.Start != 0 {
		return a.Start
	}
	return a.End
}

// Span is the window of an incident with a margin that shows what was before
// and after: a fifth of its length, 30 s at least, ten minutes at most.
func (in *Incident) Span() (from, to event.Nanos) {
	from, to = in.Window.First.Nanos, max(in.Window.Last.Nanos, in.Window.Recovered.Nanos)
	to = max(to, from)
	margin := min(max(to.Sub(from)/5, 30e9), 600e9)
	return from.Add(-margin), to.Add(margin)
}

// Failed reports whether an attempt failed, or could not be made.
func Failed(a *model.Attempt) bool { return a.Outcome == "failure" || a.Outcome == "errored" }

// Pods lists the pods of the incident's subjects, without repeats.
func (in *Incident) Pods() []string {
	var out []string
	for _, s := range in.Subjects {
		if s.Pod != "" {
			out = append(out, s.Namespace+"/"+s.Pod)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// By lists the evidence of a role, the weightiest first.
func (in *Incident) By(role string) []*model.Evidence {
	var out []*model.Evidence
	for i := range in.Evidence {
		if e := &in.Evidence[i]; e.Role == role {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b *model.Evidence) int { return cmp.Compare(abs(b.Weight), abs(a.Weight)) })
	return out
}

func abs(v float64) float64 { return max(v, -v) }

// Model finds the pods of the incident's subjects in the result.
func (c *Case) Model(in *Incident) []*model.Pod {
	var out []*model.Pod
	for i := range c.Res.Pods {
		p := &c.Res.Pods[i]
		if slices.ContainsFunc(in.Subjects, func(s model.Subject) bool {
			return s.Pod != "" && s.Namespace == p.Namespace && s.Pod == p.Pod && (s.UID == "" || p.UID == "" || s.UID == p.UID)
		}) {
			out = append(out, p)
		}
	}
	return out
}
