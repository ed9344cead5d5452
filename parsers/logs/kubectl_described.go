package logs

import (
	"bytes"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// said returns the text behind a key; "<none>" and "<unset>" say nothing.
func said(f field, path ...string) []byte {
	g := f.get(path...)
	if !g.ok() {
		return nil
	}
	if t := g.node().text; len(t) > 0 && t[0] != '<' {
		return t
	}
	return nil
}

func saidStr(f field, path ...string) string { return clip(said(f, path...), maxAnnotation) }

// saidAt reads "Wed, 02 Dec 2026 05:48:27 +0000".
func saidAt(f field, path ...string) event.Nanos {
	t, err := time.Parse(time.RFC1123Z, string(said(f, path...)))
	if err != nil || t.Year() < firstYear || t.Year() > lastYear {
		return 0
	}
	return event.FromTime(t)
}

func describedPod(f field) *event.PodSeen {
	p := &event.PodSeen{
		Pod:     event.PodRef{Namespace: saidStr(f, "Namespace"), Name: saidStr(f, "Name")},
		Partial: true, Phase: saidStr(f, "Status"), Reason: saidStr(f, "Reason"),
		StartTime:   saidAt(f, "Start Time"),
		Labels:      describedPairs(f.get("Labels"), "=", nil),
		Annotations: describedPairs(f.get("Annotations"), ": ", networkAnnotation),
	}
	if phase, _, _ := strings.Cut(p.Phase, " (lasts"); phase == "Terminating" {
		p.Phase, p.Reason = "", phase
	}
	node, host, _ := strings.Cut(saidStr(f, "Node"), "/")
	p.Node = node
	if a, ok := ipAddr([]byte(host)); ok {
		p.HostIPs = []netip.Addr{a}
	}
	if a, ok := ipAddr(said(f, "IP")); ok {
		p.IPs = append(p.IPs, a)
	}
	for e := range f.each("IPs") {
		if a, ok := ipAddr(e.node().text); ok && !slices.Contains(p.IPs, a) {
			p.IPs = append(p.IPs, a)
		}
	}
	p.HostNetwork = len(p.IPs) > 0 && len(p.HostIPs) > 0 && p.IPs[0] == p.HostIPs[0]
	p.Owner.Kind, p.Owner.Name, _ = strings.Cut(saidStr(f, "Controlled By"), "/")
	p.GracePeriod, _ = time.ParseDuration(saidStr(f, "Termination Grace Period"))
	for _, list := range []string{"Containers", "Init Containers"} {
		for c := range f.each(list) {
			spec := describedContainer(c)
			spec.Init = list == "Init Containers"
			// Only a native sidecar among the init containers has probes.
			spec.Sidecar = spec.Init && len(spec.Probes) > 0
			p.Containers = append(p.Containers, spec)
			p.Statuses = append(p.Statuses, describedStatus(c))
			for e := range c.each("Environment") {
				if t := e.node().text; bytes.Contains(t, []byte(":status.podIP")) || bytes.Contains(t, []byte(":status.hostIP")) {
					p.DownwardIP = append(p.DownwardIP, spec.Name)
					break
				}
			}
		}
	}
	for c := range f.each("Conditions") {
		if w := strings.Fields(string(c.node().text)); len(w) == 2 && w[0] != "Type" {
			p.Conditions = append(p.Conditions, event.Condition{Type: w[0], Status: w[1]})
		}
	}
	return p
}

// describedPairs reads labels or annotations: the first stands behind the key,
// the others on the lines below.
func describedPairs(f field, sep string, want func([]byte) bool) []event.Fact {
	if !f.ok() {
		return nil
	}
	var list []event.Fact
	add := func(text []byte) {
		k, v, ok := bytes.Cut(text, []byte(sep))
		if ok && len(list) < maxLabels && (want == nil || want(k)) {
			list = append(list, event.Fact{Key: clip(k, maxAnnotation), Value: clip(bytes.TrimSpace(v), maxAnnotation)})
		}
	}
	add(f.node().text)
	for e := range f.each() {
		if n := e.node(); n.key != nil {
			add(slices.Concat(n.key, []byte(": "), n.text))
		} else {
			add(n.text)
		}
	}
	slices.SortFunc(list, func(a, b event.Fact) int { return strings.Compare(a.Key, b.Key) })
	return list
}

func describedContainer(c field) event.ContainerSpec {
	spec := event.ContainerSpec{
		Name: c.key(), Image: saidStr(c, "Image"),
		CPULimit: saidStr(c, "Limits", "cpu"), CPURequest: saidStr(c, "Requests", "cpu"), MemLimit: saidStr(c, "Limits", "memory"),
	}
	ports := orDefault(saidStr(c, "Port"), saidStr(c, "Ports"))
	hosts := strings.Split(orDefault(saidStr(c, "Host Port"), saidStr(c, "Host Ports")), ", ")
	for i, s := range strings.Split(ports, ", ") { // "8080/TCP", since 1.31 "8080/TCP (http)"
		s, name, _ := strings.Cut(s, " (")
		number, protocol, ok := strings.Cut(s, "/")
		n, err := strconv.Atoi(number)
		if !ok || err != nil {
			continue
		}
		p := event.Port{Name: strings.TrimSuffix(name, ")"), Number: n, Protocol: protocol}
		if i < len(hosts) {
			h, _, _ := strings.Cut(hosts[i], "/")
			p.HostPort, _ = strconv.Atoi(h)
		}
		spec.Ports = append(spec.Ports, p)
	}
	for _, k := range []struct {
		key string
		typ event.ProbeType
	}{{"Readiness", event.Readiness}, {"Liveness", event.Liveness}, {"Startup", event.Startup}} {
		if text := saidStr(c, k.key); text != "" {
			spec.Probes = append(spec.Probes, describedProbe(text, k.typ, spec.Ports))
		}
	}
	return spec
}

// describedProbe reads "http-get http://:8080/healthz delay=0s timeout=1s
// period=5s #success=1 #failure=3" and its like.
func describedProbe(text string, typ event.ProbeType, ports []event.Port) event.ProbeSpec {
	p := event.ProbeSpec{Type: typ}
	what, timing := text, ""
	if i := strings.LastIndex(text, " delay="); i >= 0 {
		what, timing = text[:i], text[i+1:]
	}
	for _, w := range strings.Fields(timing) {
		k, v, _ := strings.Cut(w, "=")
		d, _ := time.ParseDuration(v)
		n, _ := strconv.Atoi(v)
		switch k {
		case "delay":
			p.InitialDelay = d
		case "timeout":
			p.Timeout = d
		case "period":
			p.Period = d
		case "#success":
			p.Success = n
		case "#failure":
			p.Failure = n
		}
	}
	handler, target, _ := strings.Cut(what, " ")
	port := ""
	switch handler {
	case "exec":
		p.Handler = "exec"
		p.Command = strings.Fields(strings.TrimSuffix(strings.TrimPrefix(target, "["), "]"))
	case "http-get":
		p.Handler = "http"
		scheme, rest, _ := strings.Cut(target, "://")
		p.Scheme = strings.ToUpper(scheme)
		hostPort, path, _ := strings.Cut(rest, "/")
		if p.Path = "/" + path; strings.Contains(p.Path, "%") { // printed as a URL
			if s, err := url.PathUnescape(p.Path); err == nil {
				p.Path = s
			}
		}
		p.Host, port = cutPort(hostPort)
	case "tcp-socket":
		p.Handler = "tcp"
		p.Host, port = cutPort(target)
	case "grpc":
		p.Handler = "grpc"
		address, service, _ := strings.Cut(target, " ")
		p.Service = strings.TrimSpace(service)
		_, port = cutPort(address)
	}
	if n, err := strconv.Atoi(port); err == nil {
		p.Port = n
		return p
	}
	p.PortName = port
	for _, c := range ports {
		if c.Name == port && port != "" {
			p.Port = c.Number
		}
	}
	return p
}

// cutPort splits "host:port" at the last colon.
func cutPort(s string) (host, port string) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, ""
	}
	return strings.Trim(s[:i], "[]"), s[i+1:]
}

