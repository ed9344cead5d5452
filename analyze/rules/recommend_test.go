package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shortNames are how people call causes in reports and in the list below, and the
// rules that are meant. "*" stands for all rules of that beginning.
var shortNames = map[string][]string{
	"sandbox-recreated": {"sandbox-recreated-ip-changed"},
	"dual-stack":        {"dual-stack-primary-flip"},
	"endpoint-lag":      {"endpoint-propagation-lag"},
	"status-lag":        {"status-patch-lag"},
	"startup-budget":    {"probe-startup-budget-too-short"},
	"threshold":         {"probe-threshold-too-low"},
	"timeout":           {"probe-timeout-too-tight"},
	"target":            {"probe-target-misconfigured"},
	"two-ip reports":    {"sandbox-recreated-ip-changed", "stale-status-ip", "dual-stack-primary-flip"},
	"grpc":              {"grpc-unhealthy"},
	"exec":              {"exec-probe-failed"},
	"cni-*":             {"cni-add-failed", "cni-add-slow"},
	"mesh-*":            {"mesh-mtls-strict", "mesh-probe-rewrite-broken", "mesh-probe-snat-blocked", "mesh-redirect-dead-port", "mesh-sidecar-not-ready"},
}

// rulesOf resolves a name: a rule's own id or a short one.
func rulesOf(name string) []string {
	if Lookup(name) != nil {
		return []string{name}
	}
	return shortNames[name]
}

// TestShortNames refuses a table that lacks a rule it stands for, names one that
// does not exist, or shadows an id.
func TestShortNames(t *testing.T) {
	used := map[string]bool{}
	for _, a := range advice {
		for _, name := range a.causes {
			assert.NotEmpty(t, rulesOf(name), "%q is neither a cause nor a short name", name)
			used[name] = true
		}
	}
	for name, ids := range shortNames {
		assert.True(t, used[name], "nothing uses the short name %q", name)
		assert.Nil(t, Lookup(name), "%q is a cause of its own", name)
		for _, id := range ids {
			assert.NotNil(t, Lookup(id), "%s: no cause has the id %s", name, id)
		}
		if prefix, ok := strings.CutSuffix(name, "*"); ok {
			var all []string
			for _, r := range Rules() {
				if strings.HasPrefix(r.ID, prefix) {
					all = append(all, r.ID)
				}
			}
			assert.Equal(t, all, ids, name)
		}
	}
}

