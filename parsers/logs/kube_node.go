package logs

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

func (o *objectStream) nodeObject(f field) bool {
	n := readNode(f)
	if n.Name == "" {
		o.problem(o.at, "bad-record", "a node has no name")
		return false
	}
	o.emit(event.Stamp{}, n.Name, n)
	return true
}

func readNode(f field) *event.NodeSeen {
	n := &event.NodeSeen{
		Name:           f.str("metadata", "name"),
		UID:            f.str("metadata", "uid"),
		KubeletVersion: f.str("status", "nodeInfo", "kubeletVersion"),
		Runtime:        f.str("status", "nodeInfo", "containerRuntimeVersion"),
		Kernel:         f.str("status", "nodeInfo", "kernelVersion"),
		OSImage:        f.str("status", "nodeInfo", "osImage"),
		Conditions:     conditions(f),
		Unschedulable:  f.isTrue("spec", "unschedulable"),
	}
	for a := range f.each("status", "addresses") {
		if ip, ok := a.addr("address"); ok && !slices.Contains(n.Addresses, ip) {
			n.Addresses = append(n.Addresses, ip)
		}
	}
	cidrs := f.each("spec", "podCIDRs")
	if !f.has("spec", "podCIDRs") {
		cidrs = func(yield func(field) bool) { yield(f.get("spec", "podCIDR")) }
	}
	for c := range cidrs {
		if p, err := netip.ParsePrefix(c.str()); err == nil {
			n.PodCIDRs = append(n.PodCIDRs, p)
		}
	}
	for t := range f.each("spec", "taints") {
		s := t.str("key")
		if v := t.str("value"); v != "" {
			s += "=" + v
		}
		n.Taints = append(n.Taints, s+":"+t.str("effect"))
	}
	n.CNI = guessCNI(f, n.Conditions)
	return n
}

// cniMarks are the beginnings of node annotations and labels that only one
// network plugin sets.
var cniMarks = []struct{ prefix, cni string }{
	{"k8s.ovn.org/", "ovn-kubernetes"},
	{"network.cilium.io/", "cilium"},
	{"io.cilium.network", "cilium"},
	{"projectcalico.org/", "calico"},
	{"flannel.alpha.coreos.com/", "flannel"},
	{"kube-router.io/", "kube-router"},
	{"node.antrea.io/", "antrea"},
	{"ovn.kubernetes.io/", "kube-ovn"},
	{"vpc.amazonaws.com/", "aws-vpc-cni"},
	{"kubernetes.azure.com/podnetwork", "azure-cni"},
	{"networking.gke.io/", "gke"},
}

func guessCNI(f field, conditions []event.Condition) string {
	for _, m := range cniMarks {
		for _, where := range []string{"annotations", "labels"} {
			for e := range f.each("metadata", where) {
				if strings.HasPrefix(e.key(), m.prefix) {
					return m.cni
				}
			}
		}
	}
	for _, c := range conditions { // "CalicoIsUp", "FlannelIsUp", "CiliumIsUp", "WeaveIsUp"
		if c.Type == "NetworkUnavailable" {
			if name, ok := strings.CutSuffix(c.Reason, "IsUp"); ok {
				return strings.ToLower(name)
			}
		}
	}
	return ""
}
