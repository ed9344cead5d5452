package flow

import (
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// event builds the Flow of a connection that ends now.
func (c *conn) event(t *Tracker) *event.Flow {
	o, r := &c.ep[clientSide], &c.ep[serverSide]
	f := &event.Flow{
		Client: c.client(), Server: c.server(),
		State: c.state(), History: string(c.hist[:c.histLen]),
		Relative: c.relative || !c.isnKnown,

		SYN: c.syn, SYNTimes: c.synTimes, SYNs: int32(c.syns),
		SYNACK: c.synack, SYNACKs: int32(c.synacks), LastSYNACK: c.lastSynack, ACK: c.ack,
		Request: c.request, RequestACK: c.requestAck, Response: c.response, LastResponse: c.lastRsp,
		ClientFIN: o.fin, ServerFIN: r.fin, ClientRST: o.rst, ServerRST: r.rst,
		ICMP: c.icmp, ICMPErrors: int32(c.icmps), First: c.first, Last: c.last,

		ClientBytes: o.bytes, ServerBytes: r.bytes,
		ClientRetrans: int32(o.retrans), ServerRetrans: int32(r.retrans),
		MaxServerSegment: int32(r.maxSegment), Copies: int32(c.copies),

		ClientMAC: c.clientMAC, SYNDstMAC: c.synDst, LastSYNDstMAC: c.lastSynDst, AnswerMAC: c.answerMAC, AnswerDstMAC: c.answerDst,
		SYNInterfaces: c.synPath.names(t), AnswerInterfaces: c.answerPath.names(t),

		SYNTTL: c.synTTL, SYNACKTTL: c.synackTTL, RSTTTL: c.rstTTL, RSTIPID: c.rstIPID,
		SYNACKWindow: c.synackWindow, RSTWindow: c.rstWindow, RSTSeq: c.rstSeq, RSTHasACK: c.rstHasACK,
		MSS: c.mss, ServerTSval: c.serverTS,

		VLAN: c.vlan, Tunnel: c.tunnel,
		Evicted: !c.closed(),
	}
	if c.isnKnown && !c.relative {
		f.ISN = o.start
	}
	if c.synack.Seen() && !c.noSeq && !c.relative {
		f.ServerISN = r.start
	}
	if f.SYNTimes == nil && c.syn.Seen() {
		f.SYNTimes = []event.Nanos{c.syn.At}
	}
	if c.app != nil {
		c.app.fill(t, f)
	}
	return f
}
