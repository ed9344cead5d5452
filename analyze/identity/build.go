package identity

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Builder collects facts in any order and builds the index once.
type Builder struct {
	byUID   map[string]*Pod
	named   map[string][]fact // facts that carry a name but no UID
	nodes   map[string]*Node
	x       Index
	seen    map[seenKey]bool
	ids     map[string]idKind
	sbPod   map[string]event.PodRef // sandbox id → pod, from the runtime
	orphans []fact                  // facts that carry a sandbox or container id only
	ips     map[*Pod][]ipFact
}

type idKind uint8

const (
	idSandbox idKind = iota + 1
	idContainer
)

// fact is something about a pod that is applied once the pod is known.
type fact struct {
	at    event.Nanos
	ref   event.Ref
	apply func(*Pod)
	add   bool // a SyncLoop ADD: the start of an incarnation
	end   bool // DELETE or REMOVE: the end of one
	id    string
}

type ipFact struct {
	at   event.Nanos
	ref  event.Ref
	p    *event.PodIP
	rank float64
}

// seenKey tells copies of one record in several streams apart from two records.
type seenKey struct {
	at   event.Nanos
	pid  int32
	kind event.Kind
	text string
}

// NewBuilder returns an empty builder.
func NewBuilder() *Builder {
	return &Builder{
		byUID: make(map[string]*Pod), named: make(map[string][]fact), nodes: make(map[string]*Node),
		seen: make(map[seenKey]bool), ids: make(map[string]idKind), sbPod: make(map[string]event.PodRef),
		ips: make(map[*Pod][]ipFact),
	}
}

// Add takes one event; at is its resolved time, zero unknown.
func (b *Builder) Add(e *event.Event, at event.Nanos) {
	if at != 0 {
		if b.x.First == 0 || at < b.x.First {
			b.x.First = at
		}
		b.x.Last = max(b.x.Last, at)
	}
	b.kubelet(e, at)
	switch p := e.Payload.(type) {
	case *event.PodSeen:
		b.podSeen(p, e.Ref, at)
	case *event.NodeSeen:
		n := b.node(p.Name)
		if n.Seen == nil {
			n.Seen, n.SeenRef, n.Addresses, n.PodCIDRs = p, e.Ref, p.Addresses, p.PodCIDRs
		}
	case *event.NodeState:
		if b.repeat(e, at, p.Code+p.Message+p.Value) {
			return
		}
		n := b.node(e.Node)
		n.States = append(n.States, NodeState{At: at, NodeState: p, Ref: e.Ref, PID: e.PID})
	case *event.PodSync:
		if b.repeat(e, at, p.Op.String()+p.Pod.String()+p.Pod.UID) {
			return
		}
		b.to(p.Pod, fact{at: at, ref: e.Ref, add: p.Op == event.SyncAdd, end: p.Op == event.SyncDelete || p.Op == event.SyncRemove, apply: func(pod *Pod) { pod.sync(p, at, e.Ref, e.Node) }}, e.Node)
	case *event.ProbeState:
		if b.repeat(e, at, p.Probe.String()+p.Status+p.Pod.String()) {
			return
		}
		ref := e.Ref
		b.to(p.Pod, fact{at: at, ref: ref, apply: func(pod *Pod) {
			pod.Ready = append(pod.Ready, ReadyChange{At: at, Probe: p.Probe, Status: p.Status, Ref: ref})
		}}, e.Node)
	case *event.ProbeResult:
		b.to(p.Pod, fact{at: at, ref: e.Ref, apply: func(*Pod) {}}, e.Node)
	case *event.SandboxChange:
		if b.repeat(e, at, p.Op.String()+p.SandboxID+p.Pod.String()+p.Message) {
			return
		}
		if p.SandboxID != "" {
			b.ids[p.SandboxID] = idSandbox
			if p.Pod.Name != "" {
				b.sbPod[p.SandboxID] = p.Pod
			}
		}
		ref := e.Ref
		f := fact{at: at, ref: ref, id: p.SandboxID, apply: func(pod *Pod) {
			pod.SandboxSteps = append(pod.SandboxSteps, SandboxStep{At: at, SandboxChange: p, Ref: ref})
		}}
		b.to(p.Pod, f, e.Node)
	case *event.ContainerState:
		if b.repeat(e, at, p.Op.String()+p.ID+p.Container+p.Pod.String()+p.Message) {
			return
		}
		if p.ID != "" && !p.IDMayBeSandbox {
			b.ids[p.ID] = idContainer
		}
		if p.SandboxID != "" {
			b.ids[p.SandboxID] = idSandbox
		}
		ref := e.Ref
		f := fact{at: at, ref: ref, id: cmp.Or(p.SandboxID, p.ID), apply: func(pod *Pod) {
			pod.Steps = append(pod.Steps, ContainerStep{At: at, ContainerState: p, Ref: ref})
		}}
		b.to(p.Pod, f, e.Node)
	case *event.K8sEvent:
		b.k8sEvent(p, e, at)
	case *event.PodIP:
		if b.repeat(e, at, p.Via+p.Pod.String()+p.SandboxID+joinIPs(p.IPs)+p.Fact.String()) {
			return
		}
		ref := e.Ref
		if p.Via == "audit" || p.Via == "status-patch" {
			q := *p
			q.IPs = firstOfEachFamily(p.IPs)
			p = &q
		}
		f := fact{at: at, ref: ref, id: p.SandboxID, apply: func(pod *Pod) {
			b.ips[pod] = append(b.ips[pod], ipFact{at: at, ref: ref, p: p, rank: trust(p.Via)})
		}}
		b.to(p.Pod, f, e.Node)
	case *event.AppLog:
		ref := e.Ref
		b.to(p.Pod, fact{at: at, ref: ref, apply: func(pod *Pod) {
			pod.AppLogs = append(pod.AppLogs, AppLog{At: at, AppLog: p, Ref: ref})
		}}, "")
	case *event.ObjectSeen:
		b.x.Objects = append(b.x.Objects, Object{ObjectSeen: p, At: at, Ref: e.Ref})
	case *event.HostFact:
		b.x.Facts = append(b.x.Facts, HostFact{Node: e.Node, HostFact: p, Ref: e.Ref})
	}
}

