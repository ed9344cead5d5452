package event

import (
	"net/netip"
	"time"
)

// PodRef names a pod as far as a record does. UID is the only identity; records
// that lack it are matched by name and time.
type PodRef struct{ Namespace, Name, UID string }

// String returns "namespace/name".
func (p PodRef) String() string { return p.Namespace + "/" + p.Name }

// ProbeType is readiness, liveness or startup.
type ProbeType uint8

// The probe types. ProbeUnknown stands where a record does not say.
const (
	ProbeUnknown ProbeType = iota
	Readiness
	Liveness
	Startup
)

// String returns the lower-case word of CONTRACT.md.
func (p ProbeType) String() string {
	return [...]string{"unknown", "readiness", "liveness", "startup"}[p&3]
}

// Outcome of one probe attempt as logged.
type Outcome uint8

// Outcomes. Errored attempts are discarded by the kubelet: they do not count
// toward failureThreshold.
const (
	OutcomeUnknown Outcome = iota
	OutcomeFailed
	OutcomeErrored
	OutcomeSucceeded
	OutcomeWarning // succeeded with a warning (redirect to another host)
)

// String returns the lower-case word of the probe_attempts table.
func (o Outcome) String() string {
	return [...]string{"unknown", "failure", "errored", "success", "warning"}[o%5]
}

// ProbeResult is one attempt as the kubelet logged it, at the END of the
// attempt. Output is the printed output or error, at most 1 KiB, unescaped;
// OutputBytes its whole length.
type ProbeResult struct {
	Pod         PodRef
	Container   string
	Probe       ProbeType
	Outcome     Outcome
	Output      string
	OutputBytes int
}

// ProbeTarget is a V(4) line that names the target of the attempt about to run,
// without naming the pod.
type ProbeTarget struct {
	Scheme    string // "http", "https", "tcp", "grpc", "exec"
	Host      string // "" when podIP was empty
	Port      int
	Path      string
	Timeout   time.Duration
	Probe     ProbeType
	Pod       PodRef // exec lines only
	Container string
}

// ProbeState is a threshold crossing: "SyncLoop (probe)".
type ProbeState struct {
	Pod    PodRef
	Probe  ProbeType
	Status string // "ready", "not ready", "started", "unhealthy", as printed ("" became "not ready")
}

// SyncOp is what the kubelet learned about pods from a source.
type SyncOp uint8

// Sync operations. SyncDelete means a deletionTimestamp was seen, SyncRemove
// that the object is gone.
const (
	SyncAdd SyncOp = iota + 1
	SyncUpdate
	SyncDelete
	SyncRemove
	SyncReconcile
	SyncRecreated // same name, another UID: "Pod was deleted and then recreated"
	SyncStatus    // the kubelet wrote the pod's status and had the API's answer
)

// String returns the upper-case word the kubelet prints.
func (o SyncOp) String() string {
	return [...]string{"?", "ADD", "UPDATE", "DELETE", "REMOVE", "RECONCILE", "RECREATED", "STATUS"}[o%8]
}

// PodSync is "SyncLoop ADD|UPDATE|DELETE|REMOVE|RECONCILE" for one pod, or the
// kubelet's "Patch status for pod".
type PodSync struct {
	Op     SyncOp
	Source string // "api", "file", "audit", "status-patch"
	Pod    PodRef
	OldUID string // SyncRecreated
	// Newest is the latest lastTransitionTime or startTime in the status that was
	// written: node clock, whole seconds, cut off; zero where none was. SyncStatus.
	Newest Nanos
}

// IPFact says how a source relates pod and IP.
type IPFact uint8

// Facts about a pod and an IP.
const (
	IPObserved  IPFact = iota + 1 // the pod has the IP at this time
	IPAllocated                   // the IP was handed to the pod or sandbox
	IPReleased                    // the IP was taken back
	IPTargeted                    // a consumer used the IP for the pod (weaker)
)

// String returns "observed", "allocated", "released" or "targeted".
func (f IPFact) String() string {
	return [...]string{"?", "observed", "allocated", "released", "targeted"}[f%5]
}

// PodIP relates a pod (or a sandbox) to addresses at a time. IPs are in the
// order of the source, primary first. Via names the source kind: "kubelet-ip",
// "kubelet-hosts", "status-patch", "cni-result", "ipam", "audit", "event",
// "annotation", "endpointslice", "cri", "describe" ...
type PodIP struct {
	Pod       PodRef
	SandboxID string
	IPs       []netip.Addr
	MAC       MAC
	Interface string
	Fact      IPFact
	Via       string
}

// SandboxOp is a step in a sandbox's life.
type SandboxOp uint8

