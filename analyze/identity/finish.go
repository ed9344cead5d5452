package identity

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// finish sorts a pod's facts and derives sandboxes, runs and IP intervals.
func (b *Builder) finish(p *Pod) {
	slices.SortStableFunc(p.Ready, func(a, c ReadyChange) int { return cmp.Or(cmp.Compare(a.At, c.At), a.Ref.Compare(c.Ref)) })
	slices.SortStableFunc(p.Events, func(a, c PodEvent) int { return cmp.Or(cmp.Compare(a.At, c.At), a.Ref.Compare(c.Ref)) })
	slices.SortStableFunc(p.SandboxSteps, func(a, c SandboxStep) int {
		return cmp.Or(cmp.Compare(a.At, c.At), cmp.Compare(a.Op, c.Op), a.Ref.Compare(c.Ref))
	})
	slices.SortStableFunc(p.Steps, func(a, c ContainerStep) int { return cmp.Or(cmp.Compare(a.At, c.At), a.Ref.Compare(c.Ref)) })
	slices.SortStableFunc(p.AppLogs, func(a, c AppLog) int { return cmp.Or(cmp.Compare(a.At, c.At), a.Ref.Compare(c.Ref)) })
	p.sortConditions()
	b.sandboxes(p)
	b.runs(p)
	b.kills(p)
	b.intervals(p)
}

// sandboxes lists the pod's network namespaces in order. The runtime names them;
// at kubelet verbosity below 4 without a runtime log, PLEG's ids that are no
// container's are sandboxes.
func (b *Builder) sandboxes(p *Pod) {
	at := make(map[string]*Sandbox)
	var order []string
	get := func(id string) *Sandbox {
		s := at[id]
		if s == nil {
			s = &Sandbox{ID: id, Attempt: -1}
			at[id] = s
			order = append(order, id)
		}
		return s
	}
	var requested event.Nanos
	attempt := -1
	for _, st := range p.SandboxSteps {
		switch st.Op {
		case event.SandboxRequested:
			requested, attempt = st.At, st.Attempt
		case event.SandboxCreated:
			s := get(st.SandboxID)
			if s.From == 0 || st.At < s.From {
				s.From = st.At
			}
			if s.Requested == 0 {
				s.Requested = requested
			}
			s.Attempt = max(s.Attempt, st.Attempt, attempt)
			s.Refs = append(s.Refs, st.Ref)
			requested, attempt = 0, -1
		case event.SandboxStopped, event.SandboxRemoved:
			if s := at[st.SandboxID]; s != nil {
				if s.To == 0 || st.At < s.To {
					s.To = st.At
				}
				s.Refs = append(s.Refs, st.Ref)
			}
		}
	}
	for _, st := range p.Steps {
		if !st.IDMayBeSandbox || st.ID == "" {
			if st.SandboxID != "" {
				s := get(st.SandboxID)
				if s.From == 0 || st.At < s.From {
					s.From = st.At
					s.Refs = append(s.Refs, st.Ref)
				}
			}
			continue
		}
		kind := b.ids[st.ID]
		if kind == 0 && st.Op == event.ContainerStarted && b.looksLikeSandbox(p, st, len(order)) {
			kind = idSandbox
			b.ids[st.ID] = kind
		}
		if kind != idSandbox {
			continue
		}
		s := get(st.ID)
		switch st.Op {
		case event.ContainerStarted:
			if s.From == 0 || st.At < s.From {
				s.From = st.At
			}
		case event.ContainerDied, event.ContainerRemoved:
			if s.To == 0 || st.At < s.To {
				s.To = st.At
			}
		}
		s.Refs = append(s.Refs, st.Ref)
	}
	for _, id := range order {
		s := at[id]
		if s.To != 0 && s.To < s.From {
			s.To = s.From
		}
		p.Sandboxes = append(p.Sandboxes, *s)
	}
	slices.SortStableFunc(p.Sandboxes, func(a, c Sandbox) int { return cmp.Or(cmp.Compare(a.From, c.From), strings.Compare(a.ID, c.ID)) })
	for i := range p.Sandboxes[:max(len(p.Sandboxes)-1, 0)] {
		s, next := &p.Sandboxes[i], &p.Sandboxes[i+1]
		if s.To == 0 || s.To > next.From {
			s.To = next.From
		}
	}
}

// looksLikeSandbox applies the rule of thumb for PLEG ids that nothing else
// names: the first unknown id that starts after the kubelet said it needs a
// sandbox. It is a guess.
func (b *Builder) looksLikeSandbox(p *Pod, st ContainerStep, known int) bool {
	needed := event.Nanos(0)
	for _, s := range p.SandboxSteps {
		if s.At <= st.At && (s.Op == event.SandboxNeeded || s.Op == event.SandboxLost) {
			needed = s.At
		}
	}
	if needed == 0 {
		return false
	}
	for _, o := range p.Steps {
		if o.Op == event.ContainerStarted && o.IDMayBeSandbox && b.ids[o.ID] == idSandbox && o.At >= needed && o.At <= st.At {
			return false
		}
	}
	return true
}

