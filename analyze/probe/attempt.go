// Package probe rebuilds probe attempts: failed ones from log and events,
// successful ones from packets, missing ones from the grid, each joined to its
// connection where a capture saw it.
package probe

import (
	"net/netip"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Worker is one probe of one container of one pod: the kubelet runs a goroutine
// for it with its own clock.
type Worker struct {
	Pod       *identity.Pod
	Container string
	Type      event.ProbeType
	// Spec is the declared probe, nil when no input holds the pod object; Learned
	// parts (handler, port) are then filled from outputs.
	Spec     *event.ProbeSpec
	Handler  string // "http", "tcp", "grpc", "exec", "" unknown
	Port     int
	Path     string
	Period   time.Duration // declared, else estimated; 0 unknown
	Timeout  time.Duration
	Attempts []*Attempt // by End
	// Missing are the attempts that the grid demands and nothing shows, see
	// Set.Missing; Grid says whether they could be told, one of the Grid constants.
	Missing []*Attempt
	Grid    string

	number   int           // position in Set.Workers
	unjudged []event.Nanos // starts of its connections that tell no result
	shared   bool          // its packets can't be told from another worker's
}

// Attempt is one probe attempt.
type Attempt struct {
	Worker  *Worker
	Outcome event.Outcome
	// Source says what the attempt rests on, as model.Attempt.Source.
	Source string
	Class  Class
	Output string
	Target model.Target
	// Addr is the address dialled where the text or a V(4) line names it; Local the
	// prober's socket where a read error names it; Status the HTTP status.
	Addr, Local netip.AddrPort
	Status      int
	// Start and End are node time; StartInferred marks a computed start.
	Start, End    event.Nanos
	StartInferred bool
	// Missing marks a grid slot without any trace.
	Missing bool
	// Count is how many attempts an event stands for, or ticks a missing one; Since is
	// when the first of an event's was, zero for one alone.
	Count int64
	Since event.Nanos
	Refs  []event.Ref
	Conn  *capture.Conn // nil when not joined
	// JoinReason says why it was joined or, for a nil Conn, why not: one of the Why
	// constants.
	JoinReason string
	JoinScore  float64
	// Threshold is set where this attempt was the last of so many that the kubelet
	// changed its mind: CrossedFailure or CrossedSuccess. Effects are what came of it.
	Threshold string
	Effects   []Effect
	Basis     event.Basis
	Phases    Phases
}

// Values of Attempt.Threshold.
const (
	CrossedFailure = "crossed-failure"
	CrossedSuccess = "crossed-success"
)

// Effect is what crossing a threshold led to.
type Effect struct {
	Kind string // one of the Effect constants
	Text string
	At   event.Nanos // zero where the source has no time
	Ref  event.Ref
}

// Kinds of effects.
const (
	EffectNotReady    = "not-ready"
	EffectReady       = "ready"
	EffectStarted     = "started"
	EffectUnhealthy   = "unhealthy"        // the kubelet's word before it kills
	EffectRestart     = "restart"          // the container was killed for it
	EffectAPINotReady = "api-not-ready"    // the pod's condition Ready became False
	EffectEndpoint    = "endpoint-removed" // a Service's endpoints list the pod as not ready, or no longer
)

// Phases are the durations of an attempt's parts, negative when unknown.
type Phases struct{ ARP, Connect, FirstByte time.Duration }

// Failed reports whether the attempt counts as failed for an incident: failure
// or errored.
func (a *Attempt) Failed() bool {
	return a.Outcome == event.OutcomeFailed || a.Outcome == event.OutcomeErrored
}

// Class is the class of an error text, TAXONOMY section 0.
type Class string

// The error classes.
const (
	ClassNone         Class = ""
	ClassRefused      Class = "E-REFUSED"
	ClassConnTimeout  Class = "E-CONN-TIMEOUT"
	ClassHdrTimeout   Class = "E-HDR-TIMEOUT-OLD"
	ClassAmbigTimeout Class = "E-AMBIG-TIMEOUT"
	ClassBody         Class = "E-BODY"
	ClassNoRoute      Class = "E-NOROUTE"
	ClassNetUnreach   Class = "E-NETUNREACH"
	ClassAddrNotAvail Class = "E-EADDRNOTAVAIL"
	ClassEmptyIP      Class = "E-EMPTYIP"
	ClassReset        Class = "E-RESET"
	ClassEOF          Class = "E-EOF"
	ClassStatus       Class = "E-STATUS"
	ClassTLSPlain     Class = "E-TLS-PLAIN"
	ClassMalformed    Class = "E-MALFORMED"
	ClassRedirect     Class = "E-REDIR"
	ClassGRPCConn     Class = "E-GRPC-CONN"
	ClassGRPCStatus   Class = "E-GRPC-STATUS"
	ClassExecExit     Class = "E-EXEC-EXIT"
	ClassExecTimeout  Class = "E-EXEC-TIMEOUT"
	ClassRuntime      Class = "E-RUNTIME"
	ClassPortName     Class = "E-PORTNAME"
	ClassTLS          Class = "E-TLS" // remote error: tls: ...
	ClassOther        Class = "E-OTHER"
)

// Set is all workers of a case.
type Set struct {
	Workers []*Worker // by namespace, pod, UID, container, type
	// Probers are the addresses that probes come from, learned from joins.
	Probers map[netip.Addr]bool
	// Strays are connections to probe targets that belong to no attempt.
	Strays []*capture.Conn
	// StrayWhy says why, one of the Stray constants.
	StrayWhy map[*capture.Conn]string
	// Greedy counts groups of attempts and connections that were too large to be
	// matched exactly and were matched nearest first.
	Greedy int

	// Indexes of as many workers as listed.
	byPod  map[*identity.Pod][]*Worker
	byName map[podName][]*Worker
	byNode map[string][]*Worker
	listed int

	index    *identity.Index
	logs     map[string]*span
	verbose  map[string][]span             // by node: where the log tells successes
	restarts map[string][]identity.Restart // by node, in time order
}

// podName is what a pod has in common with those before and after it.
type podName struct{ namespace, name string }

// OfPod returns the workers of a pod, in the order of Workers.
func (s *Set) OfPod(p *identity.Pod) []*Worker {
	s.list()
	return s.byPod[p]
}

// OfName returns the workers of the pods of a pod's name, itself among them, in
// the order of Workers.
func (s *Set) OfName(p *identity.Pod) []*Worker {
	s.list()
	return s.byName[podName{p.Namespace, p.Name}]
}

// OnNode returns the workers of a node's pods, in the order of Workers.
func (s *Set) OnNode(node string) []*Worker {
	s.list()
	return s.byNode[node]
}

// list indexes the workers, once they have become more.
func (s *Set) list() {
	if s.byPod != nil && s.listed == len(s.Workers) {
		return
	}
	s.byPod, s.byName, s.byNode = make(map[*identity.Pod][]*Worker), make(map[podName][]*Worker), make(map[string][]*Worker)
	s.listed = len(s.Workers)
	for _, w := range s.Workers {
		name := podName{w.Pod.Namespace, w.Pod.Name}
		s.byPod[w.Pod] = append(s.byPod[w.Pod], w)
		s.byName[name] = append(s.byName[name], w)
		s.byNode[w.Pod.Node] = append(s.byNode[w.Pod.Node], w)
	}
}

// Namesakes returns the other pods of the pod's name.
func (s *Set) Namesakes(p *identity.Pod) []*identity.Pod {
	var out []*identity.Pod
	if s.index == nil {
		return nil
	}
	for _, o := range s.index.ByName(p.Namespace, p.Name) {
		if o != p {
			out = append(out, o)
		}
	}
	return out
}
