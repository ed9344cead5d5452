package logs

import (
	"net/netip"
	"slices"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// endpointSet gathers what an EndpointSlice or Endpoints object says.
type endpointSet struct {
	o     *objectStream
	seen  *event.ObjectSeen
	facts factList
}

// add notes one endpoint: the addresses of a pod as the controller knows them.
func (s *endpointSet) add(ips []netip.Addr, target field, node string) event.PodRef {
	for _, a := range ips {
		if len(s.seen.IPs) < 4096 {
			s.seen.IPs = append(s.seen.IPs, a)
		}
	}
	if target.str("kind") != "Pod" {
		return event.PodRef{}
	}
	pod := event.PodRef{Namespace: target.str("namespace"), Name: target.str("name"), UID: target.str("uid")}
	pod.Namespace = orDefault(pod.Namespace, s.seen.Namespace)
	if !slices.Contains(s.seen.Pods, pod) && len(s.seen.Pods) < 4096 {
		s.seen.Pods = append(s.seen.Pods, pod)
	}
	if len(ips) > 0 {
		s.o.emit(event.Stamp{}, node, &event.PodIP{Pod: pod, IPs: ips, Fact: event.IPObserved, Via: "endpointslice"})
	}
	return pod
}

const lastChange = "endpoints.kubernetes.io/last-change-trigger-time"

func (o *objectStream) endpointSlice(f field) bool {
	s := endpointSet{o: o, seen: f.object("EndpointSlice")}
	s.facts.some(event.FactService, f.str("metadata", "labels", "kubernetes.io/service-name"))
	s.facts.some(event.FactAddressType, f.str("addressType"))
	s.facts.some(event.FactLastChange, f.str("metadata", "annotations", lastChange))
	s.ports(f.get("ports"))
	for e := range f.each("endpoints") {
		var ips []netip.Addr
		for a := range e.each("addresses") {
			if ip, ok := a.addr(); ok {
				ips = append(ips, ip)
			}
		}
		pod := s.add(ips, e.get("targetRef"), e.str("nodeName"))
		name := orDefault(pod.Name, e.str("hostname"))
		if e.str("conditions", "ready") == "false" {
			s.facts.some(event.FactNotReady, name)
		}
		if e.isTrue("conditions", "terminating") {
			s.facts.some(event.FactTerminating, name)
		}
	}
	return o.seen(s.seen, s.facts)
}

func (o *objectStream) endpoints(f field) bool {
	s := endpointSet{o: o, seen: f.object("Endpoints")}
	s.facts.some(event.FactService, s.seen.Name)
	s.facts.some(event.FactLastChange, f.str("metadata", "annotations", lastChange))
	for sub := range f.each("subsets") {
		s.ports(sub.get("ports"))
		for _, list := range []string{"addresses", "notReadyAddresses"} {
			for e := range sub.each(list) {
				var ips []netip.Addr
				if ip, ok := e.addr("ip"); ok {
					ips = append(ips, ip)
				}
				pod := s.add(ips, e.get("targetRef"), e.str("nodeName"))
				if list == "notReadyAddresses" {
					s.facts.some(event.FactNotReady, pod.Name)
				}
			}
		}
	}
	return o.seen(s.seen, s.facts)
}

func (s *endpointSet) ports(list field) {
	for p := range list.each() {
		fact := event.Fact{Key: event.FactServicePort, Value: p.str("port") + "/" + orDefault(p.str("protocol"), "TCP")}
		if !slices.Contains(s.facts, fact) {
			s.facts.add(fact.Key, fact.Value)
		}
	}
}

func (o *objectStream) service(f field) bool {
	s := f.object("Service")
	var facts factList
	if f.str("spec", "clusterIP") != "" {
		facts.add(event.FactClusterIP, f.str("spec", "clusterIP")) // "None" is headless
	}
	for a := range f.each("spec", "clusterIPs") {
		if ip, ok := a.addr(); ok {
			s.IPs = append(s.IPs, ip)
		}
	}
	if ip, ok := f.addr("spec", "clusterIP"); ok && len(s.IPs) == 0 {
		s.IPs = append(s.IPs, ip)
	}
	var selector []string
	for e := range f.each("spec", "selector") {
		selector = append(selector, e.key()+"="+e.str())
	}
	slices.Sort(selector)
	facts.join(event.FactSelector, selector)
	for p := range f.each("spec", "ports") {
		port := p.str("port")
		facts.add(event.FactServicePort, port+"->"+orDefault(p.str("targetPort"), port)+"/"+orDefault(p.str("protocol"), "TCP"))
	}
	return o.seen(s, facts)
}

// namespace keeps the labels, which policies and meshes select by; the uid of
// kube-system identifies the cluster.
func (o *objectStream) namespace(f field) bool {
	s := f.object("Namespace")
	notes := facts(f.get("metadata", "annotations"), networkAnnotation)
	return o.seen(s, append(facts(f.get("metadata", "labels"), nil), notes...))
}

// clusterNetwork reads OpenShift's Network configuration.
func (o *objectStream) clusterNetwork(f field) bool {
	var facts factList
	facts.some(event.FactNetworkType, orDefault(f.str("status", "networkType"), orDefault(f.str("spec", "networkType"),
		f.str("spec", "defaultNetwork", "type"))))
	facts.some(event.FactMTU, f.str("status", "clusterNetworkMTU"))
	for c := range f.each("spec", "clusterNetwork") {
		facts.some(event.FactCIDR, c.str("cidr"))
	}
	if len(facts) == 0 {
		return false
	}
	return o.seen(f.object("Network"), facts)
}

// hostSubnet reads which addresses OpenShift SDN gives to a node.
func (o *objectStream) hostSubnet(f field) bool {
	s := f.object("HostSubnet")
	var facts factList
	facts.some(event.FactNode, f.str("host"))
	facts.some(event.FactCIDR, f.str("subnet"))
	if ip, ok := f.addr("hostIP"); ok {
		s.IPs = append(s.IPs, ip)
	}
	return o.seen(s, facts)
}
