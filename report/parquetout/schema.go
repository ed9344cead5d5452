package parquetout

// The rows of the lake, one struct a table. Column names are part of the public
// contract: columns are added (nullable), never renamed, retyped or reused.
//
// Shared columns: bundle_id is the sha256 of the input (of the sorted digests
// of several), run_id identifies inputs, settings, rules and version. ts is
// the row's own time, UTC, in microseconds; ts_ns is the same instant in
// nanoseconds since the epoch. Times are by the clock of the node unless the
// column says otherwise. A column is null where the input does not say.

type key struct {
	BundleID string `parquet:"bundle_id,dict"`
	RunID    string `parquet:"run_id,dict"`
}

// stamp is the time of a row.
type stamp struct {
	Micros int64 `parquet:"ts,optional,timestamp(microsecond)"`
	Nanos  int64 `parquet:"ts_ns,optional"`
}

// place leads back to the record in the input.
type place struct {
	StreamID   int32  `parquet:"stream_id,optional"`
	StreamPath string `parquet:"stream_path,optional,dict"`
	Line       int64  `parquet:"line,optional"`
	Offset     int64  `parquet:"byte_offset,optional"`
	Packet     int64  `parquet:"packet,optional"`
}

type pod struct {
	Node      string `parquet:"k8s_node_name,optional,dict"`
	Namespace string `parquet:"k8s_namespace_name,optional,dict"`
	Name      string `parquet:"k8s_pod_name,optional,dict"`
	UID       string `parquet:"k8s_pod_uid,optional,dict"`
}

// inputRow is a stream of an input; an input without streams has one row.
type inputRow struct {
	key
	stamp                 // first record
	LastMicros   int64    `parquet:"last_ts,optional,timestamp(microsecond)"`
	LastNanos    int64    `parquet:"last_ts_ns,optional"`
	InputPath    string   `parquet:"input_path,dict"`
	InputSHA256  string   `parquet:"input_sha256,dict"`
	InputBytes   int64    `parquet:"input_bytes"`
	StreamID     int32    `parquet:"stream_id,optional"`
	StreamPath   string   `parquet:"stream_path,optional"`
	Format       string   `parquet:"format,optional,dict"`
	Node         string   `parquet:"k8s_node_name,optional,dict"`
	CapturePoint string   `parquet:"capture_point,optional,dict"`
	Bytes        int64    `parquet:"bytes,optional"`
	Records      int64    `parquet:"records,optional"`
	Kept         int64    `parquet:"kept,optional"`
	Rejected     int64    `parquet:"rejected,optional"`
	TimeBasis    string   `parquet:"time_basis,optional,dict"`
	Verbosity    *int32   `parquet:"verbosity,optional"`
	Lacks        []string `parquet:"lacks,list"`
	Counts       string   `parquet:"counts_json,optional"`
	Problems     int64    `parquet:"problems,optional"`
}

type eventRow struct {
	key
	stamp
	EventID   string `parquet:"event_id"`
	TimeBasis string `parquet:"time_basis,optional,dict"`
	Kind      string `parquet:"kind,dict"`
	pod
	Container string `parquet:"k8s_container_name,optional,dict"`
	Severity  string `parquet:"severity_text,optional,dict"`
	Body      string `parquet:"body,optional"`
	place
}

type attemptRow struct {
	key
	stamp
	EndMicros     int64  `parquet:"end_ts,optional,timestamp(microsecond)"`
	EndNanos      int64  `parquet:"end_ts_ns,optional"`
	StartInferred bool   `parquet:"start_inferred"`
	TimeBasis     string `parquet:"time_basis,optional,dict"`
	AttemptID     string `parquet:"attempt_id"`
	IncidentID    string `parquet:"incident_id,optional,dict"`
	pod
	Container      string   `parquet:"k8s_container_name,optional,dict"`
	Probe          string   `parquet:"probe,optional,dict"`
	Outcome        string   `parquet:"outcome,dict"`
	Source         string   `parquet:"source,optional,dict"`
	ErrorClass     string   `parquet:"error_class,optional,dict"`
	Output         string   `parquet:"output,optional,dict"`
	Scheme         string   `parquet:"target_scheme,optional,dict"`
	Address        string   `parquet:"target_address,optional,dict"`
	Port           int32    `parquet:"target_port,optional"`
	Path           string   `parquet:"target_path,optional,dict"`
	ARPMs          *float64 `parquet:"arp_ms,optional"`
	ConnectMs      *float64 `parquet:"connect_ms,optional"`
	FirstByteMs    *float64 `parquet:"first_byte_ms,optional"`
	Count          int64    `parquet:"attempt_count"`
	FlowID         string   `parquet:"flow_id,optional"`
	JoinReason     string   `parquet:"join_reason,optional,dict"`
	JoinConfidence float64  `parquet:"join_confidence"`
	Threshold      string   `parquet:"threshold,optional,dict"`
	Effects        []string `parquet:"effects,list"` // "restart kubelet.log:48211"
	SinceMicros    int64    `parquet:"since_ts,optional,timestamp(microsecond)"`
	SinceNanos     int64    `parquet:"since_ts_ns,optional"`
	Refs           []string `parquet:"refs,list"`
	FlowRefs       []string `parquet:"flow_refs,list"`
}

