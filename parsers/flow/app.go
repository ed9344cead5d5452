package flow

import "github.com/probe-forensics/probe-forensics/parsers/event"

// app is what the payload of a connection showed.
type app struct{ name string }

func (c *conn) payload(t *Tracker, p *Packet, side int, seq uint32) {}

func (a *app) fill(f *event.Flow) { f.App = a.name }
