package redact

import (
	"context"
	"iter"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// meetTables reads every row once, to meet its names and addresses.
func (r *redactor) meetTables(ctx context.Context, t model.Tables) error {
	for i := range t.Attempts {
		r.attempt(t.Attempts[i])
	}
	n := 0
	step := func(err error) error {
		if n++; err == nil && n%4096 == 0 {
			return ctx.Err()
		}
		return err
	}
	if t.Events != nil {
		for e, err := range t.Events() {
			if err := step(err); err != nil {
				return err
			}
			r.event(e)
		}
	}
	if t.Flows != nil {
		for f, err := range t.Flows() {
			if err := step(err); err != nil {
				return err
			}
			r.flow(f)
		}
	}
	if t.ARP != nil {
		for a, err := range t.ARP() {
			if err := step(err); err != nil {
				return err
			}
			r.arp(a)
		}
	}
	return nil
}

// tables rewrites rows as they are read.
func (r *redactor) tables(t model.Tables) model.Tables {
	out := model.Tables{Events: rewritten(t.Events, r.event), Flows: rewritten(t.Flows, r.flow), ARP: rewritten(t.ARP, r.arp)}
	for _, a := range t.Attempts {
		out.Attempts = append(out.Attempts, r.attempt(a))
	}
	return out
}

func rewritten[T any](rows func() iter.Seq2[*T, error], f func(*T) *T) func() iter.Seq2[*T, error] {
	if rows == nil {
		return nil
	}
	return func() iter.Seq2[*T, error] {
		return func(yield func(*T, error) bool) {
			for row, err := range rows() {
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(f(row), nil) {
					return
				}
			}
		}
	}
}

func (r *redactor) attempt(a model.Attempt) model.Attempt {
	a.Namespace, a.Pod, a.UID = r.name(kindNamespace, a.Namespace), r.name(kindPod, a.Pod), r.uid(a.UID)
	a.Node, a.Container = r.name(kindNode, a.Node), r.name(kindContainer, a.Container)
	a.Output, a.JoinReason = r.text(a.Output), r.text(a.JoinReason)
	a.Effects = each(a.Effects, func(c *model.Consequence) { c.Text = r.text(c.Text) })
	r.target(&a.Target)
	return a
}

func (r *redactor) event(e *model.EventRow) *model.EventRow {
	out := *e
	out.Node, out.Namespace, out.Pod, out.UID = r.name(kindNode, e.Node), r.name(kindNamespace, e.Namespace), r.name(kindPod, e.Pod), r.uid(e.UID)
	out.Container, out.Body = r.name(kindContainer, e.Container), r.text(e.Body)
	return &out
}

func (r *redactor) flow(row *model.FlowRow) *model.FlowRow {
	out, f := *row, *row.Flow
	out.Node, out.Namespace, out.Pod, out.UID = r.name(kindNode, row.Node), r.name(kindNamespace, row.Namespace), r.name(kindPod, row.Pod), r.uid(row.UID)
	f.Client, f.Server = r.addrPort(f.Client), r.addrPort(f.Server)
	f.ICMP.From = r.addr(f.ICMP.From)
	f.ClientMAC, f.SYNDstMAC = r.macs.replace(f.ClientMAC, r.meeting), r.macs.replace(f.SYNDstMAC, r.meeting)
	f.AnswerMAC, f.AnswerDstMAC = r.macs.replace(f.AnswerMAC, r.meeting), r.macs.replace(f.AnswerDstMAC, r.meeting)
	f.Path, f.Location, f.UserAgent, f.ServerHeader = r.text(f.Path), r.text(f.Location), r.text(f.UserAgent), r.text(f.ServerHeader)
	out.Flow = &f
	return &out
}

func (r *redactor) arp(row *model.ARPRow) *model.ARPRow {
	out, a := *row, *row.ARP
	out.Node = r.name(kindNode, row.Node)
	a.SenderIP, a.TargetIP = r.addr(a.SenderIP), r.addr(a.TargetIP)
	for _, m := range []*event.MAC{&a.SenderMAC, &a.TargetMAC, &a.EthSrc, &a.EthDst, &a.AnswerMAC} {
		*m = r.macs.replace(*m, r.meeting)
	}
	out.ARP = &a
	return &out
}
