package rules

import "slices"

// gate returns why a rule cannot apply to a case at all, "" if it can.
func gate(c *Case, r *Rule) string {
	switch {
	case r.Family == FamilyMesh && r.ID != "mesh-redirect-dead-port" && !c.Mesh().OK():
		return "the pod bears no mark of a mesh"
	case c.execOnly() && (r.Family == FamilyL2 || r.Family == FamilyPath || r.Family == FamilyMesh || slices.Contains(networkOnly, r.ID)):
		return "exec probes send no packets"
	case c.hostNetworkOnly() && (r.Family == FamilyL2 || r.Family == FamilyIdentity && r.ID != "host-network-target"):
		return "the pod uses the host network"
	case r.ID == "host-network-target" && !c.anyHostNetwork():
		return "the pod does not use the host network"
	}
	return ""
}

// networkOnly are causes outside the network families that an exec probe cannot
// have.
var networkOnly = []string{
	"app-http-error", "app-protocol-mismatch", "app-redirect", "app-connection-closed", "grpc-unhealthy",
	"dual-stack-primary-flip", "ip-reused", "duplicate-pod-ip", "stale-status-ip", "pod-ip-empty",
}
