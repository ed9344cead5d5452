package logs

import (
	"bytes"
	"context"
	"net/netip"
	"strconv"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// registerState adds a format of JSON objects that are no Kubernetes objects.
// Marks are texts that the head must hold, all of a group.
func registerState(name, doc string, read func(o *objectStream, f field) bool, marks ...[]string) struct{} {
	return register(Format{
		Name: name, Doc: doc,
		Detect: func(head []byte, _ string) int {
			b := bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")
			if len(b) == 0 || b[0] != '{' && b[0] != '[' {
				return 0
			}
			for _, group := range marks {
				n := 0
				for _, m := range group {
					if bytes.Contains(b, []byte(m)) {
						n++
					}
				}
				if n == len(group) {
					return 91
				}
			}
			return 0
		},
		Parse: func(ctx context.Context, in *Input) error {
			o := newObjectStream(ctx, in)
			o.state = read
			return o.finish(newJSONSplitter(o).run())
		},
	})
}

var _ = registerState("crictl-json",
	"crictl inspectp and inspect, crictl pods and ps with -o json: sandboxes with their addresses, containers with their times.",
	(*objectStream).cri,
	[]string{`"SANDBOX_READY"`}, []string{`"SANDBOX_NOTREADY"`}, []string{`"CONTAINER_RUNNING"`, `"metadata"`},
	[]string{`"CONTAINER_EXITED"`, `"metadata"`}, []string{`"CONTAINER_CREATED"`, `"metadata"`})

var _ = registerState("cni-result",
	"Result cache of CNI plugins (/var/lib/cni/results): which sandbox of which pod was given which address and MAC.",
	(*objectStream).cniCache,
	[]string{`"cniCacheV1"`}, []string{`"cniVersion"`, `"ips"`, `"interfaces"`})

var _ = registerState("ipamd-state",
	"State of aws-node: the checkpoint ipam.json (vpc-cni-ipam/1) and the introspection's enis.json.",
	(*objectStream).ipamd,
	[]string{`"vpc-cni-ipam/`}, []string{`"IPAMKey"`, `"Address"`}, []string{`"ENIs"`, `"AssignedIPs"`})

// criTime reads a time of the CRI: nanoseconds as a number or text, or RFC 3339.
// A container that has not ended has "0" or the year 1.
func criTime(f field) event.Stamp {
	raw := f.raw()
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		if n <= 0 {
			return event.Stamp{}
		}
		return event.Known(event.Nanos(n), time.Nanosecond)
	}
	s := f.stamp()
	return s
}

// cri reads what any crictl command prints.
func (o *objectStream) cri(f field) bool {
	status := f.get("status")
	switch {
	case f.has("containers"): // crictl ps -o json
		for c := range f.each("containers") {
			o.criContainer(c, c.str("podSandboxId"))
		}
	case status.is(nodeMap) && bytes.HasPrefix(status.raw("state"), []byte("CONTAINER_")):
		o.criContainer(status, orDefault(f.str("info", "sandboxID"), f.str("info", "sandboxId")))
	case status.is(nodeMap):
		o.criSandbox(status, f.get("info"))
	case f.has("metadata"): // an item of crictl pods -o json
		o.criSandbox(f, field{})
	default:
		return false
	}
	return true
}

func (o *objectStream) criSandbox(s, info field) {
	pod := event.PodRef{
		Namespace: s.str("metadata", "namespace"), Name: s.str("metadata", "name"), UID: s.str("metadata", "uid"),
	}
	at, id := criTime(s.get("createdAt")), s.str("id")
	o.emit(at, "", &event.SandboxChange{
		Pod: pod, SandboxID: id, Op: event.SandboxCreated, Attempt: s.num(0, "metadata", "attempt"), Reason: s.str("state"),
	})
	ip := &event.PodIP{Pod: pod, SandboxID: id, Fact: event.IPAllocated, Via: "cri"}
	if a, ok := s.addr("network", "ip"); ok {
		ip.IPs = append(ip.IPs, a)
	}
	for e := range s.each("network", "additionalIps") {
		if a, ok := e.addr("ip"); ok {
			ip.IPs = append(ip.IPs, a)
		}
	}
	eth0 := info.get("cniResult", "Interfaces", "eth0")
	ip.MAC = parseMAC(eth0.raw("Mac"))
	if len(ip.IPs) == 0 {
		for c := range eth0.each("IPConfigs") {
			if a, ok := c.addr("IP"); ok {
				ip.IPs = append(ip.IPs, a)
			}
		}
	}
	if len(ip.IPs) > 0 {
		o.emit(at, "", ip)
	}
}