// repeat reports whether the same record was met in another stream before: the
// same kubelet line often stands in the journal, in its binary file and in a
// collector's copy.
func (b *Builder) repeat(e *event.Event, at event.Nanos, text string) bool {
	if at == 0 {
		return false
	}
	k := seenKey{at: at / 1000, pid: e.PID, kind: e.Payload.Kind(), text: text}
	if b.seen[k] {
		return true
	}
	b.seen[k] = true
	return false
}

func (b *Builder) node(name string) *Node {
	n := b.nodes[name]
	if n == nil {
		n = &Node{Name: name}
		b.nodes[name] = n
	}
	return n
}

// to applies a fact to its pod now, or keeps it until the pod is known.
func (b *Builder) to(ref event.PodRef, f fact, node string) {
	switch {
	case ref.UID != "":
		p := b.pod(ref)
		if p.Node == "" && node != "" {
			p.Node = node
		}
		p.touch(f.at)
		f.apply(p)
	case ref.Name != "":
		g := f
		g.apply = func(p *Pod) {
			if p.Node == "" && node != "" {
				p.Node = node
			}
			p.touch(g.at)
			f.apply(p)
		}
		b.named[ref.String()] = append(b.named[ref.String()], g)
	case f.id != "":
		b.orphans = append(b.orphans, f)
	}
}

func (b *Builder) pod(ref event.PodRef) *Pod {
	p := b.byUID[ref.UID]
	if p == nil {
		p = &Pod{PodRef: ref}
		b.byUID[ref.UID] = p
	}
	if p.Name == "" {
		p.Namespace, p.Name = ref.Namespace, ref.Name
	}
	return p
}