func describedStatus(c field) event.ContainerStatus {
	s := event.ContainerStatus{
		Name: c.key(), ID: stripScheme(said(c, "Container ID")), Ready: saidStr(c, "Ready") == "True",
		State:  strings.ToLower(saidStr(c, "State")),
		Reason: saidStr(c, "State", "Reason"), Message: clip(said(c, "State", "Message"), maxMessage),
		StartedAt: saidAt(c, "State", "Started"), FinishedAt: saidAt(c, "State", "Finished"),
	}
	s.ExitCode, _ = strconv.Atoi(saidStr(c, "State", "Exit Code"))
	s.RestartCount, _ = strconv.Atoi(saidStr(c, "Restart Count"))
	s.Started = s.State == "running" && s.Ready
	if saidStr(c, "Last State") == "Terminated" {
		last := c.get("Last State")
		s.LastRun = event.Run{
			StartedAt: saidAt(last, "Started"), FinishedAt: saidAt(last, "Finished"),
			Reason: saidStr(last, "Reason"), Message: clip(said(last, "Message"), maxMessage),
		}
		s.LastRun.ExitCode, _ = strconv.Atoi(saidStr(last, "Exit Code"))
		s.LastRun.Signal, _ = strconv.Atoi(saidStr(last, "Signal"))
	}
	return s
}

