package logs

import (
	"bytes"
	"math/big"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// maxAllocations bounds the addresses read from one pool or block.
const maxAllocations = 1 << 14

// ipPool reads the pools of Calico and of whereabouts, which share a kind.
func (o *objectStream) ipPool(f field) bool {
	s := f.object("IPPool")
	var facts factList
	if !f.has("spec", "range") {
		facts.some(event.FactCIDR, f.str("spec", "cidr"))
		facts.some(event.FactBlockSize, f.str("spec", "blockSize"))
		facts.some(event.FactDisabled, f.str("spec", "disabled"))
		for _, k := range []string{"ipipMode", "vxlanMode"} {
			if v := f.str("spec", k); v != "" && v != "Never" {
				facts.add(event.FactEncap, strings.TrimSuffix(k, "Mode")+"="+v)
			}
		}
		facts.some(event.FactSelector, f.str("spec", "nodeSelector"))
		return o.seen(s, facts)
	}
	network, err := netip.ParsePrefix(f.str("spec", "range"))
	if err != nil {
		return false
	}
	facts.add(event.FactCIDR, network.String())
	taken := 0
	for a := range f.each("spec", "allocations") {
		if taken++; taken > maxAllocations {
			continue
		}
		ip, ok := offsetIn(network, a.key())
		pod, named := podPath(a.str("podref"))
		if !ok || !named {
			continue
		}
		o.emit(event.Stamp{}, "", &event.PodIP{
			Pod: pod, SandboxID: a.str("id"), IPs: []netip.Addr{ip}, Interface: a.str("ifname"),
			Fact: event.IPAllocated, Via: "ipam",
		})
	}
	facts.add(event.FactAllocations, strconv.Itoa(taken))
	return o.seen(s, facts)
}

// offsetIn returns the address a decimal offset behind a network's first.
func offsetIn(network netip.Prefix, offset string) (netip.Addr, bool) {
	n, ok := new(big.Int).SetString(offset, 10)
	if !ok || len(offset) > 39 || n.Sign() < 0 {
		return netip.Addr{}, false
	}
	base := network.Masked().Addr()
	n.Add(n, new(big.Int).SetBytes(base.AsSlice()))
	if n.BitLen() > base.BitLen() {
		return netip.Addr{}, false
	}
	ip, ok := netip.AddrFromSlice(n.FillBytes(make([]byte, base.BitLen()/8)))
	return ip, ok && network.Contains(ip)
}

// podPath reads "namespace/name".
func podPath(s string) (event.PodRef, bool) {
	ns, name, ok := strings.Cut(s, "/")
	return event.PodRef{Namespace: ns, Name: name}, ok && ns != "" && name != "" && !strings.Contains(name, "/")
}

// reservation reads whereabouts' OverlappingRangeIPReservation: its name is the
// address, with dashes for the colons of IPv6 and perhaps a network before it.
func (o *objectStream) reservation(f field) bool {
	name := f.str("metadata", "name")
	ip, ok := ipAddr([]byte(name))
	if !ok && strings.Contains(name, "-") {
		for text := name; !ok; {
			if ip, ok = ipAddr([]byte(strings.ReplaceAll(text, "-", ":"))); ok {
				break
			}
			if ip, ok = ipAddr([]byte(text)); ok {
				break
			}
			_, rest, more := strings.Cut(text, "-")
			if !more {
				break
			}
			text = rest
		}
	}
	pod, named := podPath(f.str("spec", "podref"))
	if !ok || !named {
		return false
	}
	o.emit(f.stamp("metadata", "creationTimestamp"), "", &event.PodIP{
		Pod: pod, SandboxID: f.str("spec", "containerid"), IPs: []netip.Addr{ip}, Interface: f.str("spec", "ifname"),
		Fact: event.IPAllocated, Via: "ipam",
	})
	return true
}

// ipamBlock reads a Calico address block: which of its addresses are taken, and
// by whom.
func (o *objectStream) ipamBlock(f field) bool {
	spec := f.get("spec")
	network, err := netip.ParsePrefix(spec.str("cidr"))
	if err != nil {
		return false
	}
	var facts factList
	facts.add(event.FactCIDR, network.String())
	node, _ := strings.CutPrefix(spec.str("affinity"), "host:")
	facts.some(event.FactNode, node)
	var owners []field
	for a := range spec.each("attributes") {
		if len(owners) == maxAllocations {
			break
		}
		owners = append(owners, a)
	}
	taken, ip := 0, network.Masked().Addr()
	for a := range spec.each("allocations") {
		i := a.num(-1)
		if i >= 0 {
			taken++
		}
		if i >= 0 && i < len(owners) && network.Contains(ip) {
			o.calicoOwner(owners[i], ip)
		}
		ip = ip.Next()
	}
	facts.add(event.FactAllocations, strconv.Itoa(taken))
	return o.seen(f.object("IPAMBlock"), facts)
}

// calicoOwner emits who holds an address of a block. The handle of a pod is
// "<network>.<sandbox id>".
func (o *objectStream) calicoOwner(owner field, ip netip.Addr) {
	by := owner.get("secondary")
	if !by.has() {
		by = owner.get("attr_secondary")
	}
	pod := event.PodRef{Namespace: by.str("namespace"), Name: by.str("pod")}
	if pod.Name == "" {
		return // a tunnel address
	}
	_, sandbox, _ := strings.Cut(orDefault(owner.str("handle_id"), owner.str("attr_primary")), ".")
	var at event.Stamp
	if t, err := time.Parse("2006-01-02 15:04:05.999999999 -0700 MST", by.str("timestamp")); err == nil {
		at = event.Known(event.FromTime(t), time.Nanosecond)
	}
	o.emit(at, by.str("node"), &event.PodIP{
		Pod: pod, SandboxID: sandbox, IPs: []netip.Addr{ip}, Fact: event.IPAllocated, Via: "ipam",
	})
}

// ciliumEndpoint has the name of its pod.
func (o *objectStream) ciliumEndpoint(f field) bool {
	s := f.object("CiliumEndpoint")
	pod := event.PodRef{Namespace: s.Namespace, Name: s.Name}
	for r := range f.each("metadata", "ownerReferences") {
		if r.str("kind") == "Pod" {
			pod.UID = r.str("uid")
		}
	}
	s.Pods = []event.PodRef{pod}
	for a := range f.each("status", "networking", "addressing") {
		for _, k := range []string{"ipv4", "ipv6"} {
			if ip, ok := a.addr(k); ok {
				s.IPs = append(s.IPs, ip)
			}
		}
	}
	var facts factList
	facts.some(event.FactState, f.str("status", "state"))
	var enforcing []string
	for _, dir := range []string{"ingress", "egress"} {
		if f.isTrue("status", "policy", dir, "enforcing") {
			enforcing = append(enforcing, dir)
		}
	}
	facts.join(event.FactEnforcing, enforcing)
	node := f.str("status", "networking", "node")
	facts.some(event.FactNode, node)
	if len(s.IPs) > 0 {
		o.emit(event.Stamp{}, "", &event.PodIP{Pod: pod, IPs: s.IPs, Fact: event.IPObserved, Via: "cni-result"})
	}
	return o.seen(s, facts)
}

// ciliumNode reads the pod networks of a node and, with the cluster-scoped pool
// of the cloud modes, who holds which address.
func (o *objectStream) ciliumNode(f field) bool {
	s := f.object("CiliumNode")
	var facts factList
	facts.add(event.FactNode, s.Name)
	for c := range f.each("spec", "ipam", "podCIDRs") {
		facts.some(event.FactCIDR, c.str())
	}
	for a := range f.each("spec", "addresses") {
		if ip, ok := a.addr("ip"); ok {
			s.IPs = append(s.IPs, ip)
		}
	}
	taken := 0
	for u := range f.each("status", "ipam", "used") {
		ip, ok := ipAddr(u.node().key)
		pod, named := podPath(u.str("owner"))
		if taken++; ok && named && taken <= maxAllocations {
			o.emit(event.Stamp{}, "", &event.PodIP{Pod: pod, IPs: []netip.Addr{ip}, Fact: event.IPAllocated, Via: "ipam"})
		}
	}
	if taken > 0 {
		facts.add(event.FactAllocations, strconv.Itoa(taken))
	}
	return o.seen(s, facts)
}

// workloadEndpoint reads Calico's endpoint of a pod.
func (o *objectStream) workloadEndpoint(f field) bool {
	spec := f.get("spec")
	pod := event.PodRef{Namespace: f.str("metadata", "namespace"), Name: spec.str("pod")}
	if pod.Name == "" {
		return false
	}
	ip := &event.PodIP{
		Pod: pod, SandboxID: spec.str("containerID"), MAC: parseMAC(bytes.TrimSpace(spec.raw("mac"))),
		Fact: event.IPObserved, Via: "cni-result",
	}
	for n := range spec.each("ipNetworks") {
		if a, ok := n.addr(); ok {
			ip.IPs = append(ip.IPs, a)
		}
	}
	if len(ip.IPs) == 0 {
		return false
	}
	o.emit(event.Stamp{}, spec.str("node"), ip)
	return true
}
