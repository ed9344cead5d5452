package incident

import (
	"fmt"
	"slices"
	"time"

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
	StateRuntimeDown    = "runtime-down"
)

// States finds what went wrong without a failed attempt: probes that could not
// run, and nodes that stopped probing.
func States(x *identity.Index, s *probe.Set, incs []*Incident) []*Incident {
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
	for _, n := range x.Nodes {
		out = append(out, nodeStates(n)...)
	}
	out = append(out, silences(s)...)
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

// nodeStates reports kubelet restarts and runtime outages inside the log: a start
// that opens the data is not a restart.
func nodeStates(n *identity.Node) []*Incident {
	var out []*Incident
	var cur *Incident
	for _, s := range n.States {
		code := ""
		switch s.Code {
		case event.NodeKubeletStarted:
			code = StateKubeletRestart
		case event.NodeRuntimeDown, event.NodeRuntimeStopped, event.NodePLEGUnhealthy:
			code = StateRuntimeDown
			if s.Code == event.NodePLEGUnhealthy {
				code = StateKubeletSilent
			}
		default:
			continue
		}
		if cur != nil && cur.Signature == code && s.At.Sub(cur.Last) < 2*time.Minute {
			cur.Last = s.At
			cur.States[0].extend(code, s.At, s.Ref)
			continue
		}
		st := State{Text: s.Message}
		st.extend(code, s.At, s.Ref)
		cur = &Incident{Scope: model.ScopeNode, Trigger: model.TriggerState, Node: n.Name, First: s.At, Last: s.At, Signature: code, States: []State{st}}
		out = append(out, cur)
	}
	return out
}

// silences finds spans in which no probe of any pod of a node ran although every
// one of them was due: what a frozen kubelet looks like from outside.
func silences(s *probe.Set) []*Incident {
	type mark struct {
		at  event.Nanos
		ref event.Ref
	}
	byNode := make(map[string][]mark)
	workers := make(map[string]int)
	period := make(map[string]time.Duration)
	for _, w := range s.Workers {
		n := 0
		for _, a := range w.Attempts {
			if a.Conn != nil {
				n++
				byNode[w.Pod.Node] = append(byNode[w.Pod.Node], mark{a.Conn.Start(), a.Refs[0]})
			}
		}
		if n >= 3 && w.Period > 0 {
			workers[w.Pod.Node]++
			if p := period[w.Pod.Node]; p == 0 || w.Period < p {
				period[w.Pod.Node] = w.Period
			}
		}
	}
	var out []*Incident
	for node, marks := range byNode {
		if workers[node] < 2 {
			continue
		}
		slices.SortFunc(marks, func(a, b mark) int { return int(max(-1, min(1, a.at-b.at))) })
		for i := 1; i < len(marks); i++ {
			gap := marks[i].at.Sub(marks[i-1].at)
			if gap < max(3*period[node], 10*time.Second) {
				continue
			}
			st := State{Code: StateKubeletSilent, At: marks[i-1].at, To: marks[i].at, Refs: []event.Ref{marks[i-1].ref, marks[i].ref},
				Text: fmt.Sprintf("no probe of any pod for %s; the shortest period is %s", gap.Round(100*time.Millisecond), period[node])}
			out = append(out, &Incident{Scope: model.ScopeNode, Trigger: model.TriggerState, Node: node, First: st.At, Last: st.To,
				Signature: st.Code, States: []State{st}})
		}
	}
	sortIncidents(out)
	return out
}
