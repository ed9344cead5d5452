package incident

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

const (
	// stateGap is how far apart two facts of one kind may lie to be one state.
	stateGap = 2 * time.Minute
	// lonely is how soon a kubelet that misses its runtime says so again: its sync
	// loop retries after 0.1 s, then twice as late each time, up to 5 s.
	lonely = 10 * time.Second
	// slowHousekeeping is how long one round must take to be a stall. The kubelet
	// complains from one second on, which a busy node reaches without harm.
	slowHousekeeping = 10 * time.Second
	// minStep is the smallest clock step that makes an incident by itself.
	minStep = 5 * time.Second
	// bootSpan is how long before and after a reboot units stop and start on purpose.
	bootSpan = 10 * time.Minute
)

// nodeStates finds kubelet restarts, stalls, runtime outages and clock steps of
// the nodes.
func nodeStates(x *identity.Index, s *probe.Set, caps *capture.Set) []*Incident {
	var out []*Incident
	quiet := silences(s, caps)
	for _, n := range x.Nodes {
		restarts := restartStates(n)
		var stalls []State
		for _, q := range quiet[n.Name] {
			if r := around(restarts, q); r != nil {
				// The kubelet was away because it was being restarted.
				r.States = append(r.States, q)
				r.First, r.Last = min(r.First, q.At), max(r.Last, q.To)
				continue
			}
			stalls = append(stalls, q)
		}
		down, single := runtimeStates(n)
		stalls = append(append(stalls, stallStates(n)...), single...)
		out = append(out, restarts...)
		out = append(out, gather(n.Name, stalls)...)
		out = append(out, gather(n.Name, down)...)
		out = append(out, gather(n.Name, clockStates(n))...)
	}
	return out
}

// gather joins states of one kind that lie close together into incidents.
func gather(node string, states []State) []*Incident {
	slices.SortStableFunc(states, func(a, b State) int { return cmp.Compare(a.At, b.At) })
	var out []*Incident
	var cur *Incident
	for _, st := range states {
		if cur != nil && st.At.Sub(cur.Last) < stateGap {
			cur.Last = max(cur.Last, st.To)
			cur.States = append(cur.States, st)
			continue
		}
		cur = nodeIncident(node, st)
		out = append(out, cur)
	}
	return out
}

func nodeIncident(node string, st State) *Incident {
	return &Incident{Scope: model.ScopeNode, Trigger: model.TriggerState, Node: node, First: st.At, Last: st.To,
		Signature: st.Code, States: []State{st}}
}

// around returns the restart whose time a silence covers, nil if none.
func around(restarts []*Incident, q State) *Incident {
	for _, r := range restarts {
		if r.Last >= q.At && r.First <= q.To.Add(10*time.Second) {
			return r
		}
	}
	return nil
}

// restartStates makes one incident of the kubelet's starts that follow each
// other within minutes.
func restartStates(n *identity.Node) []*Incident {
	var states []State
	for _, r := range n.Restarts() {
		st := State{Code: StateKubeletRestart, At: r.Started, To: max(r.Started, r.Ready), Refs: r.Refs, Text: "the kubelet was started anew"}
		if r.Ordered {
			st.At = r.Stopped
			st.Text = "the kubelet was stopped and started again"
		}
		if r.Old != nil && r.Old.PID != 0 {
			st.Text += fmt.Sprintf("; its process was %d before", r.Old.PID)
		}
		states = append(states, st)
	}
	return gather(n.Name, states)
}

// stallStates are the kubelet's own complaints that its sync loop stands still.
func stallStates(n *identity.Node) []State {
	var out []State
	for _, s := range n.States {
		ago, _ := time.ParseDuration(s.Value)
		switch {
		case s.At == 0:
		case s.Code == event.NodePLEGUnhealthy:
			out = append(out, State{Code: StateSyncBlocked, At: s.At.Add(-ago), To: s.At, Refs: []event.Ref{s.Ref},
				Text: "the kubelet says that its pod lifecycle event generator was last active " + s.Value + " ago"})
		case s.Code == event.NodeHousekeepingSlow && ago >= slowHousekeeping:
			out = append(out, State{Code: StateSyncBlocked, At: s.At.Add(-ago), To: s.At, Refs: []event.Ref{s.Ref},
				Text: "one round of the kubelet's housekeeping took " + s.Value})
		}
	}
	return out
}

// runtimeStates tells outages of the container runtime. The kubelet judges the
// runtime by how long ago it last answered, so a kubelet that stood still itself
// says "container runtime is down" once when it wakes up: such single words are
// returned apart, as signs of a stall.
func runtimeStates(n *identity.Node) (down, single []State) {
	for i, s := range n.States {
		if s.At == 0 || n.Booting(s.At, bootSpan) || !n.AtWork(s.At) {
			continue
		}
		st := State{Code: StateRuntimeDown, At: s.At, To: s.At, Refs: []event.Ref{s.Ref}, Text: s.Message}
		switch s.Code {
		case event.NodeRuntimeStopped:
			down = append(down, st)
		case event.NodeRuntimeDown:
			if strings.Contains(s.Message, "container runtime is down") && !repeated(n.States, i) {
				st.Code, st.Text = StateKubeletWoke, "the kubelet held the runtime for down for one moment: it had not asked it for long itself"
				single = append(single, st)
				continue
			}
			down = append(down, st)
		}
	}
	return down, single
}

// repeated reports whether another sign of a runtime outage lies near the i-th
// state.
func repeated(states []identity.NodeState, i int) bool {
	for j, s := range states {
		near := s.At.Sub(states[i].At)
		if i == j || s.At == 0 || near > lonely || near < -lonely {
			continue
		}
		if s.Code == event.NodeRuntimeDown || s.Code == event.NodeRuntimeStopped {
			return true
		}
	}
	return false
}

// clockStates are steps of the wall clock while a kubelet was at work. At boot
// every clock is set.
func clockStates(n *identity.Node) []State {
	var out []State
	for _, s := range n.States {
		if s.Code != event.NodeTimeChanged || s.At == 0 || !n.AtWork(s.At) || n.Booting(s.At, bootSpan) {
			continue
		}
		if sec, err := strconv.ParseFloat(s.Value, 64); err == nil && math.Abs(sec) < minStep.Seconds() {
			continue
		}
		out = append(out, State{Code: StateClockJump, At: s.At, To: s.At, Refs: []event.Ref{s.Ref}, Text: s.Message})
	}
	return out
}
