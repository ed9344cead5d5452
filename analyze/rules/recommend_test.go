package rules

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// advice is what people who debugged such failures wished to have been told: the
// recommendation that says it, words it must say, and the causes that must give
// it.
var advice = []struct {
	what   string
	id     string
	words  []string
	causes []string
}{
	{"a TCP probe's timeout of 1 s is strict: loosen timeout and threshold", "raise-timeout", []string{"timeoutSeconds", "failureThreshold"}, []string{"probe-timeout-too-tight", "packet-loss-latency"}},
	{"tcpSocket.host only with a known topology", "unset-probe-host", []string{"tcpSocket.host", "topology"}, []string{"probe-target-misconfigured", "stale-status-ip"}},
	{"hostNetwork pods follow the node's address and rules", "host-network-rules", []string{"hostNetwork", "node IP"}, []string{"host-network-target"}},
	{"the primary address of a dual-stack pod may change", "node-ip-order", []string{"--node-ip", "both families"}, []string{"dual-stack-primary-flip"}},
	{"align the timelines of CNI, runtime and kubelet to prove the switch", "align-timelines", []string{"CNI, runtime and kubelet"}, []string{"sandbox-recreated-ip-changed"}},
	{"readiness and liveness read the cache independently", "two-ips-normal", []string{"no common instant"}, []string{"sandbox-recreated-ip-changed", "stale-status-ip", "dual-stack-primary-flip"}},
	{"capture with MACs at every point, and the tables before and after a ping", "capture-l2",
		[]string{"tcpdump -nn -e", "uplink", "bridge", "veth", "inside the pod", "ip neigh", "ip link", "ip addr", "brctl showmacs", "dmesg", "before and after a ping"}, []string{"duplicate-pod-ip", "bridge-fdb-flip", Inconclusive}},
	{"a ping from the pod that heals it points at a layer 2 table", "ping-heals", []string{"ping or curl", "not in the application"}, []string{"duplicate-pod-ip", "bridge-fdb-flip"}},
	{"do not rely on a pod IP; log uid and hostIP with it", "no-pod-ip", []string{"Service name", "metadata.uid", "hostIP"}, []string{"ip-reused", "sandbox-recreated-ip-changed", "endpoint-propagation-lag"}},
	{"Downward API: check for an empty value, fail fast, not in init containers", "downward-api", []string{"empty value", "fail fast", "init container"}, []string{"pod-ip-empty", "cni-add-slow"}},
	{"ready means phase Running and condition Ready, and the age of both", "readiness-age", []string{"phase is Running", "Ready is True", "age"}, []string{"status-patch-lag"}},
	{"list local pods by owner and node, not by name", "local-pods-by-owner", []string{"controller=true", "kind", "apiVersion", "nodeName"}, []string{"ip-reused"}},
	{"order watches by resourceVersion and reconcile", "watch-by-version", []string{"resourceVersion", "full list"}, []string{"endpoint-propagation-lag", "ip-reused"}},
	{"check an address by PTR and by route; the route wins", "ptr-route-check", []string{"PTR", "route wins"}, []string{"duplicate-pod-ip"}},
	{"the CNI kind and its IPAM, the taint and the phase decide where the IP comes from", "know-ip-source", []string{"Calico", "Cilium", "static", "taints", "phase"}, []string{"cni-add-failed", "cni-add-slow", "ip-pool-exhausted"}},
	{"reuse of an IP breaks policies keyed by it", "ip-keyed-state", []string{"labels, not IPs"}, []string{"ip-reused", "policy-drop"}},
	{"without an overlay a pod IP may not be reachable from other nodes", "judge-by-place", []string{"where the capture was taken", "overlay"}, []string{"policy-drop"}},
	{"own health clients back off with jitter: exec", "cheap-exec", []string{"exponentially with jitter", "does not retry"}, []string{"exec-probe-failed"}},
	{"own health clients back off with jitter: gRPC", "grpc-health", []string{"exponentially with jitter"}, []string{"grpc-unhealthy"}},
	{"audit thread pools and collector around P95", "separate-health", []string{"thread pools", "garbage collection", "95th percentile"}, []string{"app-hang", "cpu-starvation"}},
	{"audit PLEG, collector and processor", "raise-cpu", []string{"PLEG", "garbage collection"}, []string{"app-hang", "cpu-starvation"}},
	{"a startup probe for anything slower than 10 s", "startup-probe", []string{"startupProbe", "10 s"}, []string{"app-slow-start", "probe-startup-budget-too-short"}},
	{"liveness cheaper and laxer than readiness", "laxer-liveness", []string{"cheaper and laxer"}, []string{"app-slow-start", "probe-startup-budget-too-short"}},
	{"no dependencies in a liveness probe", "no-dependencies", []string{"dependencies", "liveness"}, []string{"app-hang", "app-http-error"}},
	{"period at least as long as timeout", "period-over-timeout", []string{"periodSeconds", "timeoutSeconds"}, []string{"probe-timeout-too-tight"}},
	{"drain before a restart of kubelet or runtime", "drain-first", []string{"Drain", "kubelet or runtime"}, []string{"kubelet-restart", "runtime-down"}},
	{"slew the clock", "slew-time", []string{"slew", "step"}, []string{"clock-jump"}},
	{"size conntrack and the neighbour table", "neighbour-limits", []string{"gc_thresh", "conntrack"}, []string{"conntrack-exhausted", "arp-unanswered"}},
	{"a failure threshold that outlasts one sandbox cycle", "raise-failure-threshold", []string{"failureThreshold", "sandbox cycle"}, []string{"sandbox-recreated-ip-changed", "probe-threshold-too-low"}},
}

// TestAdvice holds the recommendations against that list, so that a rewording
// loses no advice and a cause keeps what it must recommend.
func TestAdvice(t *testing.T) {
	for _, a := range advice {
		t.Run(a.what, func(t *testing.T) {
			text := Recommendation(a.id)
			require.NotEmpty(t, text, a.id)
			for _, w := range a.words {
				assert.Contains(t, text, w)
			}
			for _, id := range a.causes {
				require.NotNil(t, Lookup(id), id)
				assert.True(t, slices.Contains(Lookup(id).Recommend, a.id), "%s does not recommend %s", id, a.id)
			}
		})
	}
}
