package event

import "net/netip"

// StreamInfo is one row of the stream table: one file, archive member or
// section of a file that was read as one format.
type StreamInfo struct {
	ID     StreamID
	Input  int    // index of the outer input in the order given
	Path   string // logical path inside the case, "bundle.tar.gz!/a/b.gz!/c"
	Format string // name of the format that read it, "" when unknown
	Node   string // node the stream belongs to, where path or content says so
	Bytes  int64  // decompressed bytes read
	// Modified is the modification time the container recorded; zero if none. It
	// bounds the year of stamps without one.
	Modified Nanos

	Records, Kept, Rejected int64

	// First and Last are the earliest and latest record stamps, as recorded.
	First, Last Stamp
	// Silences are the times of ten minutes or more between two records of a log,
	// as recorded, at most 64: nothing happened, or the log was not kept.
	Silences []Gap
	// Verbosity is the kubelet -v level proven by the lines of this stream (the
	// highest level of any catalogued line met), -1 when unknown.
	Verbosity int
	// Counts are the counters of CONTRACT.md: lines, probe_failed, frames, tcp_syn ...
	Counts map[string]int64
	// Capture is set for packet captures and packet text.
	Capture *CaptureInfo
	// Hash is the sha256 of the outer input, filled by the reader.
	Hash string
}

// Count adds n to a counter.
func (s *StreamInfo) Count(name string, n int64) {
	if s.Counts == nil {
		s.Counts = make(map[string]int64)
	}
	s.Counts[name] += n
}

// CaptureInfo is what a capture file says about itself, and what its frames
// show about its quality.
type CaptureInfo struct {
	LinkTypes  []string // names, in order of appearance, "EN10MB", "LINUX_SLL2"
	Interfaces []string // names where the file has them (pcapng, SLL2 by index "if7")
	Snaplen    int64
	Truncated  int64 // frames cut by the snaplen
	Dropped    int64 // packets the kernel dropped, -1 when the file does not say
	Filter     string
	Text       bool // printed packets: see Lacks
	// Lacks names what the form of a text does not carry: "mac", "ttl", "ip-id",
	// "date", "flags", "absolute-seq".
	Lacks []string
	// First and Last are the times of the first and last frame.
	First, Last Nanos
	// Gaps are the silences longer than a minute, at most 64 of them.
	Gaps []Gap
	// Frames that were not understood, and copies of one packet on several
	// interfaces.
	Undecoded, Duplicates int64
	ARPFrames, ICMPFrames int64
	// NonTCP counts IPv4/IPv6 frames that are neither TCP nor ICMP: none at all in
	// a long capture suggests a capture filter.
	NonTCP int64
	// Targets counts handshakes per server IP and port: copies included, sorted.
	Targets []TargetCount
	// Names are the addresses that the file itself names (pcapng name resolution),
	// and Comments what people wrote into it, at most 64.
	Names    []HostName
	Comments []string
	// Talkers maps the MACs seen sending to the IPs they sent from, at most 4096.
	Talkers []Talker
}

// HostName is an address and a name given to it.
type HostName struct {
	IP   netip.Addr
	Name string
}

// Gap is a silence between two frames, or between two records.
type Gap struct{ From, To Nanos }

// TargetCount counts what went to and from one IP:port. SYN and SYNACK count
// every frame, copies included; RSTFrom were sent by the target, RSTTo to it.
type TargetCount struct {
	Addr                        netip.AddrPort
	SYN, SYNACK, RSTFrom, RSTTo int64
}

// Talker is a MAC and an IP seen together as the source of frames.
type Talker struct {
	MAC    MAC
	IP     netip.Addr
	Frames int64
	First  Nanos
	Last   Nanos
}