// Sandbox steps.
const (
	SandboxNeeded    SandboxOp = iota + 1 // "No sandbox for pod can be found": also every first start
	SandboxLost                           // "No ready sandbox ...", "has no IP address", "has changed", "Multiple sandboxes": re-creation; Reason says which
	SandboxRequested                      // RunPodSandbox called
	SandboxCreated                        // RunPodSandbox returned an id
	SandboxFailed                         // RunPodSandbox failed; Message has the error
	SandboxStopped                        // StopPodSandbox / network torn down
	SandboxRemoved
	SandboxNoIP // "Pod Sandbox status doesn't have network information"
)

// String returns a kebab-case word.
func (o SandboxOp) String() string {
	return [...]string{"?", "needed", "lost", "requested", "created", "failed", "stopped", "removed", "no-ip"}[o%9]
}

// SandboxChange is a step in the life of a pod sandbox. Attempt is the runtime's
// attempt number, -1 when unknown; >= 1 means re-created.
type SandboxChange struct {
	Pod       PodRef
	SandboxID string
	Op        SandboxOp
	Attempt   int
	Reason    string
	Message   string // at most 512 bytes
}

// ContainerOp is a step in a container's life.
type ContainerOp uint8

// Container steps.
const (
	ContainerCreated ContainerOp = iota + 1
	ContainerStarted
	ContainerDied      // PLEG ContainerDied: container or sandbox id
	ContainerFinished  // "Generic (PLEG): container finished", has ExitCode
	ContainerKilling   // "Killing container with a grace period"
	ContainerUnhealthy // "Message for Container of pod ... failed liveness probe, will be restarted"
	ContainerBackOff   // CrashLoopBackOff while syncing
	ContainerRemoved
	ContainerExecFailed // ExecSync failed
)

// String returns a kebab-case word.
func (o ContainerOp) String() string {
	return [...]string{"?", "created", "started", "died", "finished", "killing", "unhealthy", "back-off", "removed", "exec-failed"}[o%10]
}

// ContainerState is a step in the life of a container. From PLEG lines ID may
// be a sandbox id: PLEG does not tell them apart, IDMayBeSandbox is then set.
type ContainerState struct {
	Pod            PodRef
	Container      string
	ID             string
	SandboxID      string
	IDMayBeSandbox bool
	Op             ContainerOp
	Attempt        int // -1 unknown
	ExitCode       int // -1 unknown
	Grace          time.Duration
	Probe          ProbeType // ContainerUnhealthy
	Reason         string
	Message        string // at most 512 bytes
}

// K8sEvent is an Event object, or the kubelet's "Event occurred" line (then
// Count is 1 and UID may be empty).
type K8sEvent struct {
	ObjectKind           string
	Namespace, Name, UID string
	FieldPath            string
	Container            string // from FieldPath spec.containers{c}
	Type, Reason         string
	Message              string // at most 1 KiB
	Count                int64
	First, Last          Stamp
	// Created is the creationTimestamp of the Event object: the API server's clock,
	// whole seconds, cut off; zero where First and Last had to be taken from it.
	Created         Nanos
	Component, Host string
	FromLog         bool
	// TimesUnknown is set where a table gave ages only; First and Last are then
	// counted back from the collection time, with that precision.
	TimesUnknown bool
}

// NodeSeen is a Node object snapshot.
type NodeSeen struct {
	Name           string
	UID            string
	Addresses      []netip.Addr
	PodCIDRs       []netip.Prefix
	KubeletVersion string
	Runtime        string
	Kernel         string
	OSImage        string
	CNI            string // type guessed from annotations, "" unknown
	Taints         []string
	Conditions     []Condition
	Unschedulable  bool
}

// Condition is a status condition of a pod or node.
type Condition struct {
	Type, Status, Reason, Message string
	Since                         Nanos // lastTransitionTime
}

// NodeState is a fact about a node from a log. Code is a stable word, one of
// the NodeCode constants.
type NodeState struct {
	Code    string
	Message string // at most 512 bytes
	Value   string // the number, version or name the line carries
	Pod     PodRef // where the line names one (OOM)
}