// runs lists the runs of each container, joined by container id over PLEG,
// runtime and status.
func (b *Builder) runs(p *Pod) {
	at := make(map[string]*Run)
	get := func(id string) *Run {
		r := at[id]
		if r == nil {
			r = &Run{ID: id, ExitCode: -1}
			at[id] = r
		}
		return r
	}
	for _, st := range p.Steps {
		if st.ID == "" || b.ids[st.ID] == idSandbox {
			continue
		}
		switch st.Op {
		case event.ContainerStarted, event.ContainerCreated, event.ContainerDied, event.ContainerFinished, event.ContainerKilling:
		default:
			continue
		}
		r := get(st.ID)
		r.Container = cmp.Or(r.Container, st.Container)
		switch st.Op {
		case event.ContainerStarted:
			if r.From == 0 || st.At < r.From {
				r.From = st.At
			}
		case event.ContainerDied:
			if r.To == 0 || st.At < r.To {
				r.To = st.At
			}
		case event.ContainerFinished:
			if st.ExitCode >= 0 {
				r.ExitCode = st.ExitCode
			}
			if r.To == 0 {
				r.To = st.At
			}
		}
		r.Refs = append(r.Refs, st.Ref)
	}
	for _, s := range p.Statuses {
		if s.ID != "" && (s.State == "running" || s.State == "terminated") {
			r := get(s.ID)
			r.Container = s.Name
			b.fromStatus(p, r, event.Run{StartedAt: s.StartedAt, FinishedAt: s.FinishedAt, ExitCode: s.ExitCode, Reason: s.Reason}, s.State == "terminated")
		}
		if s.LastRun.ID != "" {
			r := get(s.LastRun.ID)
			r.Container = s.Name
			b.fromStatus(p, r, s.LastRun, true)
		}
	}
	only := ""
	if len(p.Containers) == 1 {
		only = p.Containers[0].Name
	}
	for _, id := range sortedKeys(at) {
		r := at[id]
		r.Container = cmp.Or(r.Container, only)
		p.Runs = append(p.Runs, *r)
	}
	slices.SortStableFunc(p.Runs, func(a, c Run) int { return cmp.Or(cmp.Compare(a.From, c.From), strings.Compare(a.ID, c.ID)) })
}

// fromStatus fills a run from the status, which has whole seconds: a stamp from a
// log is kept where both exist.
func (b *Builder) fromStatus(p *Pod, r *Run, s event.Run, ended bool) {
	if r.From == 0 {
		r.From = s.StartedAt
	}
	if ended {
		r.ExitCode, r.Reason = s.ExitCode, s.Reason
		if r.To == 0 {
			r.To = s.FinishedAt
		}
	}
	r.Refs = append(r.Refs, p.Snapshot)
}

// kills marks the runs that the kubelet ended because a probe failed, and those
// that ended with the pod's deletion.
func (b *Builder) kills(p *Pod) {
	mark := func(container string, probe event.ProbeType, at event.Nanos, ref event.Ref, slack time.Duration) {
		var best *Run
		for i := range p.Runs {
			r := &p.Runs[i]
			if container != "" && r.Container != container && r.Container != "" {
				continue
			}
			// The kill is logged while the run lives, or (event stamps have whole seconds)
			// within slack of it.
			if r.From <= at.Add(slack) && (r.To == 0 || r.To.Add(slack) >= at) && (best == nil || r.From > best.From) && r.From <= at.Add(slack) {
				if r.From > at && best != nil {
					continue
				}
				best = r
			}
		}
		if best == nil {
			return
		}
		if best.KilledBy == event.ProbeUnknown {
			best.KilledBy, best.KilledAt = probe, at
		}
		if len(best.KillRefs) < 8 {
			best.KillRefs = append(best.KillRefs, ref)
		}
	}
	for _, st := range p.Steps {
		if st.Op == event.ContainerUnhealthy {
			mark(st.Container, st.Probe, st.At, st.Ref, 0)
		}
	}
	for _, e := range p.Events {
		if probe := KilledByProbe(e.Reason, e.Message); probe != event.ProbeUnknown {
			mark(e.Container, probe, e.At, e.Ref, time.Second)
		}
	}
	if p.DeletedAt != 0 {
		for i := range p.Runs {
			r := &p.Runs[i]
			if r.To != 0 && r.To >= p.DeletedAt && r.KilledBy == event.ProbeUnknown {
				r.Deletion = true
			}
		}
	}
}

// KilledByProbe returns the probe type of a Killing event that says a probe made
// the kubelet restart the container, else ProbeUnknown.
func KilledByProbe(reason, message string) event.ProbeType {
	if reason != "Killing" && reason != "Unhealthy" && reason != "" {
		return event.ProbeUnknown
	}
	switch {
	case strings.Contains(message, "failed liveness probe, will be restarted"):
		return event.Liveness
	case strings.Contains(message, "failed startup probe, will be restarted"):
		return event.Startup
	}
	return event.ProbeUnknown
}
