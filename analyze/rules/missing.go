package rules

import (
	"maps"
	"slices"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// Ids of observations that are worth collecting. Each command prints something
// that the tool reads.
const (
	MissPodCapture   = "pod-capture"
	MissNodeCapture  = "node-capture"
	MissVethCapture  = "veth-capture"
	MissL2Tables     = "l2-tables"
	MissListeners    = "listeners"
	MissPodRules     = "pod-rules"
	MissNodeRules    = "node-rules"
	MissKernelLog    = "kernel-log"
	MissKubeletLog   = "kubelet-log"
	MissKubeletV4    = "kubelet-v4"
	MissAudit        = "audit"
	MissRuntimeLog   = "runtime-log"
	MissSandbox      = "sandbox-status"
	MissPodObjects   = "pod-objects"
	MissEvents       = "events"
	MissCPU          = "cpu-counters"
	MissListenDrops  = "listen-counters"
	MissAppLog       = "app-log"
	MissPolicies     = "policies"
	MissProxyLog     = "proxy-log"
	MissRoutes       = "routes"
	MissIPAM         = "ipam-state"
	MissEndpoints    = "endpoints"
	MissTimeLog      = "time-log"
	MissBeforeAfter  = "capture-recovery"
	MissProbeVerbose = "verbosity"
)

// missingTable says what an observation is, what it would settle, and how to
// collect it. NODE, POD, NAMESPACE, CONTAINER, BRIDGE and PID stand for the
// reader's own names.
var missingTable = map[string]model.Missing{
	MissPodCapture: observation("a capture inside the pod during a failure",
		"whether the SYN reaches the pod and who answers it: the pod itself (application, rule in the pod) or something before it",
		"nsenter -n -t PID tcpdump -nn -e -i eth0 -w pod-eth0.pcap"),
	MissNodeCapture: observation("a capture on the node during a failure, without a filter",
		"whether a SYN leaves the node, who answers, after how long, and whether ARP is answered",
		"tcpdump -nn -e -i BRIDGE -w node-bridge.pcap; tcpdump -nn -i any -w node-any.pcap"),
	MissVethCapture: observation("a capture on the pod's host-side interface",
		"whether the frame is forwarded to the right port of the bridge",
		"tcpdump -nn -e -i VETH -w pod-veth.pcap"),
	MissL2Tables: observation("the neighbour and forwarding tables of the node, before and after a ping from the pod",
		"a stale neighbour entry, a forwarding entry that points to the wrong port, a second owner of the MAC",
		"ip neigh show; bridge fdb show; ip addr; ip link"),
	MissListeners: observation("the listening sockets in the pod's network namespace",
		"whether the application listens on the probed port, and on which address",
		"nsenter -n -t PID ss -ltn"),
	MissPodRules: observation("the packet filter rules in the pod's network namespace",
		"a REJECT, DROP or REDIRECT rule that answers or swallows the probe",
		"nsenter -n -t PID iptables-save; nsenter -n -t PID nft list ruleset"),
	MissNodeRules: observation("the packet filter rules of the node",
		"a rule on the node that drops or rejects probes",
		"iptables-save; nft list ruleset"),
	MissKernelLog: observation("the kernel log of the node",
		"conntrack or neighbour table overflow, SYN flooding, policy log lines, OOM kills, links going down",
		"dmesg -T; journalctl -k -o short-iso"),
	MissKubeletLog: observation("the kubelet's journal of the window",
		"every failed attempt with its error text; sandbox changes, kills and restarts",
		"journalctl -u kubelet -o short-iso-precise; oc adm node-logs NODE -u kubelet"),
	MissKubeletV4: observation("a kubelet journal at verbosity 4",
		"the target of every probe, successes, and the moment a new pod IP was known",
		"kubelet --v=4, then journalctl -u kubelet -o json"),
	MissAudit: observation("API audit log of pods/status patches (level Request or above)",
		"when the API learned an IP or a readiness change",
		"oc adm node-logs --role=master --path=kube-apiserver/audit.log"),
	MissRuntimeLog: observation("the journal of the container runtime",
		"which sandbox belongs to which pod and when it was created, stopped and torn down",
		"journalctl -u containerd -u crio -o short-iso-precise"),
	MissSandbox: observation("the runtime's view of the sandbox",
		"the IP the runtime reports now, the sandbox's state and attempt",
		"crictl pods; crictl inspectp SANDBOX"),
	MissPodObjects: observation("the pod objects",
		"what the probe declares (port, host, timeouts), restarts, last exit, IPs in status",
		"kubectl get pod -n NAMESPACE POD -o yaml"),
	MissEvents: observation("the events of the namespace",
		"kills, back-offs, sandbox changes and failed probes that the log leaves out",
		"kubectl get events -n NAMESPACE -o yaml"),
	MissCPU: observation("CPU throttling and pressure of the container and the node",
		"whether the application was starved of processor time or hung by itself",
		"cat /sys/fs/cgroup/kubepods.slice/.../cpu.stat; cat /proc/pressure/cpu"),
	MissListenDrops: observation("the listen counters in the pod's network namespace",
		"whether SYNs are dropped because the accept queue is full",
		"nsenter -n -t PID nstat -az; nsenter -n -t PID ss -ltn"),
	MissAppLog: observation("the container's log, of the previous run too",
		"whether and when the application listened, and why it ended or hung",
		"kubectl logs -n NAMESPACE POD -c CONTAINER --timestamps; kubectl logs --previous -n NAMESPACE POD -c CONTAINER --timestamps (keep the command with its output: it says whose log this is)"),
	MissPolicies: observation("the network policies that select the pod",
		"whether a policy began to apply when the failures began",
		"kubectl get networkpolicy -A -o yaml"),
	MissProxyLog: observation("the log of the mesh's proxy container",
		"whether the proxy was ready and what it did with the probe",
		"kubectl logs -n NAMESPACE POD -c istio-proxy --timestamps (keep the command with its output: it says whose log this is)"),
	MissRoutes: observation("the routes of the node",
		"whether the pod IP is routed to the pod, or is local to the node",
		"ip route get POD_IP; ip route"),
	MissIPAM: observation("the state of the address management",
		"which sandbox holds which address, and whether an address is held twice or leaked",
		"grep -r . /var/lib/cni/networks/; cat /var/run/aws-node/ipam.json"),
	MissEndpoints: observation("the EndpointSlices of the service",
		"when clients learned of the pod's readiness or address",
		"kubectl get endpointslices -n NAMESPACE -o yaml"),
	MissTimeLog: observation("the time service's journal",
		"whether the clock was stepped",
		"journalctl -u chronyd -u systemd-timesyncd -o short-iso-precise"),
	MissBeforeAfter: observation("a capture that goes on until the probes succeed again",
		"what healed it: a frame from the pod, a container start, a rule that went away",
		"tcpdump -nn -e -i BRIDGE -w node-bridge.pcap, stopped two periods after the recovery"),
	MissProbeVerbose: observation("a kubelet log at verbosity 1 or more, or the Events",
		"which probes failed: at verbosity 0 the kubelet logs none of them",
		"kubelet --v=2; kubectl get events -A -o yaml"),
}

// observation builds a row: what it is, what it would settle, how to collect it.
func observation(what, settles, how string) model.Missing {
	return model.Missing{What: what, WouldSettle: settles, HowToCollect: how}
}

// ObservationIDs returns the ids of all observations, sorted.
func ObservationIDs() []string { return slices.Sorted(maps.Keys(missingTable)) }

// MissingObservations returns all rows, in the order of their ids.
func MissingObservations() []model.Missing {
	out := make([]model.Missing, 0, len(missingTable))
	for _, id := range ObservationIDs() {
		out = append(out, missingTable[id])
	}
	return out
}

// MissingObservation returns the row of the table; ok is false for an unknown
// id.
func MissingObservation(id string) (m model.Missing, ok bool) {
	m, ok = missingTable[id]
	return m, ok
}