func describedNode(f field) *event.NodeSeen {
	info := f.get("System Info")
	n := &event.NodeSeen{
		Name: saidStr(f, "Name"), KubeletVersion: saidStr(info, "Kubelet Version"), Runtime: saidStr(info, "Container Runtime Version"),
		Kernel: saidStr(info, "Kernel Version"), OSImage: saidStr(info, "OS Image"), Unschedulable: saidStr(f, "Unschedulable") == "true",
	}
	for a := range f.each("Addresses") {
		if ip, ok := ipAddr(a.node().text); ok && !slices.Contains(n.Addresses, ip) {
			n.Addresses = append(n.Addresses, ip)
		}
	}
	for _, s := range strings.Split(orDefault(saidStr(f, "PodCIDRs"), saidStr(f, "PodCIDR")), ",") {
		if p, err := netip.ParsePrefix(s); err == nil {
			n.PodCIDRs = append(n.PodCIDRs, p)
		}
	}
	if t := saidStr(f, "Taints"); t != "" {
		n.Taints = append(n.Taints, t)
		for e := range f.each("Taints") {
			n.Taints = append(n.Taints, clip(e.node().text, maxAnnotation))
		}
	}
	var t textTable
	for l := range f.each("Conditions") {
		text := l.node().text
		if len(t.cols) == 0 {
			t.readTitles(text)
			continue
		}
		row, ok := t.row(text)
		if !ok || bytes.HasPrefix(text, []byte("----")) {
			continue
		}
		c := event.Condition{
			Type: row.str("Type"), Status: row.str("Status"), Reason: row.str("Reason"), Message: clip(row.raw("Message"), maxMessage),
		}
		if t, err := time.Parse(time.RFC1123Z, row.str("LastTransitionTime")); err == nil && t.Year() >= firstYear && t.Year() <= lastYear {
			c.Since = event.FromTime(t)
		}
		n.Conditions = append(n.Conditions, c)
	}
	for _, c := range n.Conditions {
		if name, ok := strings.CutSuffix(c.Reason, "IsUp"); ok && c.Type == "NetworkUnavailable" {
			n.CNI = strings.ToLower(name)
		}
	}
	return n
}