// Node state codes.
const (
	NodeKubeletStarted   = "kubelet-started" // "Started kubelet", "Starting kubelet main sync loop", "Kubelet version" (Value)
	NodeKubeletStopped   = "kubelet-stopped"
	NodePLEGUnhealthy    = "pleg-unhealthy"
	NodeRuntimeDown      = "runtime-down"    // "container runtime is down", CRI socket refused
	NodeRuntimeStarted   = "runtime-started" // containerd/crio unit start
	NodeRuntimeStopped   = "runtime-stopped"
	NodeNetworkNotReady  = "network-not-ready" // NetworkPluginNotReady
	NodeNotReady         = "node-not-ready"
	NodeReady            = "node-ready"
	NodeHousekeepingSlow = "housekeeping-slow"
	NodeConntrackFull    = "conntrack-full"
	NodeNeighbourFull    = "neighbour-overflow"
	NodeOOM              = "oom"
	NodeSynFlood         = "syn-flood"
	NodeOwnAddress       = "own-address-received" // "received packet on X with own address as source address"
	NodeDuplicateAddr    = "duplicate-address"
	NodeMartian          = "martian-source"
	NodePolicyDrop       = "policy-drop"  // a policy or firewall log line; Value the destination
	NodeIPPoolFull       = "ip-pool-full" // the address daemon has none left; Value "total/assigned"
	NodeIPAMStarted      = "ipam-started" // the address daemon began anew
	NodeTimeChanged      = "time-changed"
	NodeSoftLockup       = "soft-lockup"
	NodeEviction         = "eviction"
	NodeStatusFailed     = "status-update-failed" // pod status or lease could not be written
	NodeThrottled        = "client-throttled"
	NodeLinkDown         = "link-down"
	NodeReboot           = "reboot"
)

// ObjectSeen is a snapshot of an object other than Pod, Node and Event that
// bears on probes: NetworkPolicy, EndpointSlice, Service, PeerAuthentication,
// CiliumEndpoint, IPPool, namespace labels. Facts are the few fields rules
// read, sorted by key.
type ObjectSeen struct {
	ObjectKind           string
	Namespace, Name, UID string
	Created              Nanos
	Facts                []Fact
	IPs                  []netip.Addr
	Pods                 []PodRef // pods it names (endpoint targetRef)
}

// Fact is a key and a value.
type Fact struct{ Key, Value string }

// HostFact is one statement about the host network or a cgroup from a pasted or
// collected command output: `ip neigh`, `bridge fdb`, `ss -ltn`, iptables,
// cpu.stat, nstat, `ip route get`. Tool is the command ("ip-neigh", "fdb",
// "ss", "iptables", "cpu.stat", "nstat", "psi", "ip-route", "ip-addr",
// "ip-link").
type HostFact struct {
	Tool   string
	Pod    PodRef // when the file belongs to a pod
	IP     netip.Addr
	MAC    MAC
	Port   int
	Key    string
	Value  string
	Device string
}

// AppLog is one line of a container's log that bears on probes: Code is
// "bind-in-use", "listening", "starting", "probe-request", "envoy-not-ready",
// "agent-probe" (a mesh's agent could not reach the application), "mtls-refused"
// (a mesh's proxy refused plain text), "panic", "fatal", "oom".
type AppLog struct {
	Pod       PodRef
	Container string
	Previous  bool // from the log of the previous run
	Code      string
	Text      string // at most 512 bytes
	Status    int    // HTTP status of an access-log line for kube-probe
}

// NetCheck is one entry of an OpenShift PodNetworkConnectivityCheck.
type NetCheck struct {
	Source, Target string
	Address        string
	Success        bool
	Latency        time.Duration
	Message        string
}

// Notice is a fact about the stream itself that limits conclusions: reboot,
// suppressed messages, rotated logs, a collector's error. A "time-anchor" has
// the whole instant that a line states as its Time, and the stamp of the same
// line that lacks year or zone as its Logged.
type Notice struct {
	Code    string // "suppressed", "missed", "no-entries", "log-begins", "log-ends", "reversed", "section-skipped", "time-anchor", "collector-error"
	Message string
	Value   int64
}

// Kind implements Payload.
func (*ProbeResult) Kind() Kind { return KindProbeResult }

// Kind implements Payload.
func (*ProbeTarget) Kind() Kind { return KindProbeTarget }

// Kind implements Payload.
func (*ProbeState) Kind() Kind { return KindProbeState }

// Kind implements Payload.
func (*PodSync) Kind() Kind { return KindPodSync }

// Kind implements Payload.
func (*PodIP) Kind() Kind { return KindPodIP }

// Kind implements Payload.
func (*SandboxChange) Kind() Kind { return KindSandboxChange }

// Kind implements Payload.
func (*ContainerState) Kind() Kind { return KindContainerState }

// Kind implements Payload.
func (*K8sEvent) Kind() Kind { return KindK8sEvent }

// Kind implements Payload.
func (*NodeSeen) Kind() Kind { return KindNodeSeen }

// Kind implements Payload.
func (*NodeState) Kind() Kind { return KindNodeState }

// Kind implements Payload.
func (*ObjectSeen) Kind() Kind { return KindObjectSeen }

// Kind implements Payload.
func (*HostFact) Kind() Kind { return KindHostFact }

// Kind implements Payload.
func (*AppLog) Kind() Kind { return KindAppLog }

// Kind implements Payload.
func (*NetCheck) Kind() Kind { return KindNetCheck }

// Kind implements Payload.
func (*Notice) Kind() Kind { return KindNotice }
