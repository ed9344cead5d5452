package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// proxyContainers are the container names of known mesh proxies.
var proxyContainers = []string{"istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane", "envoy", "envoy-sidecar"}

// isProxy reports whether a container is a mesh's proxy, by its name.
func isProxy(container string) bool { return slices.Contains(proxyContainers, container) }

// rewritten reports whether a probe was rewritten to go through the proxy's
// agent: its path names the application's health check.
func rewritten(w *probe.Worker) bool { return strings.HasPrefix(w.Path, "/app-health/") }

// ambient tells whether the pods are in a mesh without sidecars, which sends
// probes on from an address of its own.
func (c *Case) ambient() Fact {
	for _, p := range c.Pods {
		for _, a := range slices.Concat(p.Annotations, p.Labels) {
			if strings.HasPrefix(a.Key, "ambient.istio.io/redirection") && a.Value == "enabled" || a.Key == "istio.io/dataplane-mode" && a.Value == "ambient" {
				return Fact{Claim: "The pod is in ambient mode: " + a.Key + "=" + a.Value + ".", Refs: cite(p.Snapshot), N: 1}
			}
		}
	}
	if m := c.Mesh(); strings.Contains(m.Claim, "dataplane-mode=ambient") {
		return m
	}
	return Fact{}
}

// proxyNotReady cites what says that a pod's proxy was not ready: its status, or
// its own probes failing in the window. It does not prove that the proxy caused
// anything.
func (c *Case) proxyNotReady() Fact {
	f := Fact{}
	for _, p := range c.Pods {
		for _, s := range p.Statuses {
			if isProxy(s.Name) && !s.Ready && s.State != "" {
				f.add("The proxy container "+s.Name+" is not ready in the pod's status.", p.Last, p.Snapshot)
			}
		}
		for _, w := range c.Probes.Workers {
			if w.Pod != p || !isProxy(w.Container) {
				continue
			}
			for _, a := range w.Attempts {
				if a.Failed() && a.End >= c.First && a.End <= c.Last && len(a.Refs) > 0 {
					f.add("The proxy's own probe fails in the same time.", a.End, a.Refs[0])
				}
			}
		}
	}
	return f
}

// proxyReady cites a status in which every proxy of the pods is ready.
func (c *Case) proxyReady() Fact {
	f := Fact{}
	for _, p := range c.Pods {
		for _, s := range p.Statuses {
			if !isProxy(s.Name) {
				continue
			}
			if !s.Ready {
				return Fact{}
			}
			f.add("The proxy container "+s.Name+" is ready in the pod's status.", p.Last, p.Snapshot)
		}
	}
	return f
}

// strictMTLS cites a policy that demands mutual TLS of a pod of the incident.
// It does not know ports that a policy excepts from it by number elsewhere.
func (c *Case) strictMTLS() Fact {
	f := Fact{}
	for _, o := range c.Index.Objects {
		if o.ObjectKind != "PeerAuthentication" || factValue(o.Facts, event.FactMTLSMode) != "STRICT" {
			continue
		}
		selector := factValue(o.Facts, event.FactPodSelector)
		for _, p := range c.Pods {
			// A policy without a selector in the mesh's root namespace holds everywhere.
			root := selector == "" && o.Namespace == "istio-system"
			if !root && (o.Namespace != p.Namespace || !selects(selector, p)) || c.exceptsPort(o.Facts) {
				continue
			}
			f.add("PeerAuthentication "+o.Namespace+"/"+o.Name+" demands mutual TLS (STRICT).", o.Created, o.Ref)
		}
	}
	return f
}

// exceptsPort reports whether a policy exempts the probed port.
func (c *Case) exceptsPort(facts []event.Fact) bool {
	for _, x := range facts {
		port, mode, ok := strings.Cut(x.Value, "=")
		if x.Key != event.FactPortMTLS || !ok || mode != "DISABLE" && mode != "PERMISSIVE" {
			continue
		}
		for _, s := range c.servers() {
			if port == strconv.Itoa(int(s.Port())) {
				return true
			}
		}
	}
	return false
}

func factValue(facts []event.Fact, key string) string {
	for _, f := range facts {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

// selects reports whether a printed label selector ("app=web,tier in (a,b)")
// selects the pod; the empty one selects all. Parts in a language that is not
// understood select nothing: a claim must not rest on a guess.
func selects(selector string, p *identity.Pod) bool {
	for _, part := range splitSelector(selector) {
		key, rest, op := part, "", "exists"
		if k, v, ok := strings.Cut(part, "="); ok && !strings.Contains(k, " ") {
			key, rest, op = k, v, "="
		} else if k, v, ok := strings.Cut(part, " "); ok {
			key = k
			op, rest, _ = strings.Cut(v, " ")
		} else if k, ok := strings.CutPrefix(part, "!"); ok {
			key, op = k, "absent"
		}
		i := slices.IndexFunc(p.Labels, func(l event.Fact) bool { return l.Key == key })
		value := ""
		if i >= 0 {
			value = p.Labels[i].Value
		}
		in := slices.Contains(strings.Split(strings.Trim(rest, "()"), ","), value)
		var ok bool
		switch op {
		case "=":
			ok = i >= 0 && value == rest
		case "in":
			ok = i >= 0 && in
		case "notin":
			ok = i < 0 || !in
		case "exists":
			ok = i >= 0
		case "absent":
			ok = i < 0
		}
		if !ok {
			return false
		}
	}
	return true
}

// splitSelector splits at the commas outside of parentheses.
func splitSelector(s string) []string {
	var out []string
	depth, start := 0, 0
	for i, r := range s {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	if rest := strings.TrimSpace(s[start:]); rest != "" {
		out = append(out, rest)
	}
	return out
}
