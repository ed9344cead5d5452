package event

import (
	"net/netip"
	"time"
)

// PodSeen is a snapshot of a Pod object from YAML, JSON, `kubectl describe`, a
// table or an audit entry. Fields a source does not carry are zero; Partial is
// set when the source is not the whole object. The event's Time is when the
// snapshot was taken: the collection time, zero if unknown.
type PodSeen struct {
	Pod         PodRef
	Node        string
	Partial     bool
	Owner       Owner
	Created     Nanos
	Deleted     Nanos // deletionTimestamp, zero if none
	GracePeriod time.Duration
	HostNetwork bool
	Mirror      bool // static pod's mirror object
	Phase       string
	Reason      string
	HostIPs     []netip.Addr
	IPs         []netip.Addr // podIP first, then podIPs, without repeats
	StartTime   Nanos
	Conditions  []Condition
	Containers  []ContainerSpec // init containers with restartPolicy Always included
	// Statuses has one element without a name where the source is a table: it sums
	// up all containers.
	Statuses       []ContainerStatus
	Labels         []Fact   // sorted, at most 64: policies may select by any
	Annotations    []Fact   // sorted; network, mesh and mirror annotations only
	DownwardIP     []string // containers that take status.podIP or hostIP by the Downward API
	RestartPolicy  string
	ReadinessGates []string
}

// Owner is the controlling owner reference.
type Owner struct{ Kind, Name, UID string }

// ContainerSpec is the part of a container's spec that probes depend on.
type ContainerSpec struct {
	Name       string
	Init       bool // init container
	Sidecar    bool // init container with restartPolicy Always
	Image      string
	Ports      []Port
	CPULimit   string
	CPURequest string
	MemLimit   string
	Probes     []ProbeSpec
}

// Port is a declared container port.
type Port struct {
	Name     string
	Number   int
	HostPort int
	Protocol string
}

// ProbeSpec is one probe of a container, with the API server's defaults applied
// (period 10 s, timeout 1 s, success 1, failure 3).
type ProbeSpec struct {
	Type             ProbeType
	Handler          string // "http", "tcp", "grpc", "exec"
	Scheme           string // "HTTP" or "HTTPS" for http
	Host             string // override, "" = pod IP
	Port             int    // resolved number, 0 when a named port is not found
	PortName         string
	Path             string
	Service          string // grpc
	Command          []string
	Headers          []Fact
	InitialDelay     time.Duration
	Period           time.Duration
	Timeout          time.Duration
	Success, Failure int
}

// ContainerStatus is the status of one container at snapshot time. LastRun is
// the previous run (lastState.terminated), zero if none.
type ContainerStatus struct {
	Name         string
	ID           string // without the "containerd://" scheme
	Ready        bool
	Started      bool
	RestartCount int
	State        string // "running", "waiting", "terminated"
	Reason       string // waiting or terminated reason
	Message      string
	StartedAt    Nanos
	FinishedAt   Nanos
	ExitCode     int
	LastRun      Run
}

// Run is one finished run of a container.
type Run struct {
	ID         string
	StartedAt  Nanos
	FinishedAt Nanos
	ExitCode   int
	Signal     int
	Reason     string
	Message    string
}

// Kind implements Payload.
func (*PodSeen) Kind() Kind { return KindPodSeen }
