package logs

import (
	"bytes"
	"net/netip"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

const maxEventMessage = 1024

// event reads an Event of either API group. The newer group renames the fields
// and keeps the old ones as deprecated.
func (o *objectStream) event(f field) bool {
	e := readEvent(f)
	if e.Reason == "" && e.Message == "" {
		o.problem(o.at, "bad-record", "an event has neither reason nor message")
		return false
	}
	o.emit(e.Last, e.Host, e)
	if e.Reason == "AddedInterface" {
		o.addedInterface(e)
	}
	return true
}

func readEvent(f field) *event.K8sEvent {
	obj := f.get("involvedObject")
	if !obj.ok() {
		obj = f.get("regarding")
	}
	e := &event.K8sEvent{
		ObjectKind: obj.str("kind"), Namespace: obj.str("namespace"), Name: obj.str("name"), UID: obj.str("uid"),
		FieldPath: obj.str("fieldPath"),
		Type:      f.str("type"), Reason: f.str("reason"), Message: f.cut(maxEventMessage, "message"),
		Count:     int64(f.num(1, firstOf(f, "count", "deprecatedCount"))),
		First:     f.stamp(firstOf(f, "firstTimestamp", "deprecatedFirstTimestamp")),
		Last:      f.stamp(firstOf(f, "lastTimestamp", "deprecatedLastTimestamp")),
		Component: f.str("source", "component"), Host: f.str("source", "host"),
	}
	if e.Message == "" {
		e.Message = f.cut(maxEventMessage, "note")
	}
	if e.Component == "" {
		if e.Component = f.str("deprecatedSource", "component"); e.Component == "" {
			e.Component = f.str(firstOf(f, "reportingComponent", "reportingController"))
		}
	}
	if e.Host == "" {
		if e.Host = f.str("deprecatedSource", "host"); e.Host == "" && e.Component == "kubelet" {
			e.Host = f.str("reportingInstance")
		}
	}
	if s := f.get("series"); s.has() {
		e.Count = max(e.Count, int64(s.num(1, "count")))
		if e.Last.IsZero() {
			e.Last = s.stamp("lastObservedTime")
		}
	}
	at := f.stamp("eventTime")
	e.Created = f.at("metadata", "creationTimestamp")
	if at.IsZero() {
		at = f.stamp("metadata", "creationTimestamp")
		if e.First.IsZero() {
			e.Created = 0
		}
	}
	if e.First.IsZero() {
		e.First = at
	}
	if e.Last.IsZero() {
		e.Last = e.First
	}
	e.Container = containerOf(e.FieldPath)
	return e
}

// firstOf returns the first of two keys that the object has.
func firstOf(f field, a, b string) string {
	if f.has(a) {
		return a
	}
	return b
}

// containerOf takes the container's name from "spec.containers{name}".
func containerOf(fieldPath string) string {
	_, name, ok := strings.Cut(fieldPath, "{")
	if !ok {
		return ""
	}
	return strings.TrimSuffix(name, "}")
}

// uidInMessage finds the pod's uid in a message such as "Back-off restarting
// failed container web in pod web-0_shop(uid)", for tables that lack it.
func uidInMessage(e *event.K8sEvent) string {
	if e.ObjectKind != "Pod" {
		return ""
	}
	_, rest, ok := strings.Cut(e.Message, e.Name+"_"+e.Namespace+"(")
	uid, _, closed := strings.Cut(rest, ")")
	if !ok || !closed || len(uid) < 32 || len(uid) > 64 {
		return ""
	}
	return uid
}

// addedInterface reads multus' "Add eth0 [10.129.3.71/23 fd01::47/64] from
// ovn-kubernetes": the moment the pod was given its addresses.
func (o *objectStream) addedInterface(e *event.K8sEvent) {
	text, ok := strings.CutPrefix(e.Message, "Add ")
	if !ok {
		return
	}
	name, text, _ := strings.Cut(text, " [")
	list, _, ok := strings.Cut(text, "]")
	if !ok {
		return
	}
	ip := &event.PodIP{
		Pod:       event.PodRef{Namespace: e.Namespace, Name: e.Name, UID: e.UID},
		Interface: name, Fact: event.IPAllocated, Via: "event",
	}
	for _, s := range strings.Fields(list) {
		if a, ok := ipAddr([]byte(s)); ok {
			ip.IPs = append(ip.IPs, a)
		}
	}
	if len(ip.IPs) > 0 {
		o.emit(e.First, e.Host, ip)
	}
}

// annotatedIPs reads the addresses that network plugins note on the pod.
func (o *objectStream) annotatedIPs(f field, pod event.PodRef, node string) {
	notes := f.get("metadata", "annotations")
	put := func(ips []netip.Addr, mac event.MAC, iface string) {
		if len(ips) > 0 {
			o.emit(event.Stamp{}, node, &event.PodIP{
				Pod: pod, IPs: ips, MAC: mac, Interface: iface, Fact: event.IPObserved, Via: "annotation",
			})
		}
	}
	if list := notes.raw("cni.projectcalico.org/podIPs"); list != nil {
		put(addrList(bytes.Split(list, []byte(","))), event.MAC{}, "")
	} else if one := notes.raw("cni.projectcalico.org/podIP"); one != nil {
		put(addrList([][]byte{one}), event.MAC{}, "")
	}
	status := notes.raw("k8s.v1.cni.cncf.io/network-status")
	if status == nil { // the name before 2020
		status = notes.raw("k8s.v1.cni.cncf.io/networks-status")
	}
	if f, ok := o.note(status); ok {
		for n := range f.each() {
			var ips []netip.Addr
			for ip := range n.each("ips") {
				if a, ok := ip.addr(); ok {
					ips = append(ips, a)
				}
			}
			iface := n.str("interface")
			if iface == "" && n.isTrue("default") {
				iface = "eth0"
			}
			put(ips, parseMAC(n.raw("mac")), iface)
		}
	}
	if f, ok := o.note(notes.raw("k8s.ovn.org/pod-networks")); ok {
		for n := range f.each() {
			var ips []netip.Addr
			for ip := range n.each("ip_addresses") {
				if a, ok := ip.addr(); ok {
					ips = append(ips, a)
				}
			}
			if a, ok := n.addr("ip_address"); ok && len(ips) == 0 {
				ips = append(ips, a)
			}
			iface := ""
			if n.key() == "default" {
				iface = "eth0"
			}
			put(ips, parseMAC(n.raw("mac_address")), iface)
		}
	}
}

// note reads an annotation that holds JSON.
func (o *objectStream) note(b []byte) (field, bool) {
	if len(b) == 0 {
		return field{}, false
	}
	var t objectTree
	f, err := parseJSON(b, &t)
	if err != nil {
		o.problem(o.at, "bad-annotation", "a network annotation can't be read as json: "+err.Error())
		return field{}, false
	}
	return f, true
}

func addrList(list [][]byte) []netip.Addr {
	var ips []netip.Addr
	for _, b := range list {
		if a, ok := ipAddr(bytes.TrimSpace(b)); ok {
			ips = append(ips, a)
		}
	}
	return ips
}

// parseMAC reads six hexadecimal pairs with colons or dashes.
func parseMAC(b []byte) event.MAC {
	var m event.MAC
	if len(b) != 17 {
		return m
	}
	for i := range 6 {
		r, ok := hexRune(b[3*i:], 2)
		if !ok || (i < 5 && b[3*i+2] != ':' && b[3*i+2] != '-') {
			return event.MAC{}
		}
		m[i] = byte(r)
	}
	return m
}
