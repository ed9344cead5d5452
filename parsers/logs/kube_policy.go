package logs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// object starts the snapshot of an object that is neither pod, node nor event.
func (f field) object(kind string) *event.ObjectSeen {
	return &event.ObjectSeen{
		ObjectKind: kind,
		Namespace:  f.str("metadata", "namespace"),
		Name:       f.str("metadata", "name"),
		UID:        f.str("metadata", "uid"),
		Created:    f.at("metadata", "creationTimestamp"),
	}
}

// factList collects facts of an object.
type factList []event.Fact

func (l *factList) add(key, value string) {
	if len(*l) < 256 {
		*l = append(*l, event.Fact{Key: key, Value: clip([]byte(value), maxAnnotation)})
	}
}

// some adds a fact unless its value is empty.
func (l *factList) some(key, value string) {
	if value != "" {
		l.add(key, value)
	}
}

func (l *factList) join(key string, values []string) { l.some(key, strings.Join(values, ",")) }

// seen hands over an object with its facts in order.
func (o *objectStream) seen(s *event.ObjectSeen, facts factList) bool {
	slices.SortStableFunc(facts, func(a, b event.Fact) int { return strings.Compare(a.Key, b.Key) })
	s.Facts = facts
	o.emit(event.Stamp{}, "", s)
	return true
}

