// Package model is the result of an analysis: what renderers read, what
// report.json and the tables contain. It is a leaf; its JSON names are a public
// contract (schema 1): fields are added, never renamed.
//
// Every slice is sorted when the analysis returns it, and nothing in it depends
// on the wall clock, on map order or on how many workers ran.
package model

import (
	"iter"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// SchemaVersion is the version of report.json and of the tables.
const SchemaVersion = "1.0"

// Result is the whole outcome of one case.
type Result struct {
	SchemaVersion string     `json:"schema_version"`
	Tool          Tool       `json:"tool"`
	Inputs        []Input    `json:"inputs"`
	Clock         []Clock    `json:"clock"`
	Pods          []Pod      `json:"pods"`
	Nodes         []Node     `json:"nodes"`
	Incidents     []Incident `json:"incidents"`
	// IPDisagreements are the times in which sources contradict each other about
	// addresses, by time.
	IPDisagreements []IPDisagreement `json:"ip_disagreements"`
	// Healthy says what was checked where no incident was found, and what could not be.
	Checked Checked `json:"checked"`
	Totals  Totals  `json:"totals"`
	// Cluster is the cluster id of the lake ("unknown" when nothing names it).
	Cluster string `json:"cluster"`
	// BundleID is the sha256 of the single input, or of the sorted digests of several.
	BundleID string `json:"bundle_id"`

	Tables Tables `json:"-"`
}

// Tool identifies who wrote the result.
type Tool struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	RulesHash string `json:"rules_hash"`
}

// Input is one outer file, directory or stdin.
type Input struct {
	Path    string   `json:"path"`
	SHA256  string   `json:"sha256"`
	Bytes   int64    `json:"bytes"`
	Streams []Stream `json:"streams"`
}

// Stream is one file or archive member inside an input.
type Stream struct {
	ID           event.StreamID   `json:"id"`
	Path         string           `json:"path"`
	Format       string           `json:"format"`
	Node         string           `json:"node"`
	CapturePoint string           `json:"capture_point,omitempty"`
	CaptureWhy   string           `json:"capture_point_reason,omitempty"`
	Bytes        int64            `json:"bytes"`
	Records      int64            `json:"records"`
	Kept         int64            `json:"kept"`
	Rejected     int64            `json:"rejected"`
	First        Time             `json:"first"`
	Last         Time             `json:"last"`
	TimeBasis    string           `json:"time_basis,omitempty"`
	Verbosity    *int             `json:"verbosity,omitempty"`
	Lacks        []string         `json:"lacks,omitempty"`
	Counts       map[string]int64 `json:"counts"` // encoding/json sorts the keys
	ByTarget     []TargetCount    `json:"by_target,omitempty"`
	Problems     []Problem        `json:"problems"`
}

// TargetCount counts handshake frames per server address, copies included.
type TargetCount struct {
	IP      string `json:"ip"`
	Port    int    `json:"port"`
	SYN     int64  `json:"syn"`
	SYNACK  int64  `json:"synack"`
	RSTFrom int64  `json:"rst_from"`
	RSTTo   int64  `json:"rst_to"`
}

// Problem is damage met in a stream. Exactly one of Line, Offset and Packet is
// set where the place is known.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Line    int64  `json:"line,omitempty"`
	Offset  int64  `json:"offset,omitempty"`
	Packet  int64  `json:"packet,omitempty"`
	Count   int64  `json:"count"`
}

// Kind explains the problem's code.
func (p *Problem) Kind() event.ProblemKind { return event.Problem{Code: p.Code}.Kind() }

// Place is where in its stream the problem was met, as Ref.Place writes it.
func (p *Problem) Place() string {
	return event.Ref{Stream: 1, Line: p.Line, Offset: p.Offset, Packet: p.Packet}.Place()
}

