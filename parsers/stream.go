package parsers

import (
	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/source"
	"github.com/probe-forensics/probe-forensics/parsers/spill"
)

// Bounds of what one stream may report.
const (
	maxProblems = 50
	maxNodes    = 4096
)

// stream is one stream being parsed, and afterwards its events. It is the sink
// of its parser, on the parser's goroutine.
type stream struct {
	info  *event.StreamInfo
	place source.Place
	log   *spill.Log
	seq   int // order of appearance, to tell streams of one path apart

	problems []event.Problem
	// nodes are the node names met in the events: what paths are matched against.
	nodes    map[string]struct{}
	objects  map[string]struct{} // those that API objects name
	lastNode string
	// api is set when the stream holds objects from the API server: such events
	// carry its clock, not that of a node.
	api bool
	err error // of the event store
}

// Emit implements event.Sink.
func (s *stream) Emit(e event.Event) {
	if s.err != nil {
		return
	}
	s.note(&e)
	s.err = s.log.Append(&e)
}

// note learns from an event which nodes there are, and whether the stream is the
// API server's.
func (s *stream) note(e *event.Event) {
	s.node(e.Node)
	switch p := e.Payload.(type) {
	case *event.NodeSeen:
		s.api = true
		s.node(p.Name)
		s.object(p.Name)
	case *event.PodSeen:
		s.api = true
		s.node(p.Node)
		s.object(p.Node)
	case *event.K8sEvent:
		s.api = s.api || !p.FromLog
	case *event.ObjectSeen:
		s.api = true
	}
}

func (s *stream) node(name string) {
	if name == s.lastNode || name == "" {
		return
	}
	s.lastNode = name
	if s.nodes == nil {
		s.nodes = make(map[string]struct{})
	}
	if len(s.nodes) < maxNodes {
		s.nodes[name] = struct{}{}
	}
}

// object notes a node's name as the API spells it.
func (s *stream) object(name string) {
	if name == "" || len(s.objects) >= maxNodes {
		return
	}
	if s.objects == nil {
		s.objects = make(map[string]struct{})
	}
	s.objects[name] = struct{}{}
}

// Problem implements event.Sink. Equal problems are counted at the first place;
// when there are too many different ones, at the first of the same code.
func (s *stream) Problem(p event.Problem) {
	p.Count = max(p.Count, 1)
	p.Path = s.info.Path
	same := -1
	for i := range s.problems {
		if s.problems[i].Code != p.Code {
			continue
		}
		if s.problems[i].Message == p.Message {
			s.problems[i].Count += p.Count
			return
		}
		if same < 0 {
			same = i
		}
	}
	if len(s.problems) >= maxProblems && same >= 0 {
		s.problems[same].Count += p.Count
		return
	}
	if len(s.problems) < 2*maxProblems {
		s.problems = append(s.problems, p)
	}
}