type intervalRow struct {
	key
	stamp           // start of the interval
	EndMicros int64 `parquet:"end_ts,optional,timestamp(microsecond)"`
	EndNanos  int64 `parquet:"end_ts_ns,optional"`
	pod
	IP        string   `parquet:"ip,dict"`
	Family    string   `parquet:"ip_family,dict"`
	State     string   `parquet:"state,dict"`
	Primary   bool     `parquet:"is_primary"`
	SandboxID string   `parquet:"sandbox_id,optional,dict"`
	MAC       string   `parquet:"mac,optional,dict"`
	InPodCIDR string   `parquet:"in_pod_cidr,optional,dict"`
	Sources   []string `parquet:"sources,list"`
}

type flowRow struct {
	key
	stamp                // first frame, node time
	LastMicros   int64   `parquet:"last_ts,optional,timestamp(microsecond)"`
	LastNanos    int64   `parquet:"last_ts_ns,optional"`
	CaptureNanos int64   `parquet:"capture_ts_ns,optional"` // first frame by the capture's clock
	OffsetMs     float64 `parquet:"offset_ms"`
	FlowID       string  `parquet:"flow_id"`
	pod
	CapturePoint  string   `parquet:"capture_point,optional,dict"`
	ClientAddress string   `parquet:"client_address,optional,dict"`
	ClientPort    int32    `parquet:"client_port,optional"`
	ServerAddress string   `parquet:"server_address,optional,dict"`
	ServerPort    int32    `parquet:"server_port,optional"`
	SrcAddress    string   `parquet:"source_address,optional,dict"`
	SrcPort       int32    `parquet:"source_port,optional"`
	DstAddress    string   `parquet:"destination_address,optional,dict"`
	DstPort       int32    `parquet:"destination_port,optional"`
	Transport     string   `parquet:"network_transport,dict"`
	NetworkType   string   `parquet:"network_type,optional,dict"`
	State         string   `parquet:"conn_state,optional,dict"`
	History       string   `parquet:"history,optional,dict"`
	SYNs          int32    `parquet:"syn_count"`
	SYNACKs       int32    `parquet:"synack_count"`
	SYNPacket     int64    `parquet:"syn_packet,optional"`
	SYNACKPacket  int64    `parquet:"synack_packet,optional"`
	RequestPacket int64    `parquet:"request_packet,optional"`
	AnswerPacket  int64    `parquet:"response_packet,optional"`
	ClientRST     int64    `parquet:"client_rst_packet,optional"`
	ServerRST     int64    `parquet:"server_rst_packet,optional"`
	ICMPPacket    int64    `parquet:"icmp_packet,optional"`
	ICMPType      *int32   `parquet:"icmp_type,optional"`
	ICMPCode      *int32   `parquet:"icmp_code,optional"`
	ConnectMs     *float64 `parquet:"connect_ms,optional"`
	FirstByteMs   *float64 `parquet:"first_byte_ms,optional"`
	ClientBytes   int64    `parquet:"client_bytes"`
	ServerBytes   int64    `parquet:"server_bytes"`
	ClientRetrans int32    `parquet:"client_retransmits"`
	ServerRetrans int32    `parquet:"server_retransmits"`
	Copies        int32    `parquet:"copies"`
	ClientMAC     string   `parquet:"client_mac,optional,dict"`
	SYNDstMAC     string   `parquet:"syn_destination_mac,optional,dict"`
	AnswerMAC     string   `parquet:"answer_mac,optional,dict"`
	SYNIfs        []string `parquet:"syn_interfaces,list"`
	AnswerIfs     []string `parquet:"answer_interfaces,list"`
	App           string   `parquet:"app_protocol,optional,dict"`
	Method        string   `parquet:"http_method,optional,dict"`
	Path          string   `parquet:"http_path,optional,dict"`
	UserAgent     string   `parquet:"user_agent,optional,dict"`
	Status        int32    `parquet:"http_status,optional"`
	GRPCStatus    string   `parquet:"grpc_status,optional,dict"`
	TLSAlert      string   `parquet:"tls_alert,optional,dict"`
	Tunnel        string   `parquet:"tunnel,optional,dict"`
	VLAN          int32    `parquet:"vlan,optional"`
	Evicted       bool     `parquet:"evicted"`
	Unjoined      string   `parquet:"unjoined_reason,optional,dict"`
	place
}

