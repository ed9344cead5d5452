package spill

import "github.com/probe-forensics/probe-forensics/parsers/event"

func (c *coder) podSeen(p *event.PodSeen) {
	c.podRef(&p.Pod)
	text(c, &p.Node)
	c.flags(&p.Partial, &p.HostNetwork, &p.Mirror)
	text(c, &p.Owner.Kind)
	text(c, &p.Owner.Name)
	text(c, &p.Owner.UID)
	c.nanos(&p.Created)
	c.nanos(&p.Deleted)
	c.duration(&p.GracePeriod)
	text(c, &p.Phase)
	text(c, &p.Reason)
	c.addrs(&p.HostIPs)
	c.addrs(&p.IPs)
	c.nanos(&p.StartTime)
	slice(c, &p.Conditions, (*coder).condition)
	slice(c, &p.Containers, (*coder).containerSpec)
	slice(c, &p.Statuses, (*coder).containerStatus)
	slice(c, &p.Labels, (*coder).fact)
	slice(c, &p.Annotations, (*coder).fact)
	c.strings(&p.DownwardIP)
	text(c, &p.RestartPolicy)
	c.strings(&p.ReadinessGates)
}

func (c *coder) containerSpec(p *event.ContainerSpec) {
	text(c, &p.Name)
	c.flags(&p.Init, &p.Sidecar)
	text(c, &p.Image)
	slice(c, &p.Ports, (*coder).port)
	text(c, &p.CPULimit)
	text(c, &p.CPURequest)
	text(c, &p.MemLimit)
	slice(c, &p.Probes, (*coder).probeSpec)
}

func (c *coder) port(p *event.Port) {
	text(c, &p.Name)
	signed(c, &p.Number)
	signed(c, &p.HostPort)
	text(c, &p.Protocol)
}

func (c *coder) probeSpec(p *event.ProbeSpec) {
	unsigned(c, &p.Type)
	text(c, &p.Handler)
	text(c, &p.Scheme)
	text(c, &p.Host)
	signed(c, &p.Port)
	text(c, &p.PortName)
	text(c, &p.Path)
	text(c, &p.Service)
	c.strings(&p.Command)
	slice(c, &p.Headers, (*coder).fact)
	c.duration(&p.InitialDelay)
	c.duration(&p.Period)
	c.duration(&p.Timeout)
	signed(c, &p.Success)
	signed(c, &p.Failure)
}

func (c *coder) containerStatus(p *event.ContainerStatus) {
	text(c, &p.Name)
	text(c, &p.ID)
	c.flags(&p.Ready, &p.Started)
	signed(c, &p.RestartCount)
	text(c, &p.State)
	text(c, &p.Reason)
	text(c, &p.Message)
	c.nanos(&p.StartedAt)
	c.nanos(&p.FinishedAt)
	signed(c, &p.ExitCode)
	text(c, &p.LastRun.ID)
	c.nanos(&p.LastRun.StartedAt)
	c.nanos(&p.LastRun.FinishedAt)
	signed(c, &p.LastRun.ExitCode)
	signed(c, &p.LastRun.Signal)
	text(c, &p.LastRun.Reason)
	text(c, &p.LastRun.Message)
}
