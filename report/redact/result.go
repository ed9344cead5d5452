package redact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// each copies a list and rewrites the copies; nil stays nil.
func each[T any](in []T, f func(*T)) []T {
	out := slices.Clone(in)
	for i := range out {
		f(&out[i])
	}
	return out
}

func (r *redactor) texts(in []string) []string {
	return each(in, func(s *string) { *s = r.text(*s) })
}

// result rewrites everything but the tables.
func (r *redactor) result(res *model.Result) *model.Result {
	out := *res
	out.Cluster = r.name(kindCluster, res.Cluster)
	// Pods and nodes come first: what is a name there is one everywhere.
	out.Pods = each(res.Pods, r.pod)
	out.Nodes = each(res.Nodes, func(n *model.Node) {
		n.Name, n.Addresses, n.PodCIDRs = r.name(kindNode, n.Name), r.texts(n.Addresses), r.texts(n.PodCIDRs)
	})
	out.Checked.Nodes = each(res.Checked.Nodes, func(s *string) { *s = r.name(kindNode, *s) })
	out.Incidents = each(res.Incidents, r.incident)
	out.IPDisagreements = each(res.IPDisagreements, func(d *model.IPDisagreement) {
		d.Why = r.text(d.Why)
		d.Claims = each(d.Claims, func(c *model.IPClaim) {
			c.Namespace, c.Pod, c.UID, c.IP = r.name(kindNamespace, c.Namespace), r.name(kindPod, c.Pod), r.uid(c.UID), r.text(c.IP)
		})
	})
	out.Checked.CouldNot = r.texts(res.Checked.CouldNot)
	out.Inputs = each(res.Inputs, func(in *model.Input) {
		in.Path = r.path(in.Path)
		in.Streams = each(in.Streams, r.stream)
	})
	out.Clock = each(res.Clock, func(c *model.Clock) {
		c.Node = r.name(kindNode, c.Node)
		if strings.ContainsAny(c.Source, "/!.") {
			c.Source = r.path(c.Source)
		}
		c.Note = r.text(c.Note)
	})
	out.Tables = model.Tables{}
	return &out
}

func (r *redactor) stream(s *model.Stream) {
	s.Path, s.Node, s.CaptureWhy = r.path(s.Path), r.name(kindNode, s.Node), r.text(s.CaptureWhy)
	s.ByTarget = each(s.ByTarget, func(t *model.TargetCount) { t.IP = r.text(t.IP) })
	s.Problems = each(s.Problems, func(p *model.Problem) { p.Message = r.text(p.Message) })
}

func (r *redactor) pod(p *model.Pod) {
	p.Namespace, p.Pod, p.UID = r.name(kindNamespace, p.Namespace), r.name(kindPod, p.Pod), r.uid(p.UID)
	p.Node = r.name(kindNode, p.Node)
	if p.Owner.Kind == "Node" { // of a static pod
		p.Owner.Name = r.name(kindNode, p.Owner.Name)
	} else {
		p.Owner.Name = r.name(kindWorkload, p.Owner.Name)
	}
	p.Containers = each(p.Containers, func(c *model.Container) { c.Name, c.Reason = r.name(kindContainer, c.Name), r.text(c.Reason) })
	p.Probes = each(p.Probes, func(x *model.Probe) {
		x.Container = r.name(kindContainer, x.Container)
		r.target(&x.Target)
	})
	p.IPIntervals = each(p.IPIntervals, func(iv *model.IPInterval) { iv.IP, iv.MAC = r.text(iv.IP), r.text(iv.MAC) })
	p.Runs = each(p.Runs, func(x *model.Run) { x.Container, x.Reason = r.name(kindContainer, x.Container), r.text(x.Reason) })
	p.Ready = each(p.Ready, func(x *model.ReadyAt) { x.Container = r.name(kindContainer, x.Container) })
}

func (r *redactor) target(t *model.Target) {
	if _, ok := parseIP(t.Host); ok {
		t.Host = r.text(t.Host)
	} else {
		t.Host = r.name(kindHost, t.Host)
	}
	t.Path = r.text(t.Path)
}

func (r *redactor) incident(in *model.Incident) {
	in.Node = r.name(kindNode, in.Node)
	in.Subjects = each(in.Subjects, func(s *model.Subject) {
		s.Namespace, s.Pod, s.UID, s.Container = r.name(kindNamespace, s.Namespace), r.name(kindPod, s.Pod), r.uid(s.UID), r.name(kindContainer, s.Container)
		r.target(&s.Target)
	})
	in.Summary, in.Cause.SubReason = r.text(in.Summary), r.text(in.Cause.SubReason)
	in.Contributing = each(in.Contributing, func(c *model.Contributing) { c.Note = r.text(c.Note) })
	in.Alternatives = each(in.Alternatives, func(a *model.Alternative) { a.WhyNot = r.text(a.WhyNot) })
	in.Evidence = each(in.Evidence, func(e *model.Evidence) { e.Claim, e.Excerpt = r.text(e.Claim), r.text(e.Excerpt) })
	in.Score = each(in.Score, func(s *model.ScoreStep) { s.Text = r.text(s.Text) })
	in.WouldChange = r.texts(in.WouldChange)
	in.Missing = each(in.Missing, func(m *model.Missing) {
		m.What, m.WouldSettle, m.HowToCollect = r.text(m.What), r.text(m.WouldSettle), r.text(m.HowToCollect)
	})
	in.Recommend = each(in.Recommend, func(x *model.Recommendation) { x.Text = r.text(x.Text) })
	in.Reproduce = r.texts(in.Reproduce)
	in.Consequences = each(in.Consequences, func(c *model.Consequence) { c.Text = r.text(c.Text) })
	if in.Recurrence != nil {
		rec := *in.Recurrence
		rec.Note = r.text(rec.Note)
		rec.Pods = each(rec.Pods, func(s *string) { *s = r.podName(*s) })
		in.Recurrence = &rec
	}
	in.Fingerprint = r.fingerprint(in.Fingerprint)
}

// podName replaces "namespace/name".
func (r *redactor) podName(s string) string {
	ns, pod, ok := strings.Cut(s, "/")
	if !ok {
		return r.name(kindPod, s)
	}
	return r.name(kindNamespace, ns) + "/" + r.name(kindPod, pod)
}

// fingerprint replaces a hash of names, from which short names could be guessed.
// The number is that of the incident in the result, which is sorted.
func (r *redactor) fingerprint(s string) string {
	if s == "" {
		return ""
	}
	if r.prints[s] == "" {
		r.prints[s] = fmt.Sprintf("%016x", len(r.prints)+1)
	}
	return r.prints[s]
}
