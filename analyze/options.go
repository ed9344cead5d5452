// Package analyze turns a stream of normalized events into a result: clocks are
// aligned, pod identities and probe attempts rebuilt, packets joined, incidents
// grouped and causes named.
//
// It never reads files, the wall clock or the network.
package analyze

import (
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Options changes what an analysis looks at, or supplies what inputs leave out.
// The zero value analyses everything and infers what is missing.
type Options struct {
	// Namespaces, Pods ("ns/name"), Nodes and Owners ("Kind/name") keep only
	// matching subjects; globs as in path.Match. Empty keeps all.
	Namespaces, Pods, Nodes, Owners []string
	// Since and Until bound the attempts looked at; zero is unbounded. SinceAgo and
	// UntilAgo count back from the end of the data and win when not zero.
	Since, Until       event.Nanos
	SinceAgo, UntilAgo time.Duration

	// Zones maps node (or "" for all) to a time zone for stamps without one.
	Zones map[string]*time.Location
	// BaseYear is the year of stamps without one, 0 to infer. Date is the day of
	// stamps with a time only, "" to infer.
	BaseYear int
	Date     string
	// Offsets maps clocks to what must be added to them to get kubelet time: a node
	// stands for its captures, a stream path for the stream, "api" (or "NODE/api",
	// against one node) for creation times and audit logs.
	Offsets map[string]time.Duration
	// CapturePoints maps a stream path (or its base name) to a capture point, see
	// capture.ParsePoint.
	CapturePoints map[string]string

	// Thresholds overrides rule thresholds by key.
	Thresholds map[string]float64
	// Cluster is the cluster id of the lake, "" to infer.
	Cluster string
	// ToolVersion is stamped into the result.
	ToolVersion string
}

// InputInfo describes one outer input for the result.
type InputInfo struct {
	Path   string
	SHA256 string
	Bytes  int64
}
