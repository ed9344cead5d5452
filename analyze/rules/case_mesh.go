package rules

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

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
			if strings.HasPrefix(a.Key, "ambient.istio.io/redirection") && a.Value == "enabled" || a.Key == event.FactMeshMode && a.Value == "ambient" {
				return Fact{Claim: "The pod is in ambient mode: " + a.Key + "=" + a.Value + ".", Refs: cite(p.Snapshot), N: 1}
			}
		}
	}
	for o, mode := range c.meshModes() {
		if mode == "ambient" {
			f := enrolment(o, mode)
			f.At = o.At
			return f
		}
	}
	return Fact{}
}

// meshModes yields what is recorded of the namespaces of the incident's pods and
// bears the label of a mesh, with its value, in the order of the records.
func (c *Case) meshModes() iter.Seq2[*identity.Object, string] {
	return func(yield func(*identity.Object, string) bool) {
		for i := range c.Index.Objects {
			o := &c.Index.Objects[i]
			if o.ObjectKind != "Namespace" || !slices.ContainsFunc(c.Pods, func(p *identity.Pod) bool { return p.Namespace == o.Name }) {
				continue
			}
			for _, f := range o.Facts {
				if f.Key == event.FactMeshMode && !yield(o, f.Value) {
					return
				}
			}
		}
	}
}

func enrolment(o *identity.Object, mode string) Fact {
	return Fact{Claim: "The namespace is enrolled in a mesh: " + event.FactMeshMode + "=" + mode + ".", Refs: cite(o.Ref), N: 1}
}

// proxyNotReady cites what says that a proxy of the incident's pods was not ready
// during the failures: its own probe, or its status where the failures go on to
// the end of the data.
func (c *Case) proxyNotReady() Fact {
	f := Fact{}
	for _, w := range c.Probes.Workers {
		if !slices.Contains(c.Pods, w.Pod) || !isProxy(w.Container) || w.Type == event.Liveness {
			continue
		}
		for _, a := range w.Attempts {
			if a.Failed() && a.End >= c.First.Add(-time.Minute) && a.End <= c.Last.Add(time.Minute) && len(a.Refs) > 0 {
				f.add("The proxy's own "+w.Type.String()+" probe fails at the same time.", a.End, a.Refs[0])
			}
		}
	}
	if f.OK() || c.Recovered != 0 {
		return f
	}
	return c.proxyStatus(false, "is not ready in the pod's status.")
}

// proxyReady cites what says that the proxies were ready during the failures: a
// success of their own probe, or their status where the failures go on to the
// end of the data.
func (c *Case) proxyReady() Fact {
	f := Fact{}
	for _, w := range c.Probes.Workers {
		if !slices.Contains(c.Pods, w.Pod) || !isProxy(w.Container) || w.Type == event.Liveness {
			continue
		}
		for _, a := range w.Attempts {
			if a.Outcome == event.OutcomeSucceeded && a.End >= c.First && a.End <= c.Last && len(a.Refs) > 0 {
				f.add("The proxy's own "+w.Type.String()+" probe passes meanwhile.", a.End, a.Refs[0])
			}
		}
	}
	if f.OK() || c.Recovered != 0 {
		return f
	}
	return c.proxyStatus(true, "is ready in the pod's status.")
}

// proxyStatus cites snapshots in which a proxy's readiness is the wanted one.
func (c *Case) proxyStatus(ready bool, claim string) Fact {
	f := Fact{}
	for _, p := range c.Pods {
		for _, s := range p.Statuses {
			if isProxy(s.Name) && s.Ready == ready && s.State != "" {
				f.add("The proxy container "+s.Name+" "+claim, p.Last, p.Snapshot)
			}
		}
	}
	return f
}

// proxyLog cites lines of a proxy's log with one of the codes.
func (c *Case) proxyLog(claim string, codes ...string) Fact {
	f := Fact{}
	for _, p := range c.Pods {
		for _, l := range p.AppLogs {
			if slices.Contains(codes, l.Code) && (l.Container == "" || isProxy(l.Container)) {
				f.add(claim+": "+oneLine(l.Text), l.At, l.Ref)
			}
		}
	}
	return f
}

// rootNamespace is where a PeerAuthentication without a selector holds for the
// whole mesh.
const rootNamespace = "istio-system"

// strictMTLS cites the PeerAuthentication that demands mutual TLS on a probed
// port: the narrowest one decides, and it may except a port.
func (c *Case) strictMTLS() Fact {
	for _, m := range c.Members {
		var best *identity.Object
		scope := -1
		for i := range c.Index.Objects {
			o := &c.Index.Objects[i]
			if s := peerScope(o, m.Worker.Pod); s > scope {
				best, scope = o, s
			}
		}
		if best != nil && demandsTLS(best, m.Worker.Port) {
			return Fact{Claim: "PeerAuthentication " + best.Namespace + "/" + best.Name + " demands mutual TLS (STRICT).", At: best.Created, Refs: cite(best.Ref), N: 1}
		}
	}
	return Fact{}
}

// peerScope is how narrowly a PeerAuthentication selects a pod: 2 by labels, 1 by
// namespace, 0 as the mesh's default, -1 not at all.
func peerScope(o *identity.Object, p *identity.Pod) int {
	if o.ObjectKind != "PeerAuthentication" {
		return -1
	}
	selector := factValue(o.Facts, event.FactPodSelector)
	switch {
	case o.Namespace == p.Namespace && selector == "":
		return 1
	case o.Namespace == p.Namespace && selects(selector, p):
		return 2
	case o.Namespace == rootNamespace && selector == "":
		return 0
	}
	return -1
}

// demandsTLS reports whether a PeerAuthentication demands TLS on the port.
func demandsTLS(o *identity.Object, port int) bool {
	mode := factValue(o.Facts, event.FactMTLSMode)
	for _, f := range o.Facts {
		if n, m, ok := strings.Cut(f.Value, "="); ok && f.Key == event.FactPortMTLS && n == strconv.Itoa(port) {
			mode = m
		}
	}
	return mode == "STRICT"
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
