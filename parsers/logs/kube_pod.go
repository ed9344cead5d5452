package logs

import (
	"bytes"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Bounds of the texts kept from a pod.
const (
	maxAnnotation = 1024
	maxLabels     = 64
)

func (o *objectStream) pod(f field) bool {
	p := readPod(f)
	if p.Pod.Name == "" {
		o.problem(o.at, "bad-record", "a pod has no name")
		return false
	}
	o.emit(event.Stamp{}, p.Node, p)
	if p.Phase != "Succeeded" && p.Phase != "Failed" { // a finished pod owns no address
		o.annotatedIPs(f, p.Pod, p.Node)
	}
	return true
}

// readPod reads a Pod object, whole or as far as it goes.
func readPod(f field) *event.PodSeen {
	p := &event.PodSeen{
		Pod:           podRef(f),
		Node:          f.str("spec", "nodeName"),
		Created:       f.at("metadata", "creationTimestamp"),
		Deleted:       f.at("metadata", "deletionTimestamp"),
		HostNetwork:   f.isTrue("spec", "hostNetwork"),
		Phase:         f.str("status", "phase"),
		Reason:        f.str("status", "reason"),
		StartTime:     f.at("status", "startTime"),
		RestartPolicy: f.str("spec", "restartPolicy"),
		Owner:         controller(f),
		Mirror:        f.has("metadata", "annotations", "kubernetes.io/config.mirror"),
		HostIPs:       addresses(f, "hostIP", "hostIPs"),
		IPs:           addresses(f, "podIP", "podIPs"),
		Conditions:    conditions(f),
		Labels:        facts(f.get("metadata", "labels"), nil),
		Annotations:   facts(f.get("metadata", "annotations"), networkAnnotation),
	}
	if f.has("spec", "containers") {
		p.GracePeriod = 30 * time.Second // the API server's default
	}
	p.GracePeriod = f.seconds(int(p.GracePeriod/time.Second), "spec", "terminationGracePeriodSeconds")
	p.GracePeriod = f.seconds(int(p.GracePeriod/time.Second), "metadata", "deletionGracePeriodSeconds")
	for g := range f.each("spec", "readinessGates") {
		p.ReadinessGates = append(p.ReadinessGates, g.str("conditionType"))
	}
	for c := range f.each("spec", "containers") {
		p.Containers = append(p.Containers, readContainer(c))
		p.DownwardIP = downwardIP(p.DownwardIP, c)
	}
	for c := range f.each("spec", "initContainers") {
		spec := readContainer(c)
		spec.Init, spec.Sidecar = true, string(c.raw("restartPolicy")) == "Always"
		p.Containers = append(p.Containers, spec)
		p.DownwardIP = downwardIP(p.DownwardIP, c)
	}
	for _, list := range []string{"containerStatuses", "initContainerStatuses"} {
		for s := range f.each("status", list) {
			p.Statuses = append(p.Statuses, readStatus(s))
		}
	}
	return p
}

func podRef(f field) event.PodRef {
	return event.PodRef{
		Namespace: f.str("metadata", "namespace"),
		Name:      f.str("metadata", "name"),
		UID:       f.str("metadata", "uid"),
	}
}

func controller(f field) event.Owner {
	for o := range f.each("metadata", "ownerReferences") {
		if o.isTrue("controller") {
			return event.Owner{Kind: o.str("kind"), Name: o.str("name"), UID: o.str("uid")}
		}
	}
	return event.Owner{}
}

// addresses reads status.<one> and status.<many>[].ip without repeats.
func addresses(f field, one, many string) []netip.Addr {
	var list []netip.Addr
	if a, ok := f.addr("status", one); ok {
		list = append(list, a)
	}
	for e := range f.each("status", many) {
		if a, ok := e.addr("ip"); ok && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

func conditions(f field) []event.Condition {
	var list []event.Condition
	for c := range f.each("status", "conditions") {
		list = append(list, event.Condition{
			Type: c.str("type"), Status: c.str("status"), Reason: c.str("reason"),
			Message: c.cut(maxMessage, "message"), Since: c.at("lastTransitionTime"),
		})
	}
	return list
}

// facts returns the wanted entries of a mapping, sorted by key.
func facts(m field, want func(key []byte) bool) []event.Fact {
	var list []event.Fact
	for e := range m.each() {
		if want != nil && !want(e.node().key) || len(list) == maxLabels {
			continue
		}
		list = append(list, event.Fact{Key: e.key(), Value: e.cut(maxAnnotation)})
	}
	slices.SortFunc(list, func(a, b event.Fact) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// networkPrefixes begin the annotations that say something about the network, a
// mesh, or where the pod comes from.
var networkPrefixes = []string{
	"ambient.istio.io/", "cilium.io/", "cni.projectcalico.org/", "config.linkerd.io/", "consul.hashicorp.com/",
	"io.cilium", "istio.io/", "k8s.ovn.org/", "k8s.v1.cni.cncf.io/", "kubernetes.io/config.",
	"kubernetes.io/egress-bandwidth", "kubernetes.io/ingress-bandwidth", "kuma.io/", "linkerd.io/",
	"networking.gke.io/", "ovn.kubernetes.io/", "policy.cilium.io/", "proxy.istio.io/", "sidecar.istio.io/",
	"status.sidecar.istio.io/", "traffic.sidecar.istio.io/", "v1.multus-cni.io/", "viz.linkerd.io/",
	"vpc.amazonaws.com/",
}

func networkAnnotation(key []byte) bool {
	for _, p := range networkPrefixes {
		if len(key) >= len(p) && string(key[:len(p)]) == p {
			return true
		}
	}
	return false
}

// downwardIP adds the container's name if it takes an address of its pod or
// host from the Downward API: such a value never changes while it runs.
func downwardIP(list []string, c field) []string {
	for e := range c.each("env") {
		path := e.raw("valueFrom", "fieldRef", "fieldPath")
		if bytes.HasPrefix(path, []byte("status.podIP")) || bytes.HasPrefix(path, []byte("status.hostIP")) {
			return append(list, c.str("name"))
		}
	}
	return list
}

func readContainer(c field) event.ContainerSpec {
	spec := event.ContainerSpec{
		Name:       c.str("name"),
		Image:      c.str("image"),
		CPULimit:   c.str("resources", "limits", "cpu"),
		CPURequest: c.str("resources", "requests", "cpu"),
		MemLimit:   c.str("resources", "limits", "memory"),
	}
	for p := range c.each("ports") {
		port := event.Port{
			Name: p.str("name"), Number: p.num(0, "containerPort"), HostPort: p.num(0, "hostPort"), Protocol: p.str("protocol"),
		}
		if port.Protocol == "" {
			port.Protocol = "TCP"
		}
		spec.Ports = append(spec.Ports, port)
	}
	for _, k := range []struct {
		key string
		typ event.ProbeType
	}{{"readinessProbe", event.Readiness}, {"livenessProbe", event.Liveness}, {"startupProbe", event.Startup}} {
		if p := c.get(k.key); p.has() && p.node().kind == nodeMap {
			spec.Probes = append(spec.Probes, readProbe(p, k.typ, spec.Ports))
		}
	}
	return spec
}

// readProbe reads a probe and applies the API server's defaults, which objects
// from other places than the API server lack.
func readProbe(f field, typ event.ProbeType, ports []event.Port) event.ProbeSpec {
	p := event.ProbeSpec{
		Type:         typ,
		InitialDelay: f.seconds(0, "initialDelaySeconds"),
		Period:       orDefault(f.seconds(0, "periodSeconds"), 10*time.Second),
		Timeout:      orDefault(f.seconds(0, "timeoutSeconds"), time.Second),
		Success:      orDefault(f.num(0, "successThreshold"), 1),
		Failure:      orDefault(f.num(0, "failureThreshold"), 3),
	}
	var port field
	switch {
	case f.has("exec"):
		p.Handler = "exec"
		for a := range f.each("exec", "command") {
			p.Command = append(p.Command, a.cut(maxMessage))
		}
	case f.has("httpGet"):
		h := f.get("httpGet")
		p.Handler, p.Host, p.Path = "http", h.str("host"), h.str("path")
		p.Scheme = orDefault(strings.ToUpper(h.str("scheme")), "HTTP")
		p.Path = orDefault(p.Path, "/")
		for e := range h.each("httpHeaders") {
			p.Headers = append(p.Headers, event.Fact{Key: e.str("name"), Value: e.cut(maxMessage, "value")})
		}
		port = h.get("port")
	case f.has("tcpSocket"):
		p.Handler, p.Host = "tcp", f.str("tcpSocket", "host")
		port = f.get("tcpSocket", "port")
	case f.has("grpc"):
		p.Handler, p.Service = "grpc", f.str("grpc", "service")
		port = f.get("grpc", "port")
	}
	p.Port, p.PortName = resolvePort(port, ports)
	return p
}

// resolvePort follows the kubelet: a number, else the container's port of that
// name, else the name read as a number.
func resolvePort(f field, ports []event.Port) (number int, name string) {
	text := f.str()
	n, err := strconv.Atoi(text)
	if text == "" || (err == nil && !f.node().quoted) {
		return n, ""
	}
	for _, p := range ports {
		if p.Name == text {
			return p.Number, text
		}
	}
	return n, text
}

// orDefault returns v, or def where v is the zero value.
func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

func readStatus(f field) event.ContainerStatus {
	s := event.ContainerStatus{
		Name:         f.str("name"),
		ID:           stripScheme(f.raw("containerID")),
		Ready:        f.isTrue("ready"),
		Started:      f.isTrue("started"),
		RestartCount: f.num(0, "restartCount"),
		LastRun:      readRun(f.get("lastState", "terminated")),
	}
	switch st := f.get("state"); {
	case st.has("running"):
		s.State, s.StartedAt = "running", st.at("running", "startedAt")
	case st.has("terminated"):
		run := readRun(st.get("terminated"))
		s.State, s.Reason, s.Message = "terminated", run.Reason, run.Message
		s.StartedAt, s.FinishedAt, s.ExitCode = run.StartedAt, run.FinishedAt, run.ExitCode
	case st.has("waiting"):
		s.State, s.Reason, s.Message = "waiting", st.str("waiting", "reason"), st.cut(maxMessage, "waiting", "message")
	}
	return s
}

func readRun(f field) event.Run {
	return event.Run{
		ID:         stripScheme(f.raw("containerID")),
		StartedAt:  f.at("startedAt"),
		FinishedAt: f.at("finishedAt"),
		ExitCode:   f.num(0, "exitCode"),
		Signal:     f.num(0, "signal"),
		Reason:     f.str("reason"),
		Message:    f.cut(maxMessage, "message"),
	}
}