// Clock is the offset of one clock against the reference clock of its node
// (the kubelet's): add OffsetMS to a time of Source to get node time. Where
// Undetermined is set the anchors leave the offset open and it stands as zero.
type Clock struct {
	Node string `json:"node"`
	// Kind is whose clock it is: "capture", "journal" (the prefix of log lines),
	// "events" (Event objects of the kubelet), "api" (creation times of objects) or
	// "audit" (an audit log).
	Kind          string  `json:"kind"`
	Source        string  `json:"source"` // stream path, "events" or "api"
	OffsetMS      float64 `json:"offset_ms"`
	UncertaintyMS float64 `json:"uncertainty_ms"`
	Method        string  `json:"method"`
	Anchors       int     `json:"anchors"`
	// Rivals are other offsets the data allows as well (whole probe periods).
	Rivals  []float64 `json:"rival_offsets_ms,omitempty"`
	Applied bool      `json:"applied"`
	Note    string    `json:"note,omitempty"`
	// Undetermined is set where too few records can be compared, or they disagree.
	Undetermined bool `json:"undetermined,omitempty"`
	// Steps are the moments at which the clock was set, in time order.
	Steps []ClockStep `json:"steps,omitempty"`
}

// ClockStep is a moment at which a clock was set; ByMS is how far it moved,
// forward positive, measured against Against.
type ClockStep struct {
	At      Time    `json:"at"`
	ByMS    float64 `json:"by_ms"`
	Against string  `json:"against"`
	Ref     Ref     `json:"ref"`
}

// Pod is what the inputs say about one pod.
type Pod struct {
	Namespace   string       `json:"namespace"`
	Pod         string       `json:"pod"`
	UID         string       `json:"uid"`
	Node        string       `json:"node"`
	Owner       Owner        `json:"owner"`
	HostNetwork bool         `json:"host_network"`
	Phase       string       `json:"phase,omitempty"`
	Deleted     bool         `json:"deleted,omitempty"`
	Containers  []Container  `json:"containers"`
	Probes      []Probe      `json:"probes"`
	IPIntervals []IPInterval `json:"ip_intervals"`
	Sandboxes   []Sandbox    `json:"sandboxes,omitempty"`
	Runs        []Run        `json:"runs,omitempty"`
	Ready       []ReadyAt    `json:"ready_history,omitempty"`
}

// Owner is the controlling owner.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// Container is a container of a pod.
type Container struct {
	Name     string `json:"name"`
	Restarts int    `json:"restarts"`
	State    string `json:"state,omitempty"`
	Reason   string `json:"reason,omitempty"`
	ExitCode *int   `json:"last_exit_code,omitempty"`
}

// Probe is a probe of a container as its spec declares it.
type Probe struct {
	Container        string  `json:"container"`
	Probe            string  `json:"probe"`
	Target           Target  `json:"target"`
	Handler          string  `json:"handler"`
	InitialDelaySec  float64 `json:"initial_delay_seconds"`
	PeriodSec        float64 `json:"period_seconds"`
	TimeoutSec       float64 `json:"timeout_seconds"`
	SuccessThreshold int     `json:"success_threshold"`
	FailureThreshold int     `json:"failure_threshold"`
	Attempts         int     `json:"attempts"`
	Failed           int     `json:"failed"`
	Succeeded        int     `json:"succeeded"`
	// Missing counts the attempts that the grid demands and nothing shows. Grid says
	// whether they could be told: "checked", else why not ("no-coverage", "exec" ...).
	Missing int    `json:"missing"`
	Grid    string `json:"grid,omitempty"`
}

// IPInterval is a span in which a pod held an IP. State is "held", "disputed"
// (sources disagree or owners overlap), "stale" or "targeted" (only consumers
// say so). To is zero while the IP was still held at the end of the data.
type IPInterval struct {
	IP      string `json:"ip"`
	From    Time   `json:"from"`
	To      Time   `json:"to"`
	State   string `json:"state"`
	Primary bool   `json:"primary,omitempty"`
	// PrimaryWhy says, for a pod of both families, which source listed the address
	// first.
	PrimaryWhy string     `json:"primary_reason,omitempty"`
	Sandbox    string     `json:"sandbox,omitempty"`
	MAC        string     `json:"mac,omitempty"`
	InPodCIDR  string     `json:"in_pod_cidr,omitempty"` // "yes", "no", "" unknown
	Sources    []IPSource `json:"sources"`
}