type arpRow struct {
	key
	stamp
	Node      string `parquet:"k8s_node_name,optional,dict"`
	Op        string `parquet:"operation,dict"`
	Family    string `parquet:"ip_family,dict"`
	SenderIP  string `parquet:"sender_address,optional,dict"`
	TargetIP  string `parquet:"target_address,optional,dict"`
	SenderMAC string `parquet:"sender_mac,optional,dict"`
	TargetMAC string `parquet:"target_mac,optional,dict"`
	EthSrc    string `parquet:"source_mac,optional,dict"`
	EthDst    string `parquet:"destination_mac,optional,dict"`
	Unicast   bool   `parquet:"is_unicast"`
	Answered  bool   `parquet:"answered"`
	AnswerMAC string `parquet:"answer_mac,optional,dict"`
	Interface string `parquet:"interface,optional,dict"`
	Router    bool   `parquet:"is_router"`
	Copies    int32  `parquet:"copies"`
	place
}

type clockRow struct {
	key
	stamp                  // never set: an offset holds for the whole stream
	Node          string   `parquet:"k8s_node_name,optional,dict"`
	Kind          string   `parquet:"kind,optional,dict"` // capture, journal, events, api, audit
	Source        string   `parquet:"source"`
	OffsetMs      float64  `parquet:"offset_ms"`
	UncertaintyMs float64  `parquet:"uncertainty_ms"`
	Method        string   `parquet:"method,optional,dict"`
	Anchors       int32    `parquet:"anchors"`
	Applied       bool     `parquet:"applied"`
	Undetermined  bool     `parquet:"undetermined"`
	Rivals        []string `parquet:"rival_offsets_ms,list"`
	Note          string   `parquet:"note,optional"`
}

type incidentRow struct {
	key
	stamp                      // first failed attempt
	LastMicros        int64    `parquet:"last_ts,optional,timestamp(microsecond)"`
	LastNanos         int64    `parquet:"last_ts_ns,optional"`
	RecoveredMicros   int64    `parquet:"recovered_ts,optional,timestamp(microsecond)"`
	RecoveredNanos    int64    `parquet:"recovered_ts_ns,optional"`
	TimeBasis         string   `parquet:"time_basis,optional,dict"`
	IncidentID        string   `parquet:"incident_id"`
	Fingerprint       string   `parquet:"fingerprint,optional,dict"`
	Scope             string   `parquet:"scope,dict"`
	Trigger           string   `parquet:"trigger,dict"`
	Node              string   `parquet:"k8s_node_name,optional,dict"`
	CauseID           string   `parquet:"cause_id,dict"`
	Family            string   `parquet:"cause_family,optional,dict"`
	Title             string   `parquet:"cause_title,optional,dict"`
	SubReason         string   `parquet:"cause_sub_reason,optional,dict"`
	Confidence        float64  `parquet:"confidence"`
	Word              string   `parquet:"confidence_word,dict"`
	Summary           string   `parquet:"summary,optional"`
	FailedAttempts    int32    `parquet:"failed_attempts"`
	TotalAttempts     int32    `parquet:"total_attempts"`
	Pods              []string `parquet:"pods,list"`
	Consequences      []string `parquet:"consequences,list"`
	RecommendationIDs []string `parquet:"recommendation_ids,list"`
}

// findingRow is a cause that was considered for an incident: role "primary",
// "contributing" or "alternative".
type findingRow struct {
	key
	stamp              // of the incident
	IncidentID string  `parquet:"incident_id"`
	FindingID  string  `parquet:"finding_id"`
	Role       string  `parquet:"role,dict"`
	CauseID    string  `parquet:"cause_id,dict"`
	Confidence float64 `parquet:"confidence"`
	Word       string  `parquet:"confidence_word,dict"`
	Note       string  `parquet:"note,optional"`
}

type evidenceRow struct {
	key
	stamp
	IncidentID string  `parquet:"incident_id"`
	EvidenceID string  `parquet:"evidence_id"`
	CauseID    string  `parquet:"cause_id,dict"`
	Role       string  `parquet:"role,dict"`
	Claim      string  `parquet:"claim"`
	Excerpt    string  `parquet:"excerpt,optional"`
	Rule       string  `parquet:"rule,optional,dict"`
	Weight     float64 `parquet:"weight"`
	place
	MoreRefs []string `parquet:"more_refs,list"`
}
