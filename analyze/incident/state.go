package incident

import (
	"fmt"
	"slices"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// State codes.
const (
	StateSandboxFailing = "sandbox-failing" // the runtime cannot make the pod's sandbox
	StateSandboxSlow    = "sandbox-slow"    // it took far longer than its neighbours'
	StateCrashLoop      = "crash-loop"      // containers end by themselves and are restarted
	StateKubeletRestart = "kubelet-restart"
	StateKubeletSilent  = "kubelet-silent" // no probe of any pod of the node
	StateSyncBlocked    = "sync-blocked"   // the kubelet says that its PLEG or housekeeping stands still
	StateKubeletWoke    = "kubelet-woke"   // its words show that it stood still itself
	StateRuntimeDown    = "runtime-down"
	StateClockJump      = "clock-jump"
	StateStatusLag      = "status-lag"   // the API learned a pod's status late
	StateEndpointLag    = "endpoint-lag" // endpoints contradict the pod's status
	StateUpstream       = "upstream"     // what several pods depend on failed
)

// States finds what went wrong without a failed attempt: probes that could not
// run, and nodes that stopped probing.
func States(x *identity.Index, s *probe.Set, caps *capture.Set, incs []*Incident) []*Incident {
	var out []*Incident
	usual := usualSandboxTime(x)
	for _, p := range x.Pods {
		if Bygone(p, s) {
			continue
		}
		if i := sandboxState(p, usual[p.Node]); i != nil {
			out = append(out, i)
		}
		if i := crashState(p, incs); i != nil {
			out = append(out, i)
		}
	}
	out = append(out, lagStates(x)...)
	out = append(out, nodeStates(x, s, caps)...)
	sortIncidents(out)
	return out
}

// sandboxState reports failing or slow sandbox creation of a pod.
func sandboxState(p *identity.Pod, usual time.Duration) *Incident {
	var failed State
	for _, st := range p.SandboxSteps {
		if st.Op == event.SandboxFailed {
			failed.extend(StateSandboxFailing, st.At, st.Ref)
			failed.Text = st.Message
		}
	}
	for _, e := range p.Events {
		if e.Reason == "FailedCreatePodSandBox" {
			for _, at := range [...]event.Nanos{e.First.At, e.Last.At} {
				failed.extend(StateSandboxFailing, at, e.Ref)
			}
			if failed.Text == "" {
				failed.Text = e.Message
			}
		}
	}
	if failed.Code != "" {
		return stateIncident(p, model.TriggerNotProbed, failed)
	}
	for _, sb := range p.Sandboxes {
		took := sb.From.Sub(sb.Requested)
		if sb.Requested != 0 && took > slowSandbox && took > 5*usual {
			st := State{Code: StateSandboxSlow, At: sb.Requested, To: sb.From, Refs: sb.Refs,
				Text: fmt.Sprintf("the sandbox took %s; %s is usual on the node", took.Round(time.Millisecond), usual.Round(time.Millisecond))}
			return stateIncident(p, model.TriggerNotProbed, st)
		}
	}
	return nil
}

// slowSandbox is how long a sandbox must take at least to be called slow.
const slowSandbox = 5 * time.Second

// usualSandboxTime is the median time from request to sandbox per node.
func usualSandboxTime(x *identity.Index) map[string]time.Duration {
	byNode := make(map[string][]time.Duration)
	for _, p := range x.Pods {
		for _, sb := range p.Sandboxes {
			if sb.Requested != 0 {
				byNode[p.Node] = append(byNode[p.Node], sb.From.Sub(sb.Requested))
			}
		}
	}
	out := make(map[string]time.Duration)
	for n, ds := range byNode {
		slices.Sort(ds)
		out[n] = ds[len(ds)/2]
	}
	return out
}

// crashState reports a pod whose containers end by themselves again and again
// and which has no incident of failed attempts that would tell of it.
func crashState(p *identity.Pod, incs []*Incident) *Incident {
	if slices.ContainsFunc(incs, func(i *Incident) bool { return slices.Contains(i.Pods, p) }) {
		return nil
	}
	var st State
	n := 0
	for _, s := range p.Steps {
		if s.Op == event.ContainerBackOff {
			n++
			st.extend(StateCrashLoop, s.At, s.Ref)
		}
	}
	for _, e := range p.Events {
		if e.Reason == "BackOff" && (e.Container != "" || e.Type == "Warning") {
			n += int(max(e.Count, 1))
			st.extend(StateCrashLoop, e.First.At, e.Ref)
			st.extend(StateCrashLoop, e.Last.At, e.Ref)
		}
	}
	ended := 0
	for _, r := range p.Runs {
		if r.To != 0 && r.KilledBy == event.ProbeUnknown && !r.Deletion {
			ended++
		}
	}
	if n == 0 || ended == 0 {
		return nil
	}
	st.Text = fmt.Sprintf("%d runs ended by themselves and the kubelet backed off", ended)
	return stateIncident(p, model.TriggerState, st)
}

func (s *State) extend(code string, at event.Nanos, ref event.Ref) {
	s.Code = code
	if at != 0 {
		if s.At == 0 || at < s.At {
			s.At = at
		}
		s.To = max(s.To, at)
	}
	if len(s.Refs) < 16 && !slices.Contains(s.Refs, ref) {
		s.Refs = append(s.Refs, ref)
	}
}

func stateIncident(p *identity.Pod, trigger string, st State) *Incident {
	return &Incident{Scope: model.ScopePod, Trigger: trigger, Node: p.Node, Pods: []*identity.Pod{p}, First: st.At, Last: st.To,
		Signature: st.Code, States: []State{st}}
}
