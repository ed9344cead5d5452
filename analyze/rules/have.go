package rules

import (
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// stillMissing turns ids of observations into rows: without those that the
// inputs hold already, and with the sources that no verdict should be without.
// Rules ask for what would settle a cause in general; only here it is known what
// is at hand.
func (c *Case) stillMissing(ids []string, confidence float64) []model.Missing {
	if !c.has(MissKubeletLog) && c.Scope != model.ScopeCluster {
		ids = append([]string{MissKubeletLog}, ids...)
	}
	ids = slices.Clone(ids)
	if confidence < confirmedEnough && slices.ContainsFunc(c.Failed(), wentThroughNetwork) {
		ids = append(ids, MissNodeCapture)
	}
	if confidence < confirmedEnough && len(c.Pods) > 0 {
		ids = append(ids, MissPodObjects)
	}
	return missingOf(slices.DeleteFunc(ids, c.has))
}

// has reports whether the inputs hold an observation for this incident. One that
// cannot be told from the inputs counts as missing.
func (c *Case) has(id string) bool {
	switch id {
	case MissPodCapture:
		return c.HasPodCapture()
	case MissNodeCapture:
		return c.HasNodeCapture()
	case MissVethCapture:
		return c.hasVethCapture()
	case MissBeforeAfter:
		return c.Recovered != 0 && len(c.Captures.NodeSide(c.Node, c.Last, c.Recovered)) > 0
	case MissKubeletLog:
		return c.hasKubeletLog()
	case MissKernelLog:
		return c.Inputs.kernelLogOf(c.Node)
	case MissKubeletV4:
		return c.hasVerbosity(4)
	case MissProbeVerbose:
		return c.hasVerbosity(1)
	case MissRuntimeLog:
		return c.hasRuntimeLog()
	case MissPodObjects:
		return len(c.Pods) > 0 && !slices.ContainsFunc(c.Pods, func(p *identity.Pod) bool { return p.Snapshot.IsZero() })
	case MissEvents:
		return slices.ContainsFunc(c.Pods, func(p *identity.Pod) bool { return len(p.Events) > 0 })
	case MissSandbox:
		return c.hasSource("cri")
	case MissIPAM:
		return c.hasSource("ipam")
	case MissAudit:
		return c.hasSource("audit")
	case MissAppLog, MissProxyLog:
		return c.hasContainerLog(id == MissProxyLog)
	case MissPolicies:
		return c.hasObject("NetworkPolicy")
	case MissEndpoints:
		return c.hasObject("EndpointSlice") || c.hasObject("Endpoints")
	default:
		return c.hasOutput(id)
	}
}

// wentThroughNetwork reports whether packets belong to the attempt.
func wentThroughNetwork(a *probe.Attempt) bool { return network(a.Worker) }

// hasVethCapture reports whether a capture at the pod's host-side interface
// covers a failure.
func (c *Case) hasVethCapture() bool {
	for _, a := range c.Failed() {
		if slices.ContainsFunc(c.Captures.PodSide(a.Worker.Pod, a.Start, a.End), func(k *capture.Capture) bool { return k.Point == capture.PodVeth }) {
			return true
		}
	}
	return false
}

// hasKubeletLog reports whether a log of the node's kubelet covers the incident:
// it holds failed attempts of it, or other work of the kubelet around it.
func (c *Case) hasKubeletLog() bool {
	if slices.ContainsFunc(c.Failed(), func(a *probe.Attempt) bool { return strings.HasPrefix(a.Source, "log") }) {
		return true
	}
	n := c.Index.Node(c.Node)
	const slack = 10 * time.Minute
	return n != nil && slices.ContainsFunc(n.Kubelets, func(k identity.Process) bool {
		return k.First <= c.Last.Add(slack) && k.Last >= c.First.Add(-slack)
	})
}

func (c *Case) hasVerbosity(least int) bool {
	return c.Inputs.verboseAt(c.Node) >= least
}

// hasRuntimeLog reports whether the runtime itself tells about sandboxes of the
// node around the incident.
func (c *Case) hasRuntimeLog() bool {
	const slack = 10 * time.Minute
	return slices.ContainsFunc(c.Index.Pods, func(p *identity.Pod) bool {
		return p.Node == c.Node && slices.ContainsFunc(p.SandboxSteps, func(s identity.SandboxStep) bool {
			return s.Op == event.SandboxRequested && s.At >= c.First.Add(-slack) && s.At <= c.Last.Add(slack)
		})
	})
}

// hasSource reports whether a source of the kind speaks about addresses of the
// incident's pods.
func (c *Case) hasSource(kind string) bool {
	return slices.ContainsFunc(c.Pods, func(p *identity.Pod) bool {
		return slices.ContainsFunc(p.Intervals, func(iv identity.Interval) bool {
			return slices.ContainsFunc(iv.Sources, func(s identity.Source) bool { return s.Kind == kind })
		})
	})
}

// hasContainerLog reports whether a log of a failing container (or of a mesh's
// proxy) was read, also when nothing in it was worth a note.
func (c *Case) hasContainerLog(proxy bool) bool {
	for _, p := range c.Pods {
		if slices.ContainsFunc(p.AppLogs, func(l identity.AppLog) bool {
			return isProxy(l.Container) == proxy && (proxy || c.concerns(p, l.Container))
		}) {
			return true
		}
		for _, k := range p.Containers {
			if isProxy(k.Name) != proxy || !proxy && !c.concerns(p, k.Name) {
				continue
			}
			if c.Inputs.containerLogOf(p.Name, k.Name) {
				return true
			}
		}
	}
	return false
}

func (c *Case) hasObject(kind string) bool {
	return slices.ContainsFunc(c.Index.Objects, func(o identity.Object) bool {
		return o.ObjectKind == kind && slices.ContainsFunc(c.Pods, func(p *identity.Pod) bool { return p.Namespace == o.Namespace })
	})
}

// outputs are the tools that print an observation. All of those of a node are
// needed, and any of those of a pod.
var outputs = map[string]struct {
	tools []string
	pod   bool
}{
	MissL2Tables:    {tools: []string{event.ToolNeigh, event.ToolFDB}},
	MissRoutes:      {tools: []string{event.ToolRoute}},
	MissListeners:   {tools: []string{event.ToolSockets}, pod: true},
	MissListenDrops: {tools: []string{event.ToolNstat}, pod: true},
	MissPodRules:    {tools: []string{event.ToolIPTables, event.ToolNFT}, pod: true},
	MissCPU:         {tools: []string{event.ToolCPUStat}, pod: true},
}

// hasOutput reports whether the output of a tool is at hand.
func (c *Case) hasOutput(id string) bool {
	o, ok := outputs[id]
	if !ok {
		return false
	}
	at := func(tool string) bool {
		return slices.ContainsFunc(c.hostFacts(tool), func(h identity.HostFact) bool {
			ours, named := c.ofPods(h)
			return ours && o.pod || !named && !o.pod
		})
	}
	if o.pod {
		return slices.ContainsFunc(o.tools, at)
	}
	return !slices.ContainsFunc(o.tools, func(t string) bool { return !at(t) })
}