// advice is what people who debugged such failures wished to have been told: the
// recommendation that says it, words it must say, and the causes that must give
// it.
var advice = []struct {
	what   string
	id     string
	words  []string
	causes []string
}{
	{"a TCP probe's timeout of 1 s is strict: loosen timeout and threshold", "raise-timeout", []string{"timeoutSeconds", "failureThreshold"}, []string{"timeout", "packet-loss-latency"}},
	{"tcpSocket.host only with a known topology", "unset-probe-host", []string{"tcpSocket.host", "topology"}, []string{"target", "stale-status-ip"}},
	{"hostNetwork pods follow the node's address and rules", "host-network-rules", []string{"hostNetwork", "node IP"}, []string{"host-network-target"}},
	{"the primary address of a dual-stack pod may change", "node-ip-order", []string{"--node-ip", "both families"}, []string{"dual-stack"}},
	{"align the timelines of CNI, runtime and kubelet to prove the switch", "align-timelines", []string{"CNI, runtime and kubelet"}, []string{"sandbox-recreated"}},
	{"readiness and liveness read the cache independently", "two-ips-normal", []string{"no common instant"}, []string{"two-ip reports"}},
	{"capture with MACs at every point, and the tables before and after a ping", "capture-l2",
		[]string{"tcpdump -nn -e", "uplink", "bridge", "veth", "inside the pod", "ip neigh", "ip link", "ip addr", "brctl showmacs", "dmesg", "before and after a ping"}, []string{"duplicate-pod-ip", "bridge-fdb-flip", Inconclusive}},
	{"a ping from the pod that heals it points at a layer 2 table", "ping-heals", []string{"ping or curl", "not in the application"}, []string{"duplicate-pod-ip", "bridge-fdb-flip"}},
	{"do not rely on a pod IP; log uid and hostIP with it", "no-pod-ip", []string{"Service name", "metadata.uid", "hostIP"}, []string{"ip-reused", "sandbox-recreated", "endpoint-lag"}},
	{"Downward API: check for an empty value, fail fast, not in init containers", "downward-api", []string{"empty value", "fail fast", "init container"}, []string{"pod-ip-empty", "cni-add-slow"}},
	{"Downward API: the value is stale once the address changes", "downward-api", []string{"fixed at container start", "stale"}, []string{"two-ip reports"}},
	{"a mesh or the CNI may answer or send in the pod's place", "who-stands-between", []string{"mesh", "CNI", "redirects", "sandbox"}, []string{"mesh-*", "stale-status-ip"}},
	{"endpoints lag behind the kubelet", "endpoint-health", []string{"EndpointSlices", "later than the kubelet"}, []string{"endpoint-lag"}},
	{"neighbour tables have limits", "check-veth", []string{"gc_thresh"}, []string{"arp-unanswered"}},
	{"ready means phase Running and condition Ready, and the age of both", "readiness-age", []string{"phase is Running", "Ready is True", "age"}, []string{"status-lag", "endpoint-lag"}},
	{"list local pods by owner and node, not by name", "local-pods-by-owner", []string{"controller=true", "kind", "apiVersion", "nodeName"}, []string{"ip-reused"}},
	{"order watches by resourceVersion and reconcile", "watch-by-version", []string{"resourceVersion", "full list"}, []string{"endpoint-lag", "ip-reused"}},
	{"check an address by PTR and by route; the route wins", "ptr-route-check", []string{"PTR", "route wins"}, []string{"duplicate-pod-ip"}},
	{"the CNI kind and its IPAM, the taint and the phase decide where the IP comes from", "know-ip-source", []string{"Calico", "Cilium", "static", "taints", "phase"}, []string{"cni-*", "ip-pool-exhausted"}},
	{"reuse of an IP breaks policies keyed by it", "ip-keyed-state", []string{"labels, not IPs"}, []string{"ip-reused", "policy-drop"}},
	{"without an overlay a pod IP may not be reachable from other nodes", "judge-by-place", []string{"where the capture was taken", "overlay"}, []string{"policy-drop"}},
	{"own health clients back off with jitter: exec", "cheap-exec", []string{"exponentially with jitter", "does not retry"}, []string{"exec"}},
	{"own health clients back off with jitter: gRPC", "grpc-health", []string{"exponentially with jitter"}, []string{"grpc"}},
	{"audit thread pools and collector around P95", "separate-health", []string{"thread pools", "garbage collection", "95th percentile"}, []string{"app-hang", "cpu-starvation"}},
	{"audit PLEG, collector and processor", "raise-cpu", []string{"PLEG", "garbage collection"}, []string{"app-hang", "cpu-starvation"}},
	{"a startup probe for anything slower than 10 s", "startup-probe", []string{"startupProbe", "10 s"}, []string{"app-slow-start", "startup-budget"}},
	{"liveness cheaper and laxer than readiness", "laxer-liveness", []string{"cheaper and laxer"}, []string{"app-slow-start", "startup-budget"}},
	{"no dependencies in a liveness probe", "no-dependencies", []string{"dependencies", "liveness"}, []string{"app-hang", "app-http-error"}},
	{"period at least as long as timeout", "period-over-timeout", []string{"periodSeconds", "timeoutSeconds"}, []string{"timeout"}},
	{"drain before a restart of kubelet or runtime", "drain-first", []string{"Drain", "kubelet or runtime"}, []string{"kubelet-restart", "runtime-down"}},
	{"slew the clock", "slew-time", []string{"slew", "step"}, []string{"clock-jump"}},
	{"size conntrack and the neighbour table", "neighbour-limits", []string{"gc_thresh", "conntrack"}, []string{"conntrack-exhausted", "arp-unanswered"}},
	{"a failure threshold that outlasts one sandbox cycle", "raise-failure-threshold", []string{"failureThreshold", "sandbox cycle"}, []string{"sandbox-recreated", "threshold"}},
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
			for _, id := range given(a.causes) {
				require.NotNil(t, Lookup(id), id)
				assert.True(t, slices.Contains(Lookup(id).Recommend, a.id), "%s does not recommend %s", id, a.id)
			}
		})
	}
}

// given resolves all names of a row.
func given(names []string) []string {
	var out []string
	for _, n := range names {
		out = append(out, rulesOf(n)...)
	}
	return out
}