func (p *Pod) touch(at event.Nanos) {
	if at == 0 {
		return
	}
	if p.First == 0 || at < p.First {
		p.First = at
	}
	p.Last = max(p.Last, at)
}

func (p *Pod) sync(s *event.PodSync, at event.Nanos, ref event.Ref, node string) {
	switch s.Op {
	case event.SyncDelete:
		if p.DeletedAt == 0 || at < p.DeletedAt {
			p.DeletedAt, p.DeletedRef = at, ref
		}
	case event.SyncRemove:
		if p.RemovedAt == 0 || at > p.RemovedAt {
			p.RemovedAt, p.RemovedRef = at, ref
		}
	}
}

func (b *Builder) podSeen(s *event.PodSeen, ref event.Ref, at event.Nanos) {
	merge := func(p *Pod) {
		p.merge(s, ref)
		p.listed = p.listed || !s.Partial && at == 0
		for _, st := range s.Statuses {
			for _, id := range [...]string{st.ID, st.LastRun.ID} {
				if id != "" {
					b.ids[id] = idContainer
				}
			}
		}
		if len(s.IPs) > 0 {
			b.ips[p] = append(b.ips[p], ipFact{at: at, ref: ref, rank: trust("status"),
				p: &event.PodIP{IPs: firstOfEachFamily(s.IPs), Fact: event.IPObserved, Via: "status"}})
		}
	}
	if s.Pod.UID != "" {
		p := b.pod(s.Pod)
		p.touch(s.Created)
		merge(p)
		return
	}
	b.named[s.Pod.String()] = append(b.named[s.Pod.String()], fact{at: at, ref: ref, apply: merge})
}

// merge takes what a snapshot says; a whole object wins over a partial one.
func (p *Pod) merge(s *event.PodSeen, ref event.Ref) {
	if p.Node == "" || s.Node != "" {
		p.Node = cmp.Or(s.Node, p.Node)
	}
	if s.Owner.Kind != "" {
		p.Owner = s.Owner
	}
	p.HostNetwork = p.HostNetwork || s.HostNetwork
	p.Mirror = p.Mirror || s.Mirror
	p.Phase, p.Reason = cmp.Or(s.Phase, p.Phase), cmp.Or(s.Reason, p.Reason)
	if s.Created != 0 {
		p.Created = s.Created
	}
	if s.Deleted != 0 {
		at := s.Deleted.Add(-s.GracePeriod)
		if p.DeletedAt == 0 || at < p.DeletedAt {
			p.DeletedAt, p.DeletedRef = at, ref
		}
	}
	if len(s.Containers) > 0 && (len(p.Containers) == 0 || !s.Partial) {
		p.Containers = s.Containers
	}
	if len(s.Statuses) > 0 && (len(p.Statuses) == 0 || restarts(s.Statuses) >= restarts(p.Statuses)) {
		p.Statuses = s.Statuses
	}
	if len(s.Conditions) > 0 {
		p.Conditions = s.Conditions
		p.readyCondition(s, ref)
	}
	if len(s.Labels) > 0 {
		p.Labels = s.Labels
	}
	if len(s.Annotations) > 0 {
		p.Annotations = s.Annotations
	}
	if len(s.DownwardIP) > 0 {
		p.DownwardIP = s.DownwardIP
	}
	if len(s.HostIPs) > 0 {
		p.HostIPs = s.HostIPs
	}
	if len(s.IPs) > 0 {
		p.StatusIPs = s.IPs
	}
	if p.Snapshot.IsZero() || !s.Partial {
		p.Snapshot = ref
	}
}

func restarts(ss []event.ContainerStatus) int {
	n := 0
	for _, s := range ss {
		n += s.RestartCount
	}
	return n
}

