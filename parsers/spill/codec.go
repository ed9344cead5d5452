package spill

import (
	"fmt"
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// event visits a whole event. The stream is not part of it: a log holds one
// stream, and its number is known only when all of them were read.
func (c *coder) event(e *event.Event) {
	c.base = 0
	c.nanos(&e.Time.At)
	c.base = e.Time.At
	signed(c, &e.Time.Precision)
	unsigned(c, &e.Time.Missing)
	unsigned(c, &e.Time.Basis)
	c.stamp(&e.Logged)
	text(c, &e.Node)
	signed(c, &e.PID)
	signed(c, &e.Ref.Line)
	signed(c, &e.Ref.Offset)
	signed(c, &e.Ref.Packet)
	var k event.Kind
	if e.Payload != nil {
		k = e.Payload.Kind()
	}
	unsigned(c, &k)
	if c.dec {
		e.Payload = c.newPayload(k)
		if e.Payload == nil {
			c.fail(fmt.Errorf("unknown kind of event %d", k))
		}
	}
	if c.err == nil {
		c.payload(e.Payload)
	}
}

// newPayload is newPayload, but for a reader that keeps no connection.
func (c *coder) newPayload(k event.Kind) event.Payload {
	if k != event.KindFlow || !c.borrow {
		return newPayload(k)
	}
	c.lent = event.Flow{}
	return &c.lent
}

func newPayload(k event.Kind) event.Payload {
	switch k {
	case event.KindProbeResult:
		return new(event.ProbeResult)
	case event.KindProbeTarget:
		return new(event.ProbeTarget)
	case event.KindProbeState:
		return new(event.ProbeState)
	case event.KindPodSeen:
		return new(event.PodSeen)
	case event.KindPodSync:
		return new(event.PodSync)
	case event.KindPodIP:
		return new(event.PodIP)
	case event.KindSandboxChange:
		return new(event.SandboxChange)
	case event.KindContainerState:
		return new(event.ContainerState)
	case event.KindK8sEvent:
		return new(event.K8sEvent)
	case event.KindNodeSeen:
		return new(event.NodeSeen)
	case event.KindNodeState:
		return new(event.NodeState)
	case event.KindObjectSeen:
		return new(event.ObjectSeen)
	case event.KindHostFact:
		return new(event.HostFact)
	case event.KindAppLog:
		return new(event.AppLog)
	case event.KindNetCheck:
		return new(event.NetCheck)
	case event.KindNotice:
		return new(event.Notice)
	case event.KindFlow:
		return new(event.Flow)
	case event.KindARP:
		return new(event.ARP)
	case event.KindEgress:
		return new(event.Egress)
	}
	return nil
}

func (c *coder) payload(p event.Payload) {
	switch p := p.(type) {
	case *event.ProbeResult:
		c.podRef(&p.Pod)
		text(c, &p.Container)
		unsigned(c, &p.Probe)
		unsigned(c, &p.Outcome)
		text(c, &p.Output)
		signed(c, &p.OutputBytes)
	case *event.ProbeTarget:
		text(c, &p.Scheme)
		text(c, &p.Host)
		signed(c, &p.Port)
		text(c, &p.Path)
		c.duration(&p.Timeout)
		unsigned(c, &p.Probe)
		c.podRef(&p.Pod)
		text(c, &p.Container)
	case *event.ProbeState:
		c.podRef(&p.Pod)
		unsigned(c, &p.Probe)
		text(c, &p.Status)
	case *event.PodSeen:
		c.podSeen(p)
	case *event.PodSync:
		unsigned(c, &p.Op)
		text(c, &p.Source)
		c.podRef(&p.Pod)
		text(c, &p.OldUID)
		c.nanos(&p.Newest)
	case *event.PodIP:
		c.podRef(&p.Pod)
		text(c, &p.SandboxID)
		c.addrs(&p.IPs)
		c.mac(&p.MAC)
		text(c, &p.Interface)
		unsigned(c, &p.Fact)
		text(c, &p.Via)
	case *event.SandboxChange:
		c.podRef(&p.Pod)
		text(c, &p.SandboxID)
		unsigned(c, &p.Op)
		signed(c, &p.Attempt)
		text(c, &p.Reason)
		text(c, &p.Message)
	case *event.ContainerState:
		c.containerState(p)
	case *event.K8sEvent:
		c.k8sEvent(p)
	case *event.NodeSeen:
		c.nodeSeen(p)
	case *event.NodeState:
		text(c, &p.Code)
		text(c, &p.Message)
		text(c, &p.Value)
		c.podRef(&p.Pod)
	case *event.ObjectSeen:
		text(c, &p.ObjectKind)
		text(c, &p.Namespace)
		text(c, &p.Name)
		text(c, &p.UID)
		c.nanos(&p.Created)
		slice(c, &p.Facts, (*coder).fact)
		c.addrs(&p.IPs)
		slice(c, &p.Pods, (*coder).podRef)
	case *event.HostFact:
		text(c, &p.Tool)
		c.podRef(&p.Pod)
		c.addr(&p.IP)
		c.mac(&p.MAC)
		signed(c, &p.Port)
		text(c, &p.Key)
		text(c, &p.Value)
		text(c, &p.Device)
	case *event.AppLog:
		c.podRef(&p.Pod)
		text(c, &p.Container)
		c.flags(&p.Previous)
		text(c, &p.Code)
		text(c, &p.Text)
		signed(c, &p.Status)
	case *event.NetCheck:
		text(c, &p.Source)
		text(c, &p.Target)
		text(c, &p.Address)
		c.flags(&p.Success)
		c.duration(&p.Latency)
		text(c, &p.Message)
	case *event.Notice:
		text(c, &p.Code)
		text(c, &p.Message)
		signed(c, &p.Value)
	case *event.Flow:
		c.flow(p)
	case *event.ARP:
		c.arp(p)
	case *event.Egress:
		c.mac(&p.MAC)
		c.addr(&p.IP)
		c.addr(&p.Dst)
		text(c, &p.What)
		text(c, &p.Interface)
	default:
		c.fail(fmt.Errorf("no encoding for a %T", p))
	}
}

func (c *coder) str(p *string)         { text(c, p) }
func (c *coder) strings(p *[]string)   { slice(c, p, (*coder).str) }
func (c *coder) addrs(p *[]netip.Addr) { slice(c, p, (*coder).addr) }
func (c *coder) fact(p *event.Fact)    { text(c, &p.Key); text(c, &p.Value) }
func (c *coder) mark(p *event.Mark)    { c.nanos(&p.At); signed(c, &p.Packet) }

func (c *coder) condition(p *event.Condition) {
	text(c, &p.Type)
	text(c, &p.Status)
	text(c, &p.Reason)
	text(c, &p.Message)
	c.nanos(&p.Since)
}

func (c *coder) podRef(p *event.PodRef) {
	text(c, &p.Namespace)
	text(c, &p.Name)
	text(c, &p.UID)
}

func (c *coder) containerState(p *event.ContainerState) {
	c.podRef(&p.Pod)
	text(c, &p.Container)
	text(c, &p.ID)
	text(c, &p.SandboxID)
	c.flags(&p.IDMayBeSandbox)
	unsigned(c, &p.Op)
	signed(c, &p.Attempt)
	signed(c, &p.ExitCode)
	c.duration(&p.Grace)
	unsigned(c, &p.Probe)
	text(c, &p.Reason)
	text(c, &p.Message)
}

func (c *coder) k8sEvent(p *event.K8sEvent) {
	text(c, &p.ObjectKind)
	text(c, &p.Namespace)
	text(c, &p.Name)
	text(c, &p.UID)
	text(c, &p.FieldPath)
	text(c, &p.Container)
	text(c, &p.Type)
	text(c, &p.Reason)
	text(c, &p.Message)
	signed(c, &p.Count)
	c.stamp(&p.First)
	c.stamp(&p.Last)
	c.nanos(&p.Created)
	text(c, &p.Component)
	text(c, &p.Host)
	c.flags(&p.FromLog, &p.TimesUnknown)
}

func (c *coder) nodeSeen(p *event.NodeSeen) {
	text(c, &p.Name)
	text(c, &p.UID)
	c.addrs(&p.Addresses)
	slice(c, &p.PodCIDRs, (*coder).prefix)
	text(c, &p.KubeletVersion)
	text(c, &p.Runtime)
	text(c, &p.Kernel)
	text(c, &p.OSImage)
	text(c, &p.CNI)
	c.strings(&p.Taints)
	slice(c, &p.Conditions, (*coder).condition)
	c.flags(&p.Unschedulable)
}