func (o *objectStream) criContainer(c field, sandbox string) {
	labels := c.get("labels")
	state := event.ContainerState{
		Pod: event.PodRef{
			Namespace: labels.str("io.kubernetes.pod.namespace"), Name: labels.str("io.kubernetes.pod.name"), UID: labels.str("io.kubernetes.pod.uid"),
		},
		Container: c.str("metadata", "name"), ID: c.str("id"), SandboxID: sandbox, Attempt: c.num(0, "metadata", "attempt"),
		ExitCode: -1,
	}
	put := func(key string, op event.ContainerOp) {
		if at := criTime(c.get(key)); !at.IsZero() {
			s := state
			s.Op = op
			if op == event.ContainerFinished {
				s.ExitCode, s.Reason, s.Message = c.num(-1, "exitCode"), c.str("reason"), c.cut(maxMessage, "message")
			}
			o.emit(at, "", &s)
		}
	}
	put("createdAt", event.ContainerCreated)
	put("startedAt", event.ContainerStarted)
	put("finishedAt", event.ContainerFinished)
}

// cniCache reads a cached result; before 2019 the file held the bare result.
func (o *objectStream) cniCache(f field) bool {
	result := f
	ip := &event.PodIP{SandboxID: f.str("containerId"), Interface: f.str("ifName"), Fact: event.IPAllocated, Via: "cni-result"}
	if f.has("result") {
		result = f.get("result")
	}
	for arg := range f.each("cniArgs") {
		var pair []string
		for v := range arg.each() {
			pair = append(pair, v.str())
		}
		if len(pair) != 2 {
			continue
		}
		switch pair[0] {
		case "K8S_POD_NAMESPACE":
			ip.Pod.Namespace = pair[1]
		case "K8S_POD_NAME":
			ip.Pod.Name = pair[1]
		case "K8S_POD_UID":
			ip.Pod.UID = pair[1]
		case "K8S_POD_INFRA_CONTAINER_ID":
			ip.SandboxID = orDefault(ip.SandboxID, pair[1])
		}
	}
	for i := range result.each("interfaces") {
		if i.str("sandbox") != "" {
			ip.MAC = parseMAC(i.raw("mac"))
			ip.Interface = orDefault(ip.Interface, i.str("name"))
			break
		}
	}
	for e := range result.each("ips") {
		if a, ok := e.addr("address"); ok {
			ip.IPs = append(ip.IPs, a)
		}
	}
	if len(ip.IPs) == 0 {
		return false
	}
	o.emit(event.Stamp{}, "", ip)
	return true
}

// ipamd reads the allocations of the VPC plugin: the checkpoint keeps those that
// stand, the introspection also when an address was taken back.
func (o *objectStream) ipamd(f field) bool {
	kept := false
	for a := range f.each("allocations") {
		ip := &event.PodIP{
			Pod:       event.PodRef{Namespace: a.str("metadata", "k8sPodNamespace"), Name: a.str("metadata", "k8sPodName")},
			SandboxID: a.str("containerID"), Interface: a.str("ifName"), Fact: event.IPAllocated, Via: "ipam",
		}
		for _, k := range []string{"ipv4", "ipv6"} {
			if addr, ok := a.addr(k); ok {
				ip.IPs = append(ip.IPs, addr)
			}
		}
		if len(ip.IPs) > 0 {
			o.emit(criTime(a.get("allocationTimestamp")), "", ip)
			kept = true
		}
	}
	return o.assigned(f, 0) || kept
}

// assigned finds addresses with an owner at any depth of the introspection,
// whose nesting changed from version to version.
func (o *objectStream) assigned(f field, depth int) bool {
	if depth > 8 || f.node().kind != nodeMap {
		return false
	}
	addr, ok := f.addr("Address")
	if key := f.get("IPAMKey"); ok && key.str("containerID") != "" {
		ip := event.PodIP{
			Pod:       event.PodRef{Namespace: f.str("IPAMMetadata", "k8sPodNamespace"), Name: f.str("IPAMMetadata", "k8sPodName")},
			SandboxID: key.str("containerID"), Interface: key.str("ifName"), IPs: []netip.Addr{addr},
		}
		given, taken := f.stamp("AssignedTime"), f.stamp("UnassignedTime")
		ip.Fact, ip.Via = event.IPAllocated, "ipam"
		allocated := ip
		o.emit(given, "", &allocated)
		if taken.At > given.At {
			ip.Fact = event.IPReleased
			o.emit(taken, "", &ip)
		}
		return true
	}
	kept := false
	for c := range f.each() {
		if c.node().kind == nodeMap {
			kept = o.assigned(c, depth+1) || kept
		}
	}
	return kept
}