func (b *Builder) k8sEvent(p *event.K8sEvent, e *event.Event, at event.Nanos) {
	if p.ObjectKind == "Node" {
		if code := nodeEventCode(p); code != "" {
			n := b.node(cmp.Or(p.Name, e.Node))
			n.States = append(n.States, NodeState{At: at, Ref: e.Ref, NodeState: &event.NodeState{Code: code, Message: p.Message}})
		}
		return
	}
	if p.ObjectKind != "Pod" {
		return
	}
	if p.FromLog && b.repeat(e, at, p.Reason+p.Name+p.Message) {
		return
	}
	ref := event.PodRef{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
	evRef := e.Ref
	f := fact{at: at, ref: evRef, apply: func(pod *Pod) {
		pod.Events = append(pod.Events, PodEvent{At: at, K8sEvent: p, Ref: evRef})
	}}
	b.to(ref, f, cmp.Or(p.Host, e.Node))
}

func nodeEventCode(e *event.K8sEvent) string {
	switch e.Reason {
	case "Starting":
		// kube-proxy says so of itself as well.
		if e.Component == "kubelet" || strings.HasPrefix(e.Message, "Starting kubelet") {
			return event.NodeKubeletStarted
		}
	case "NodeNotReady":
		return event.NodeNotReady
	case "NodeReady":
		return event.NodeReady
	case "Rebooted":
		return event.NodeReboot
	case "SystemOOM", "OOMKilling":
		return event.NodeOOM
	}
	return ""
}

// trust ranks sources of "this pod owned this IP then", TAXONOMY D.3.
func trust(via string) float64 {
	switch via {
	case "cri", "cni-result":
		return 1.0
	case "kubelet-ip", "kubelet-hosts", "status-patch", "packets":
		return 0.95
	case "ipam", "audit":
		return 0.9
	case "status", "annotation", "event", "describe", "table":
		return 0.85
	case "endpointslice":
		return 0.6
	case "probe-output":
		return 0.5
	default:
		return 0.5
	}
}

// firstOfEachFamily drops stale entries: after a sandbox change status.podIPs may
// hold old addresses behind the new ones.
func firstOfEachFamily(ips []netip.Addr) []netip.Addr {
	var out []netip.Addr
	var v4, v6 bool
	for _, ip := range ips {
		if ip = ip.Unmap(); ip.Is4() && !v4 {
			v4 = true
			out = append(out, ip)
		} else if ip.Is6() && !v6 {
			v6 = true
			out = append(out, ip)
		}
	}
	return out
}

func joinIPs(ips []netip.Addr) string {
	var s strings.Builder
	for _, ip := range ips {
		s.WriteString(ip.String())
		s.WriteByte(' ')
	}
	return s.String()
}

// Build resolves what was kept back and returns the index. collected is when
// the bundle was taken, zero unknown.
func (b *Builder) Build(collected event.Nanos) *Index {
	b.resolveNamed()
	b.resolveOrphans()
	for _, p := range b.byUID {
		b.x.Pods = append(b.x.Pods, p)
	}
	x := &b.x
	x.CollectedAt = collected
	slices.SortFunc(x.Pods, func(p, q *Pod) int {
		return cmp.Or(strings.Compare(p.Namespace, q.Namespace), strings.Compare(p.Name, q.Name),
			cmp.Compare(p.First, q.First), strings.Compare(p.UID, q.UID))
	})
	x.byUID, x.byName, x.byIP = make(map[string]*Pod), make(map[string][]*Pod), make(map[netip.Addr][]*Pod)
	for _, p := range x.Pods {
		if p.UID != "" {
			x.byUID[p.UID] = p
		}
		x.byName[p.String()] = append(x.byName[p.String()], p)
		b.finish(p)
		for i := range p.Intervals {
			if ip := p.Intervals[i].IP; !slices.Contains(x.byIP[ip], p) {
				x.byIP[ip] = append(x.byIP[ip], p)
			}
		}
	}
	b.finishNodes()
	x.share()
	return x
}

// share notes the addresses of nodes: those of their objects, and those that pods
// name as their host's.
func (x *Index) share() {
	x.shared = make(map[netip.Addr]bool)
	for _, n := range x.Nodes {
		for _, ip := range n.Addresses {
			x.shared[ip.Unmap()] = true
		}
	}
	for _, p := range x.Pods {
		for _, ip := range p.NodeIPs() {
			x.shared[ip.Unmap()] = true
		}
	}
}

// NodeIPs are the addresses that the pod's object gives its node: hostIPs, and
// the pod's own where it is on the host network.
func (p *Pod) NodeIPs() []netip.Addr {
	if p.HostNetwork {
		return slices.Concat(p.HostIPs, p.StatusIPs)
	}
	return p.HostIPs
}

// resolveNamed gives facts that carry only a name to the incarnation that bore
// it then.
func (b *Builder) resolveNamed() {
	byName := make(map[string][]*Pod)
	for _, p := range b.byUID {
		byName[p.String()] = append(byName[p.String()], p)
	}
	for _, name := range sortedKeys(b.named) {
		facts := b.named[name]
		pods := byName[name]
		if len(pods) == 0 {
			ns, n, _ := strings.Cut(name, "/")
			p := &Pod{PodRef: event.PodRef{Namespace: ns, Name: n}}
			b.byUID["name:"+name] = p
			pods = []*Pod{p}
		}
		slices.SortFunc(pods, func(p, q *Pod) int {
			return cmp.Or(cmp.Compare(start(p), start(q)), strings.Compare(p.UID, q.UID))
		})
		slices.SortStableFunc(facts, func(f, g fact) int { return cmp.Or(cmp.Compare(f.at, g.at), f.ref.Compare(g.ref)) })
		starts := incarnations(pods, facts)
		for _, f := range facts {
			i := len(pods) - 1
			// The API's creation time has whole seconds, cut off: an end in that second is
			// that of the pod before.
			slack := event.Nanos(0)
			if f.end {
				slack = event.Nanos(time.Second)
			}
			for f.at != 0 && i > 0 && f.at < starts[i]+slack {
				i--
				slack = 0
			}
			f.apply(pods[i])
		}
	}
	b.named = nil
}

// incarnations returns when each of the pods of one name began: the SyncLoop ADD
// line nearest to its creation, else its creation, else its first record. facts
// are in time order.
func incarnations(pods []*Pod, facts []fact) []event.Nanos {
	starts := make([]event.Nanos, len(pods))
	for i, p := range pods {
		starts[i] = start(p)
		var before, after event.Nanos
		for _, f := range facts {
			if !f.add || i > 0 && f.at <= starts[i-1] {
				continue
			}
			if f.at <= starts[i] && starts[i].Sub(f.at) < 5*time.Minute {
				before = f.at
			} else if f.at > starts[i] && after == 0 && p.Created != 0 && f.at.Sub(p.Created) < 5*time.Second {
				after = f.at
			}
		}
		switch {
		case after != 0:
			starts[i] = after
		case before != 0 && p.Created == 0:
			starts[i] = before
		}
	}
	return starts
}

// start is the earliest time a pod can have existed. Created has whole seconds.
func start(p *Pod) event.Nanos {
	if p.Created != 0 {
		return p.Created
	}
	return p.First
}

// resolveOrphans gives facts that carry only a sandbox or container id to their
// pod.
func (b *Builder) resolveOrphans() {
	if len(b.orphans) == 0 {
		return
	}
	owner := make(map[string]*Pod)
	for _, p := range b.byUID {
		for _, s := range p.SandboxSteps {
			if s.SandboxID != "" {
				owner[s.SandboxID] = p
			}
		}
		for _, s := range p.Steps {
			if s.ID != "" {
				owner[s.ID] = p
			}
		}
		for _, s := range p.Statuses {
			if s.ID != "" {
				owner[s.ID] = p
			}
		}
	}
	for _, f := range b.orphans {
		if p := owner[f.id]; p != nil {
			p.touch(f.at)
			f.apply(p)
		}
	}
	b.orphans = nil
}

func sortedKeys[V any](m map[string]V) []string {
	ks := make([]string, 0, len(m))
	for k := range m {
		ks = append(ks, k)
	}
	slices.Sort(ks)
	return ks
}
