package parquetout

import (
	"iter"
	"strconv"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// mapped converts the rows of a table iterator one by one, so that memory does
// not grow with them. A missing iterator has no rows.
func mapped[In, Out any](rows func() iter.Seq2[*In, error], f func(*In) Out) iter.Seq2[Out, error] {
	return func(yield func(Out, error) bool) {
		if rows == nil {
			return
		}
		var zero Out
		for r, err := range rows() {
			if err != nil {
				yield(zero, err)
				return
			}
			if !yield(f(r), nil) {
				return
			}
		}
	}
}

func (m *mapper) events() iter.Seq2[eventRow, error] {
	return mapped(m.res.Tables.Events, func(e *model.EventRow) eventRow {
		return eventRow{
			key: m.key, stamp: at(e.At), EventID: m.eventID(e), TimeBasis: e.TimeBasis, Kind: e.Kind,
			pod:       pod{Node: text(e.Node), Namespace: text(e.Namespace), Name: text(e.Pod), UID: text(e.UID)},
			Container: text(e.Container), Severity: e.Severity, Body: text(e.Body), place: m.place(e.Ref),
		}
	})
}

func (m *mapper) eventID(e *model.EventRow) string {
	return m.id("event", e.Kind, strconv.Itoa(int(e.Ref.Stream)), strconv.FormatInt(e.Ref.Packet, 10),
		strconv.FormatInt(e.Ref.Line, 10), strconv.FormatInt(e.Ref.Offset, 10), e.Namespace, e.Pod, e.UID, e.Container, e.Body)
}

func (m *mapper) flows() iter.Seq2[flowRow, error] {
	return mapped(m.res.Tables.Flows, func(row *model.FlowRow) flowRow {
		f := row.Flow
		r := flowRow{
			key: m.key, stamp: at(f.First.At), LastMicros: micros(f.Last.At), LastNanos: int64(f.Last.At),
			CaptureNanos: int64(f.First.At) - int64(row.OffsetMS*1e6), OffsetMs: row.OffsetMS, FlowID: m.flowID(row),
			pod:          pod{Node: text(row.Node), Namespace: text(row.Namespace), Name: text(row.Pod), UID: text(row.UID)},
			CapturePoint: row.Capture, Transport: "tcp", NetworkType: family(f.Server.Addr()),
			ClientAddress: addr(f.Client.Addr()), ClientPort: int32(f.Client.Port()),
			ServerAddress: addr(f.Server.Addr()), ServerPort: int32(f.Server.Port()),
			State: string(f.State), History: text(f.History), SYNs: int32(f.SYNs), SYNACKs: int32(f.SYNACKs),
			SYNPacket: f.SYN.Packet, SYNACKPacket: f.SYNACK.Packet, RequestPacket: f.Request.Packet, AnswerPacket: f.Response.Packet,
			ClientRST: f.ClientRST.Packet, ServerRST: f.ServerRST.Packet, ICMPPacket: f.ICMP.Packet,
			ConnectMs: span(f.SYN, f.SYNACK), FirstByteMs: span(f.Request, f.Response),
			ClientBytes: f.ClientBytes, ServerBytes: f.ServerBytes, ClientRetrans: int32(f.ClientRetrans), ServerRetrans: int32(f.ServerRetrans),
			Copies: int32(f.Copies), ClientMAC: f.ClientMAC.String(), SYNDstMAC: f.SYNDstMAC.String(), AnswerMAC: f.AnswerMAC.String(),
			SYNIfs: texts(f.SYNInterfaces), AnswerIfs: texts(f.AnswerInterfaces),
			App: f.App, Method: text(f.Method), Path: text(f.Path), UserAgent: text(f.UserAgent), Status: int32(f.Status),
			GRPCStatus: text(f.GRPCStatus), TLSAlert: text(f.TLSAlert), Tunnel: f.Tunnel, VLAN: int32(f.VLAN), Evicted: f.Evicted, Unjoined: row.Unjoined,
			place: m.place(row.Ref),
		}
		r.SrcAddress, r.SrcPort, r.DstAddress, r.DstPort = r.ClientAddress, r.ClientPort, r.ServerAddress, r.ServerPort
		if f.ICMP.Seen() {
			t, c := int32(f.ICMP.Type), int32(f.ICMP.Code)
			r.ICMPType, r.ICMPCode = &t, &c
		}
		return r
	})
}

// flowID is the id of the connection, or one derived from the place of a
// connection that belongs to no probe.
func (m *mapper) flowID(row *model.FlowRow) string {
	if row.ID != "" {
		return row.ID
	}
	return m.id("flow", strconv.Itoa(int(row.Ref.Stream)), strconv.FormatInt(row.Ref.Packet, 10), strconv.FormatInt(row.Ref.Line, 10),
		row.Flow.Client.String(), row.Flow.Server.String())
}

// span is the time between two marks in milliseconds, nil when one is missing.
func span(from, to event.Mark) *float64 {
	if !from.Seen() || !to.Seen() || to.At < from.At {
		return nil
	}
	ms := float64(to.At-from.At) / 1e6
	return &ms
}

func texts(in []string) []string {
	var out []string
	for _, s := range in {
		out = append(out, text(s))
	}
	return out
}

func (m *mapper) arp() iter.Seq2[arpRow, error] {
	return mapped(m.res.Tables.ARP, func(row *model.ARPRow) arpRow {
		a := row.ARP
		r := arpRow{
			key: m.key, stamp: at(row.At), Node: text(row.Node), Op: a.Op.String(), Family: "ipv4",
			SenderIP: addr(a.SenderIP), TargetIP: addr(a.TargetIP), SenderMAC: a.SenderMAC.String(), TargetMAC: a.TargetMAC.String(),
			EthSrc: a.EthSrc.String(), EthDst: a.EthDst.String(), Unicast: a.Unicast, Answered: a.Answered,
			AnswerMAC: a.AnswerMAC.String(), Interface: text(a.Interface), Router: a.Router, Copies: int32(a.Copies), place: m.place(row.Ref),
		}
		if a.V6 {
			r.Family = "ipv6"
		}
		return r
	})
}