// IPSource is one source that places the IP on the pod.
type IPSource struct {
	Kind string  `json:"kind"`
	Ref  Ref     `json:"ref"`
	At   Time    `json:"at"`
	Rank float64 `json:"rank,omitempty"` // how much the kind of source is trusted, 0 to 1
}

// Sandbox is one sandbox of a pod.
type Sandbox struct {
	ID      string `json:"id"`
	Attempt int    `json:"attempt"`
	From    Time   `json:"from"`
	To      Time   `json:"to"`
	Ref     Ref    `json:"ref"`
}

// Run is one run of a container.
type Run struct {
	Container string `json:"container"`
	ID        string `json:"id"`
	From      Time   `json:"from"`
	To        Time   `json:"to"`
	ExitCode  *int   `json:"exit_code,omitempty"`
	Reason    string `json:"reason,omitempty"`
	KilledBy  string `json:"killed_by,omitempty"` // "liveness", "startup", "deletion", ""
	Ref       Ref    `json:"ref"`
}

// ReadyAt is a change of the readiness the kubelet acted on.
type ReadyAt struct {
	At        Time   `json:"at"`
	Container string `json:"container,omitempty"`
	Probe     string `json:"probe"`
	Status    string `json:"status"`
	Ref       Ref    `json:"ref"`
}

// Target is where a probe goes. Host is the IP or name, "" when it is the pod
// IP and none was observed.
type Target struct {
	Scheme string `json:"scheme"` // "http", "https", "tcp", "grpc", "exec"
	Host   string `json:"host"`
	Port   int    `json:"port"`
	Path   string `json:"path"`
}

// Ref is a reference as reports print it.
type Ref struct {
	Stream event.StreamID `json:"stream"`
	Line   int64          `json:"line,omitempty"`
	Offset int64          `json:"offset,omitempty"`
	Packet int64          `json:"packet,omitempty"`
}

// RefOf converts.
func RefOf(r event.Ref) Ref {
	return Ref{Stream: r.Stream, Line: r.Line, Offset: r.Offset, Packet: r.Packet}
}

// Event converts back.
func (r Ref) Event() event.Ref {
	return event.Ref{Stream: r.Stream, Line: r.Line, Offset: r.Offset, Packet: r.Packet}
}

// Totals sums up the case.
type Totals struct {
	ByCause  map[string]int `json:"by_cause"`
	Pods     int            `json:"pods"`
	Attempts AttemptTotals  `json:"attempts"`
	Packets  int64          `json:"packets"`
	Lines    int64          `json:"lines"`
}

// AttemptTotals counts attempts by result.
type AttemptTotals struct {
	Success int `json:"success"`
	Failure int `json:"failure"`
	Unknown int `json:"unknown"`
	// Missing counts grid ticks without an attempt; it is no part of the others.
	Missing int `json:"missing"`
}

// Checked says what the inputs allowed to look at.
type Checked struct {
	From   Time     `json:"from"`
	To     Time     `json:"to"`
	Nodes  []string `json:"nodes"`
	Probes int      `json:"probes"`
	// Grid counts probes by what became of their grid, see Probe.Grid.
	Grid     map[string]int `json:"grid"`
	CouldNot []string       `json:"could_not"` // sentences: what could not be checked and why
}

// Tables are the rows too many for report.json. Iterators may be called several
// times and yield the same rows in the same order, which need not be that of
// time. Rows are valid until the next step, what they point to for longer.
type Tables struct {
	Events   func() iter.Seq2[*EventRow, error]
	Flows    func() iter.Seq2[*FlowRow, error]
	ARP      func() iter.Seq2[*ARPRow, error]
	Attempts []Attempt
}