// selectorText writes a label selector in the form that kubectl takes.
func selectorText(f field) string {
	var parts []string
	for e := range f.each("matchLabels") {
		parts = append(parts, e.key()+"="+e.str())
	}
	for e := range f.each("matchExpressions") {
		var values []string
		for v := range e.each("values") {
			values = append(values, v.str())
		}
		key := e.str("key")
		switch op := e.str("operator"); op {
		case "Exists":
			parts = append(parts, key)
		case "DoesNotExist":
			parts = append(parts, "!"+key)
		default:
			parts = append(parts, key+" "+strings.ToLower(op)+" ("+strings.Join(values, ",")+")")
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// networkPolicy reads NetworkPolicy of networking.k8s.io, and of Calico, which
// has the same kind with selectors in a language of its own.
func (o *objectStream) networkPolicy(f field) bool {
	if strings.Contains(f.str("apiVersion"), "projectcalico.org") {
		return o.calicoPolicy(f)
	}
	var facts factList
	facts.add(event.FactPodSelector, selectorText(f.get("spec", "podSelector")))
	var types []string
	for t := range f.each("spec", "policyTypes") {
		types = append(types, t.str())
	}
	if types == nil { // the API server's default
		types = append(types, "Ingress")
		if f.has("spec", "egress") {
			types = append(types, "Egress")
		}
	}
	facts.join(event.FactPolicyTypes, types)
	var in ruleSum
	for r := range f.each("spec", "ingress") {
		in.rules++
		if !in.peers(r.get("from"), "podSelector", "namespaceSelector") {
			in.any = true
		}
		if !in.ports(r.get("ports"), "port", "endPort") {
			in.anyPort = true
		}
	}
	if slices.Contains(types, "Ingress") {
		in.report(&facts)
	}
	if slices.Contains(types, "Egress") {
		n := 0
		for range f.each("spec", "egress") {
			n++
		}
		facts.add(event.FactEgressRules, strconv.Itoa(n))
	}
	return o.seen(f.object("NetworkPolicy"), facts)
}

// ruleSum sums up the ingress rules of a policy.
type ruleSum struct {
	rules, deny                        int
	any, anyPort                       bool
	cidrs, excepts, portList, peerList []string
}

func (s *ruleSum) report(facts *factList) {
	facts.add(event.FactIngressRules, strconv.Itoa(s.rules))
	if s.deny > 0 {
		facts.add(event.FactIngressDeny, strconv.Itoa(s.deny))
	}
	if s.any {
		facts.add(event.FactIngressAny, "true")
	}
	facts.join(event.FactIngressCIDRs, s.cidrs)
	facts.join(event.FactIngressExcept, s.excepts)
	if !s.anyPort {
		facts.join(event.FactIngressPorts, s.portList)
	}
	for _, p := range s.peerList {
		facts.add(event.FactIngressPeers, p)
	}
}

// peers adds the sources of one rule and reports whether it names any: a rule
// that names none admits all.
func (s *ruleSum) peers(from field, pods, namespaces string) bool {
	found := false
	for p := range from.each() {
		found = true
		if c := p.str("ipBlock", "cidr"); c != "" {
			s.cidrs = append(s.cidrs, c)
			for e := range p.each("ipBlock", "except") {
				s.excepts = append(s.excepts, e.str())
			}
			continue
		}
		var text []string
		if n := p.get(namespaces); n.ok() {
			text = append(text, "namespaces("+selectorText(n)+")")
		}
		if n := p.get(pods); n.ok() {
			text = append(text, "pods("+selectorText(n)+")")
		}
		s.peerList = append(s.peerList, strings.Join(text, " "))
	}
	return found
}

func (s *ruleSum) ports(list field, port, end string) bool {
	found := false
	for p := range list.each() {
		found = true
		text := orDefault(p.str(port), "*")
		if e := p.str(end); e != "" {
			text += "-" + e
		}
		s.portList = append(s.portList, text+"/"+orDefault(p.str("protocol"), "TCP"))
	}
	return found
}

// calicoPolicy reads Calico's NetworkPolicy and GlobalNetworkPolicy.
func (o *objectStream) calicoPolicy(f field) bool {
	var facts factList
	facts.add(event.FactPodSelector, f.str("spec", "selector"))
	facts.some(event.FactOrder, f.str("spec", "order"))
	var types []string
	for t := range f.each("spec", "types") {
		types = append(types, t.str())
	}
	if types == nil && !f.has("spec", "egress") {
		types = append(types, "Ingress")
	}
	facts.join(event.FactPolicyTypes, types)
	var in ruleSum
	for r := range f.each("spec", "ingress") {
		in.rules++
		if r.str("action") == "Deny" {
			in.deny++
			continue
		}
		source := r.get("source")
		named := false
		for n := range source.each("nets") {
			named = true
			in.cidrs = append(in.cidrs, n.str())
		}
		for n := range source.each("notNets") {
			in.excepts = append(in.excepts, n.str())
		}
		for _, k := range []string{"namespaceSelector", "selector"} {
			if v := source.str(k); v != "" {
				named = true
				in.peerList = append(in.peerList, v)
			}
		}
		in.any = in.any || !named
		protocol := orDefault(strings.ToUpper(r.str("protocol")), "TCP")
		ported := false
		for p := range r.each("destination", "ports") {
			ported = true
			in.portList = append(in.portList, strings.ReplaceAll(p.str(), ":", "-")+"/"+protocol)
		}
		in.anyPort = in.anyPort || !ported
	}
	if slices.Contains(types, "Ingress") || in.rules > 0 {
		in.report(&facts)
	}
	return o.seen(f.object(orDefault(f.str("kind"), "NetworkPolicy")), facts)
}

// ciliumPolicy reads CiliumNetworkPolicy and CiliumClusterwideNetworkPolicy,
// with one rule set or several.
func (o *objectStream) ciliumPolicy(f field) bool {
	var facts factList
	specs := []field{f.get("spec")}
	for s := range f.each("specs") {
		specs = append(specs, s)
	}
	var in ruleSum
	isolates := false
	for _, s := range specs {
		if !s.has() {
			continue
		}
		facts.add(event.FactPodSelector, selectorText(s.get("endpointSelector")))
		for r := range s.each("ingress") {
			isolates = true
			in.rules++
			named := false
			for _, k := range []string{"fromCIDR", "fromEntities"} {
				for c := range r.each(k) {
					named = true
					if k == "fromCIDR" {
						in.cidrs = append(in.cidrs, c.str())
					} else {
						in.peerList = append(in.peerList, c.str())
					}
				}
			}
			for c := range r.each("fromCIDRSet") {
				named = true
				in.cidrs = append(in.cidrs, c.str("cidr"))
				for e := range c.each("except") {
					in.excepts = append(in.excepts, e.str())
				}
			}
			for e := range r.each("fromEndpoints") {
				named = true
				in.peerList = append(in.peerList, "pods("+selectorText(e)+")")
			}
			in.any = in.any || !named
			ported := false
			for t := range r.each("toPorts") {
				ported = in.ports(t.get("ports"), "port", "endPort") || ported
			}
			in.anyPort = in.anyPort || !ported
		}
		for range s.each("ingressDeny") {
			isolates = true
			in.deny++
		}
	}
	if isolates {
		facts.add(event.FactPolicyTypes, "Ingress")
		in.report(&facts)
	}
	return o.seen(f.object(orDefault(f.str("kind"), "CiliumNetworkPolicy")), facts)
}

// adminPolicy reads AdminNetworkPolicy and BaselineAdminNetworkPolicy, whose
// rules have actions and an order.
func (o *objectStream) adminPolicy(f field) bool {
	var facts factList
	subject := f.get("spec", "subject")
	if p := subject.get("pods"); p.ok() {
		facts.add(event.FactPodSelector, selectorText(p.get("podSelector")))
	}
	facts.some(event.FactOrder, f.str("spec", "priority"))
	var in ruleSum
	for r := range f.each("spec", "ingress") {
		in.rules++
		if r.str("action") == "Deny" {
			in.deny++
		}
	}
	if in.rules > 0 {
		facts.add(event.FactPolicyTypes, "Ingress")
		facts.add(event.FactIngressRules, strconv.Itoa(in.rules))
		facts.add(event.FactIngressDeny, strconv.Itoa(in.deny))
	}
	return o.seen(f.object(f.str("kind")), facts)
}

// peerAuthentication reads Istio's mutual TLS settings: STRICT makes plaintext
// probes of the node fail unless they are rewritten.
func (o *objectStream) peerAuthentication(f field) bool {
	var facts factList
	facts.some(event.FactMTLSMode, f.str("spec", "mtls", "mode"))
	if s := f.get("spec", "selector"); s.has() {
		facts.add(event.FactPodSelector, selectorText(s))
	}
	for p := range f.each("spec", "portLevelMtls") {
		facts.add(event.FactPortMTLS, p.key()+"="+p.str("mode"))
	}
	return o.seen(f.object("PeerAuthentication"), facts)
}
