package rules

import (
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// recommendations maps ids to what to do next. The ids are stable, so that a
// fleet can count them; the texts may be reworded.
var recommendations = map[string]string{
	// Probe settings.
	"raise-timeout":           "Raise timeoutSeconds to 3-5 s and keep failureThreshold at 3 or more: with timeoutSeconds 1 a single lost SYN is a failed probe, because the kernel repeats a SYN only after about one second.",
	"period-over-timeout":     "Keep periodSeconds at least as long as timeoutSeconds: a probe that outlasts its period is followed by the next one at once.",
	"startup-probe":           "Give containers that need more than about 10 s to start a startupProbe with failureThreshold x periodSeconds above the 99th percentile of the start time; do not stretch initialDelaySeconds of the liveness probe instead.",
	"laxer-liveness":          "Make liveness cheaper and laxer than readiness (higher failureThreshold, longer period): a restart is the costliest reaction there is.",
	"no-dependencies":         "Do not check dependencies (database, other services) in a liveness probe: a restart does not repair them. Let readiness report them if traffic should stop.",
	"raise-failure-threshold": "Raise failureThreshold to 3 or more, so that one sandbox cycle or one lost packet does not change the pod's state.",
	"fix-probe-target":        "Point the probe at the port and path the container really serves; prefer a named port so that the two cannot drift apart.",
	"unset-probe-host":        "Remove host from the probe: it replaces the pod IP, so the probe may reach another machine. Set tcpSocket.host or httpGet.host only where the topology is known and fixed; a Host header belongs into httpHeaders.",
	"probe-final-path":        "Probe the final path instead of one that redirects: a redirect to another host name counts as success with a warning, one on the same host is followed up to ten times within one timeout.",
	"https-scheme":            "Set scheme: HTTPS on httpGet for a TLS port (certificates are not verified). A gRPC probe is always plain text; use an exec probe where the server demands TLS or client certificates.",
	"cheap-exec":              "Use a cheap exec command with timeoutSeconds above its 99th percentile; avoid shells and JVM command-line tools. If the command itself polls something, let it back off exponentially with jitter: the kubelet does not retry a failed probe within its period.",
	"exec-binary":             "Ship the probe command in the image (or use httpGet, tcpSocket or grpc): errored exec probes are discarded, so the container is neither ready nor restarted.",
	"grpc-health":             "Register the grpc.health.v1.Health service and set the status of the probed service name. Clients of your own health endpoint should back off exponentially with jitter; the kubelet makes one try per period.",
	"loopback-probe-host":     "For a hostNetwork pod that binds loopback only set the probe's host to 127.0.0.1.",

	// Application.
	"listen-everywhere":     "Bind the listener to 0.0.0.0 and [::] early in the start sequence, and check the port name and number against the probe.",
	"read-previous-logs":    "Read the log of the run before (kubectl logs --previous) and the exit code: fix why the process ends.",
	"separate-health":       "Serve the health endpoint outside the work queue, and look at thread pools, locks and garbage collection around the 95th percentile of the response time.",
	"fix-status-by-class":   "Look at the status: 404 or 405 means a wrong path or method, 401 or 403 authentication, 400 a Host header or TLS mismatch, 429 throttling, 5xx the application or a dependency. The body is only logged by a kubelet at verbosity 4 or more.",
	"find-closer":           "Find who closes the connection before an answer: a connection limit, a proxy with a dead backend, a process that is going down.",
	"raise-backlog":         "Raise the listen backlog and net.core.somaxconn, and find out why accept() stalls.",
	"raise-cpu":             "Raise the CPU limit and request of the container, and audit what competes for the processor (garbage collection, PLEG, other pods).",
	"raise-memory":          "Raise the memory limit or fix the leak. Exit code 137 alone does not prove this cause; the reason OOMKilled does.",
	"graceful-termination":  "No action for the failures themselves. If clients noticed, delay the shutdown with a preStop hook and drain connections.",
	"container-start-order": "Hold the application until the proxy has started (holdApplicationUntilProxyStarts, or a native sidecar), and check that the proxy reaches its control plane.",

	// Identity and addresses.
	"align-timelines":     "Set the timelines of CNI, runtime and kubelet side by side to prove the switch of the IP, and find what stopped the sandbox: a runtime restart, an eviction, a CNI DEL, a killed pause process.",
	"two-ips-normal":      "Readiness and liveness read the pod IP from the kubelet's cache at their own tick: across a sandbox change two log lines of one second may name two IPs. There is no common instant.",
	"no-pod-ip":           "Do not rely on a pod IP: use a Service name, identity or labels; where an IP must be logged, log metadata.uid and hostIP with it.",
	"downward-api":        "A container that takes its own IP through the Downward API should check for an empty value and fail fast; the variable is fixed at container start, so it is stale once the address changes, and in an init container it may still be empty.",
	"shorten-stale":       "Nothing to fix in the application: shorten the window (latency of runtime and PLEG) and keep the liveness failureThreshold at 3 or more.",
	"fix-runtime-ip":      "Repair the runtime or CNI result: after its restart a runtime must report the IPs of running sandboxes (containerd before 1.6.14 lost them).",
	"ip-holdoff":          "Enlarge the IPAM hold-off before an address is handed out again, and flush neighbour and conntrack entries when an address is released.",
	"ip-keyed-state":      "Key no cache and no policy by IP alone: a fast reuse applies the rules of the dead pod to the new one. NetworkPolicy selects labels, not IPs.",
	"watch-by-version":    "Consumers should order watch events by UID and resourceVersion and reconcile against a full list at intervals: caches drift.",
	"remove-duplicate":    "Remove the second owner of the address: delete the stale sandbox or network namespace (crictl rmp), reconcile IPAM with the running sandboxes, upgrade the CNI plugin.",
	"capture-l2":          "Capture with tcpdump -nn -e on the uplink, the bridge, the pod's host-side veth and inside the pod, and dump ip neigh, ip link, ip addr, bridge fdb show (or brctl showmacs) and dmesg, each before and after a ping from the pod.",
	"ping-heals":          "If a ping or curl from the pod to the node heals it, the fault is in a layer 2 table and not in the application.",
	"node-ip-order":       "Pin the order of --node-ip and of the CNI result, and let the application listen on both families: the primary address of a dual-stack pod follows the node's.",
	"host-network-rules":  "A hostNetwork pod is probed at the node IP: port conflicts, node firewalls and node address changes decide. Choose free ports and recreate the pod after the node's IP changed.",
	"local-pods-by-owner": "To list a node's pods filter by spec.nodeName and by the controlling ownerReference (controller=true, kind and apiVersion), never by name: a StatefulSet reuses names, only the UID is an identity.",
	"who-stands-between":  "A mesh or a CNI plugin may stand between an address and its pod: it redirects ports, sends probes on from an address of its own, or answers in the pod's place. Compare the pod's status, the runtime's sandbox and the interface itself before trusting one of them.",
	"ptr-route-check":     "Check an address in two ways, by its PTR name and by the route or podCIDR that covers it; where they conflict the route wins.",

	// Layer 2 and path.
	"fix-bridge-mac":     "Give the bridge a fixed MAC and every veth its own, set hairpin and promiscuous mode as the CNI plugin documents, and remove leaked veths.",
	"check-veth":         "Check the pod's veth pair and network namespace (link state, carrier), the IPAM state, and the neighbour table limits gc_thresh1/2/3.",
	"exclude-pod-cidr":   "Exclude the pod CIDR from the pools of VIP managers and remove overlapping networks.",
	"announce-on-add":    "Let the CNI plugin send a gratuitous ARP on ADD and flush the neighbour entry on DEL; ip neigh del ADDRESS heals at once.",
	"allow-node":         "Allow ingress from the node to the probed port (and from 169.254.7.127/32 and fd16:9254:7127:1337:ffff:ffff:ffff:ffff/128 with Istio ambient). Most CNI plugins exempt the local kubelet: check the version for bugs.",
	"scope-reject":       "Remove the REJECT rule or narrow it to what it was meant for.",
	"conntrack-size":     "Raise nf_conntrack_max, shorten its timeouts, and find the source of the flows.",
	"reply-path":         "Fix the choice of source address or interface on the node, exempt node traffic from NOTRACK and INVALID drops, and check rp_filter.",
	"align-mtu":          "Align the MTU of veth, bridge and tunnel, let ICMP type 3 code 4 pass, or clamp the MSS.",
	"find-loss":          "Find where packets are lost or late: qdisc statistics, softirq load, a noisy neighbour.",
	"ephemeral-ports":    "Upgrade the kubelet (probe sockets linger 1 s since 1.27 and in late patch releases of 1.24-1.26), widen ip_local_port_range, or run fewer probes.",
	"judge-by-place":     "Judge reachability by where the capture was taken: without an overlay a pod IP need not be reachable from other nodes.",
	"neighbour-limits":   "Size the neighbour table (gc_thresh1/2/3) and conntrack for the number of pods and flows of the node.",
	"mesh-repair-rules":  "Restart the pod so that its redirect rules and its proxy are set up together, and fix the race of the mesh's CNI plugin.",
	"mesh-rewrite":       "Let the mesh rewrite HTTP probes (rewriteAppHTTPProbers: true), or exclude the probed port from interception, for extra sidecars too.",
	"mesh-rewrite-check": "Compare the rewritten probe (path /app-health/..., port 15020) with the application's bind address and with ISTIO_KUBE_APP_PROBERS.",
	"mesh-snat-allow":    "Allow the mesh's probe source address in policies and follow the CNI vendor's notes for ambient mode.",

	// Node, runtime, CNI.
	"drain-first":       "Drain the node before a kubelet or runtime restart; from 1.35 on a kubelet keeps readiness across its restart.",
	"runtime-latency":   "Look at the latency of the container runtime and at the load of the node: PLEG and the sync loop wait for both.",
	"why-runtime":       "Find out why the runtime restarted, and avoid exec liveness probes for node agents: they fail whenever the runtime is away.",
	"slew-time":         "Let NTP slew instead of step, and synchronize before the kubelet starts.",
	"cni-plugin-named":  "Look at the CNI plugin named in the error (type= and name=), not at the pod.",
	"cni-latency":       "Look at the latency of IPAM and of the API server during CNI ADD; give the pod a startupProbe, and do not read the pod IP in init containers.",
	"enlarge-pool":      "Enlarge the address pool or use prefix delegation, and remove leaked allocations.",
	"know-ip-source":    "Know where the address comes from: the CNI kind and its IPAM (host-local range, Calico pool, Cilium cluster pool, static reservation), node taints and the pod's phase decide together.",
	"api-rate":          "Raise kubeAPIQPS and kubeAPIBurst of the kubelet and look at the API server's latency.",
	"endpoint-health":   "Clients learn of an address, and that it is gone, from EndpointSlices, later than the kubelet: let them retry on another endpoint, and look at the endpoint controller's batch period and health.",
	"readiness-age":     "Take a pod as ready only when phase is Running and condition Ready is True, and look at the age of that status.",
	"collect-next-time": "Collect what is listed as missing while the failure lasts, then run the analysis again with it.",
}

// Recommendation returns the text of a recommendation, "" for an unknown id.
func Recommendation(id string) string { return recommendations[id] }

// RecommendationIDs returns all ids, sorted.
func RecommendationIDs() []string {
	ids := make([]string, 0, len(recommendations))
	for id := range recommendations {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, strings.Compare)
	return ids
}

// recommend renders ids in their order, without repeats.
func recommend(ids ...string) []model.Recommendation {
	out := []model.Recommendation{}
	for _, id := range ids {
		text, ok := recommendations[id]
		if !ok || slices.ContainsFunc(out, func(r model.Recommendation) bool { return r.ID == id }) {
			continue
		}
		out = append(out, model.Recommendation{ID: id, Text: text})
	}
	return out
}
