package spill

import (
	"maps"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// info visits a row of the stream table.
func (c *coder) info(p *event.StreamInfo) {
	c.base = 0
	unsigned(c, &p.ID)
	signed(c, &p.Input)
	text(c, &p.Path)
	text(c, &p.Format)
	text(c, &p.Node)
	signed(c, &p.Bytes)
	c.nanos(&p.Modified)
	signed(c, &p.Records)
	signed(c, &p.Kept)
	signed(c, &p.Rejected)
	c.stamp(&p.First)
	c.stamp(&p.Last)
	slice(c, &p.Silences, func(c *coder, p *event.Gap) { c.nanos(&p.From); c.nanos(&p.To) })
	signed(c, &p.Verbosity)
	c.counts(&p.Counts)
	text(c, &p.Hash)
	present := p.Capture != nil
	c.flags(&present)
	switch {
	case !present:
		p.Capture = nil
	case c.dec:
		p.Capture = new(event.CaptureInfo)
		fallthrough
	default:
		c.capture(p.Capture)
	}
}

type counter struct {
	name string
	n    int64
}

// counts writes the counters sorted by name: equal inputs give equal bytes.
func (c *coder) counts(p *map[string]int64) {
	var list []counter
	if *p != nil {
		list = make([]counter, 0, len(*p))
	}
	for _, name := range slices.Sorted(maps.Keys(*p)) {
		list = append(list, counter{name, (*p)[name]})
	}
	slice(c, &list, func(c *coder, p *counter) { text(c, &p.name); signed(c, &p.n) })
	if !c.dec {
		return
	}
	*p = nil
	if list != nil {
		*p = make(map[string]int64, len(list))
	}
	for _, e := range list {
		(*p)[e.name] = e.n
	}
}

func (c *coder) capture(p *event.CaptureInfo) {
	c.strings(&p.LinkTypes)
	c.strings(&p.Interfaces)
	signed(c, &p.Snaplen)
	signed(c, &p.Truncated)
	signed(c, &p.Dropped)
	text(c, &p.Filter)
	c.flags(&p.Text)
	c.strings(&p.Lacks)
	c.nanos(&p.First)
	c.nanos(&p.Last)
	slice(c, &p.Gaps, func(c *coder, p *event.Gap) { c.nanos(&p.From); c.nanos(&p.To) })
	signed(c, &p.Undecoded)
	signed(c, &p.Duplicates)
	signed(c, &p.ARPFrames)
	signed(c, &p.ICMPFrames)
	signed(c, &p.NonTCP)
	slice(c, &p.Targets, func(c *coder, p *event.TargetCount) {
		c.addrPort(&p.Addr)
		signed(c, &p.SYN)
		signed(c, &p.SYNACK)
		signed(c, &p.RSTFrom)
		signed(c, &p.RSTTo)
	})
	slice(c, &p.Names, func(c *coder, p *event.HostName) { c.addr(&p.IP); text(c, &p.Name) })
	c.strings(&p.Comments)
	slice(c, &p.Talkers, func(c *coder, p *event.Talker) {
		c.mac(&p.MAC)
		c.addr(&p.IP)
		signed(c, &p.Frames)
		c.nanos(&p.First)
		c.nanos(&p.Last)
	})
}

// problem visits a problem of the case.
func (c *coder) problem(p *event.Problem) {
	unsigned(c, &p.Ref.Stream)
	signed(c, &p.Ref.Line)
	signed(c, &p.Ref.Offset)
	signed(c, &p.Ref.Packet)
	text(c, &p.Path)
	text(c, &p.Code)
	text(c, &p.Message)
	signed(c, &p.Count)
}
