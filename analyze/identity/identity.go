// Package identity rebuilds who was who: for each pod UID its sandboxes,
// container runs, readiness changes and the intervals in which it held each IP,
// with every source that says so. Overlaps are kept, not resolved away.
package identity

import (
	"net/netip"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Pod is one incarnation of a pod: one UID.
type Pod struct {
	event.PodRef
	Node        string
	Owner       event.Owner
	HostNetwork bool
	Mirror      bool
	Phase       string
	Reason      string
	Created     event.Nanos
	Labels      []event.Fact
	Annotations []event.Fact
	DownwardIP  []string
	HostIPs     []netip.Addr
	// StatusIPs are podIP and podIPs of the last snapshot; entries beyond the first
	// of each family are stale.
	StatusIPs  []netip.Addr
	Containers []event.ContainerSpec
	Statuses   []event.ContainerStatus
	Conditions []event.Condition
	// ReadyConditions are the conditions Ready of all snapshots, by Since.
	ReadyConditions []ReadyCondition
	// Snapshot is where the object was read, zero if no input holds it.
	Snapshot event.Ref

	// DeletedAt is when deletion was asked for (deletionTimestamp minus grace,
	// SyncLoop DELETE, Killing event), RemovedAt when the object was gone.
	DeletedAt, RemovedAt   event.Nanos
	DeletedRef, RemovedRef event.Ref

	Sandboxes []Sandbox
	Runs      []Run
	Ready     []ReadyChange
	Intervals []Interval
	Events    []PodEvent
	// SandboxSteps are all sandbox events in time order, failures included.
	SandboxSteps []SandboxStep
	// Steps are all container events in time order.
	Steps []ContainerStep
	// Notes of container logs in time order.
	AppLogs []AppLog

	// First and Last are the earliest and latest record about the pod.
	First, Last event.Nanos

	listed bool // a whole object holds it as of the collection
}

// Sandbox is one network namespace of a pod. To is zero while it lived on.
type Sandbox struct {
	ID       string
	Attempt  int // -1 unknown
	From, To event.Nanos
	// Requested is when the runtime was asked, zero unknown: From-Requested is how
	// long CNI ADD and the pause container took.
	Requested event.Nanos
	Refs      []event.Ref
}

// Run is one run of a container. To is zero while it ran on.
type Run struct {
	Container string
	ID        string
	From, To  event.Nanos
	ExitCode  int // -1 unknown
	Reason    string
	// KilledBy is the probe type that made the kubelet kill it, or ProbeUnknown;
	// KilledAt and KillRefs say when and where.
	KilledBy event.ProbeType
	KilledAt event.Nanos
	KillRefs []event.Ref
	// Deletion is set when the kill belonged to the pod's deletion.
	Deletion bool
	Refs     []event.Ref
}

// ReadyChange is a threshold crossing the kubelet acted on.
type ReadyChange struct {
	At     event.Nanos
	Probe  event.ProbeType
	Status string
	Ref    event.Ref
}

// PodEvent is an Event object about the pod (same UID, or no UID known).
type PodEvent struct {
	At event.Nanos
	*event.K8sEvent
	Ref event.Ref
}

// SandboxStep is a sandbox event about the pod.
type SandboxStep struct {
	At event.Nanos
	*event.SandboxChange
	Ref event.Ref
}

// ContainerStep is a container event about the pod.
type ContainerStep struct {
	At event.Nanos
	*event.ContainerState
	Ref event.Ref
}

// AppLog is a line of a container's log.
type AppLog struct {
	At event.Nanos
	*event.AppLog
	Ref event.Ref
}

// State of an interval.
type State uint8

// States of an interval.
const (
	Held     State = iota + 1 // an owning source says so
	Targeted                  // only consumers of the IP say so
	Stale                     // still listed, no longer owned
)

// Interval is a span in which a pod held (or was believed to hold) an IP. To is
// zero when no end was seen.
type Interval struct {
	IP       netip.Addr
	From, To event.Nanos
	State    State
	Primary  bool
	// PrimaryWhy says which source made the address the first one of a pod with both
	// families; "" where it holds one only, or the address is not the first.
	PrimaryWhy string
	// Secondary marks an address of a further network of the pod: no probe uses it.
	Secondary bool
	Sandbox   string
	MAC       event.MAC
	Sources   []Source

	first Source // the one that listed it before an address of the other family
}

// Source is one statement behind an interval.
type Source struct {
	Kind  string
	Trust float64
	At    event.Nanos
	Ref   event.Ref
}

// Contains reports whether the interval covers t.
func (iv *Interval) Contains(t event.Nanos) bool {
	return t >= iv.From && (iv.To == 0 || t < iv.To)
}

// Holder is a pod that held an IP at a time.
type Holder struct {
	Pod      *Pod
	Interval *Interval
}

// Node is what the inputs say about a node.
type Node struct {
	Name      string
	Seen      *event.NodeSeen // nil when no object was found
	SeenRef   event.Ref
	States    []NodeState // node-level facts in time order
	Kubelets  []Process   // kubelet processes by first record
	Addresses []netip.Addr
	PodCIDRs  []netip.Prefix
}

// NodeState is a node-level fact at a time.
type NodeState struct {
	At event.Nanos
	*event.NodeState
	Ref event.Ref
	PID int32
}

// Object is another object of interest.
type Object struct {
	*event.ObjectSeen
	// At is when an audit log says the object was written so; zero for a snapshot,
	// which bears no time.
	At  event.Nanos
	Ref event.Ref
}

// HostFact is a statement about a host's network or a cgroup.
type HostFact struct {
	Node string
	*event.HostFact
	Ref event.Ref
}

// Index is everything known about pods, nodes and other objects.
type Index struct {
	Pods    []*Pod  // by namespace, name, first seen, UID
	Nodes   []*Node // by name
	Objects []Object
	Facts   []HostFact
	// CollectedAt is when the bundle was taken, zero unknown.
	CollectedAt event.Nanos
	// First and Last bound all records.
	First, Last event.Nanos

	byUID  map[string]*Pod
	byName map[string][]*Pod
	byIP   map[netip.Addr][]*Pod
	// shared are the addresses of nodes, which all their pods on the host network
	// have.
	shared map[netip.Addr]bool
}

// ByUID returns the pod with the UID, nil if unknown.
func (x *Index) ByUID(uid string) *Pod { return x.byUID[uid] }

// ByName returns the pods that bore a name, in the order they were first seen.
func (x *Index) ByName(namespace, name string) []*Pod { return x.byName[namespace+"/"+name] }

// Node returns the node with the name, nil if unknown.
func (x *Index) Node(name string) *Node {
	for _, n := range x.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// Shared reports whether an address is a node's: the node and its pods on the
// host network have it together, and no pod owns it.
func (x *Index) Shared(ip netip.Addr) bool { return x.shared[ip.Unmap()] }

// RunAt returns the container's run at t: the last one that began before it and
// had not ended, nil if none.
func (p *Pod) RunAt(container string, t event.Nanos) *Run {
	var found *Run
	for i := range p.Runs {
		r := &p.Runs[i]
		if (container == "" || r.Container == "" || r.Container == container) && r.From <= t && (r.To == 0 || t <= r.To) {
			found = r
		}
	}
	return found
}

// SandboxAt returns the sandbox alive at t, nil if none is known.
func (p *Pod) SandboxAt(t event.Nanos) *Sandbox {
	for i := len(p.Sandboxes) - 1; i >= 0; i-- {
		if s := &p.Sandboxes[i]; s.From <= t && (s.To == 0 || t < s.To) {
			return s
		}
	}
	return nil
}

// Spec returns the declared probe of a container, nil if no input holds the pod
// object or it declares none.
func (p *Pod) Spec(container string, t event.ProbeType) *event.ProbeSpec {
	for i := range p.Containers {
		if c := &p.Containers[i]; c.Name == container {
			for j := range c.Probes {
				if c.Probes[j].Type == t {
					return &c.Probes[j]
				}
			}
		}
	}
	return nil
}
