package logs

import (
	"bytes"
	"context"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// objectStream turns the objects of one stream into events. Both syntaxes feed
// it.
type objectStream struct {
	ctx   context.Context
	in    *Input
	tree  objectTree
	at    place       // of the object being read
	when  event.Stamp // of the request that carried it, in an audit log
	lines int64
	tally problemTally
	// state reads objects that are not Kubernetes' instead of the readers of kinds.
	state objectReader
}

func newObjectStream(ctx context.Context, in *Input) *objectStream {
	return &objectStream{ctx: ctx, in: in}
}

// finish reports the counters and problems of the stream.
func (o *objectStream) finish(err error) error {
	o.in.Info.Count("lines", o.lines)
	o.tally.report(o.in)
	return err
}

func (o *objectStream) ref(at place) event.Ref {
	return event.Ref{Stream: o.in.Info.ID, Line: at.line, Offset: at.offset}
}

func (o *objectStream) problem(at place, code, message string) {
	o.tally.add(o.ref(at), code, message)
}

// emit hands over a fact of the object being read. Snapshots have no time: when
// they were taken stands in no object.
func (o *objectStream) emit(time event.Stamp, node string, p event.Payload) {
	if time.IsZero() {
		time = o.when
	}
	seeStamp(o.in.Info, time)
	o.in.Sink.Emit(event.Event{Time: time, Node: node, Ref: o.ref(o.at), Payload: p})
}

// seeStamp widens the time range of a stream by a record's stamp.
func seeStamp(info *event.StreamInfo, s event.Stamp) {
	if s.IsZero() || s.Missing&event.MissingEpoch != 0 {
		return
	}
	if info.First.IsZero() || s.At < info.First.At {
		info.First = s
	}
	if info.Last.IsZero() || s.At > info.Last.At {
		info.Last = s
	}
}

// problemTally counts problems by code, so that a damaged stream of any length
// reports each kind of damage once, at its first place.
type problemTally struct{ list []event.Problem }

func (t *problemTally) add(ref event.Ref, code, message string) {
	for i := range t.list {
		if t.list[i].Code == code {
			t.list[i].Count++
			return
		}
	}
	t.list = append(t.list, event.Problem{Ref: ref, Code: code, Message: message, Count: 1})
}

func (t *problemTally) report(in *Input) {
	for _, p := range t.list {
		p.Path = in.Path
		in.Sink.Problem(p)
	}
	t.list = nil
}

// objectReader turns one object into events and reports whether it kept any.
type objectReader func(o *objectStream, f field) bool

// readerOf returns the reader of a kind, nil for kinds that no analysis needs.
func readerOf(kind string) objectReader {
	switch kind {
	case "Pod":
		return (*objectStream).pod
	case "Node":
		return (*objectStream).nodeObject
	case "Event":
		return (*objectStream).event
	case "EndpointSlice":
		return (*objectStream).endpointSlice
	case "Endpoints":
		return (*objectStream).endpoints
	case "Service":
		return (*objectStream).service
	case "Namespace":
		return (*objectStream).namespace
	case "NetworkPolicy":
		return (*objectStream).networkPolicy
	case "GlobalNetworkPolicy":
		return (*objectStream).calicoPolicy
	case "CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy":
		return (*objectStream).ciliumPolicy
	case "AdminNetworkPolicy", "BaselineAdminNetworkPolicy", "ClusterNetworkPolicy":
		return (*objectStream).adminPolicy
	case "PeerAuthentication":
		return (*objectStream).peerAuthentication
	case "IPPool":
		return (*objectStream).ipPool
	case "IPAMBlock":
		return (*objectStream).ipamBlock
	case "OverlappingRangeIPReservation":
		return (*objectStream).reservation
	case "CiliumEndpoint":
		return (*objectStream).ciliumEndpoint
	case "CiliumNode":
		return (*objectStream).ciliumNode
	case "WorkloadEndpoint":
		return (*objectStream).workloadEndpoint
	case "Network":
		return (*objectStream).clusterNetwork
	case "HostSubnet":
		return (*objectStream).hostSubnet
	case "PodNetworkConnectivityCheck":
		return (*objectStream).netCheck
	}
	return nil
}

// readable reports whether objects of the kind, or lists of them, are read.
func readable(kind string) bool {
	return strings.HasSuffix(kind, "List") || readerOf(kind) != nil
}

// read turns one object, or each item of a list in one piece, into events.
func (o *objectStream) read(f field, at place, listKind string) {
	if f.get("items").ok() && f.get("items").node().kind == nodeList {
		for item := range f.each("items") {
			o.read1(item, at, f.str("kind"))
		}
		return
	}
	o.read1(f, at, listKind)
}

func (o *objectStream) read1(f field, at place, listKind string) {
	o.in.Info.Records++
	o.at = at
	if o.state != nil {
		if o.state(o, f) {
			o.in.Info.Kept++
		}
		return
	}
	kind := f.str("kind")
	if (kind == "" || kind == "Event") && o.audited(f) {
		return
	}
	if kind == "" && listKind != "List" {
		kind = strings.TrimSuffix(listKind, "List")
	}
	if kind == "" {
		kind = guessKind(f)
	}
	if read := readerOf(kind); read != nil && read(o, f) {
		o.in.Info.Kept++
	}
}

// guessKind tells the kind of an object by its shape: kubectl prints the kind
// of a typed list after its items, and the items then carry none.
func guessKind(f field) string {
	switch {
	case f.has("involvedObject") || f.has("regarding"):
		return "Event"
	case f.has("spec", "containers"):
		return "Pod"
	case f.has("status", "nodeInfo"):
		return "Node"
	case f.has("subsets"):
		return "Endpoints"
	case f.has("addressType"):
		return "EndpointSlice"
	case f.has("spec", "podSelector") && (f.has("spec", "policyTypes") || f.has("spec", "ingress") || f.has("spec", "egress")):
		return "NetworkPolicy"
	case f.has("spec", "finalizers") && f.has("status", "phase"):
		return "Namespace"
	case f.has("spec", "clusterIP") || f.has("status", "loadBalancer"):
		return "Service"
	}
	return ""
}

// stripScheme removes the runtime's name from a container id.
func stripScheme(id []byte) string {
	if i := bytes.Index(id, []byte("://")); i >= 0 {
		id = id[i+3:]
	}
	return string(id)
}
