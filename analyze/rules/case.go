package rules

import (
	"net/netip"

	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/identity"
	"github.com/probe-forensics/probe-forensics/analyze/incident"
	"github.com/probe-forensics/probe-forensics/analyze/probe"
)

// Case is a read-only view of one incident and of everything known around it. No
// rule does I/O.
type Case struct {
	*incident.Incident
	Index    *identity.Index
	Captures *capture.Set
	Probes   *probe.Set
	// Incidents are all incidents of the case, this one included.
	Incidents []*incident.Incident
	// Thresholds returns a rule's number, overrides applied.
	Thresholds func(rule, name string) float64
	// Inputs is what is known of the streams of the run.
	Inputs *Inputs
	// ClockUncertain is set when the offset between capture and log is not settled:
	// joins are then capped.
	ClockUncertain bool

	failed  []*probe.Attempt                   // kept by Failed
	targets []netip.AddrPort                   // kept by servers
	byPod   map[*identity.Pod][]*probe.Attempt // kept by failedOf
}
