package event

// Keys of the facts of an ObjectSeen. Lists are joined by commas; a key may be
// repeated where noted. A key that does not apply is absent.
const (
	// Policies of any API group. FactPodSelector is canonical: "app=web,tier in
	// (a,b),!legacy", empty for "all pods of the namespace"; Calico's own selectors
	// stand as they are written.
	FactPodSelector   = "pod-selector"
	FactPolicyTypes   = "policy-types"   // "Ingress", "Egress", "Ingress,Egress"
	FactIngressRules  = "ingress-rules"  // how many; "0" with type Ingress isolates
	FactIngressAny    = "ingress-any"    // "true": a rule admits every source
	FactIngressCIDRs  = "ingress-cidrs"  // prefixes admitted
	FactIngressExcept = "ingress-except" // prefixes excepted from them
	FactIngressPorts  = "ingress-ports"  // "8080/TCP,http/TCP"; absent: a rule admits every port
	FactIngressPeers  = "ingress-peers"  // "pods(app=web)", "namespaces(team=a)", entities; repeated
	FactIngressDeny   = "ingress-deny"   // how many rules deny
	FactEgressRules   = "egress-rules"
	FactOrder         = "order" // of Calico and admin policies
	FactMTLSMode      = "mtls-mode"
	FactPortMTLS      = "port-mtls" // "8080=DISABLE"; repeated

	// Namespaces. FactMeshMode is the label that enrols all pods of a namespace (or one
	// pod) in a mesh without sidecars: "ambient"; "" and others take it out.
	FactMeshMode = "istio.io/dataplane-mode"

	// Endpoints, EndpointSlice, Service.
	FactService     = "service"
	FactAddressType = "address-type"
	FactNotReady    = "not-ready"   // name of a pod listed and not ready; repeated
	FactTerminating = "terminating" // name of a pod listed and terminating; repeated
	FactLastChange  = "last-change" // last-change-trigger-time, RFC 3339
	FactServicePort = "port"        // "80->8080/TCP"; repeated
	FactClusterIP   = "cluster-ip"
	FactSelector    = "selector"

	// Address pools, CNI objects, cluster network.
	FactCIDR        = "cidr" // repeated
	FactNode        = "node"
	FactDisabled    = "disabled"
	FactBlockSize   = "block-size"
	FactAllocations = "allocations" // how many addresses are taken
	FactEncap       = "encapsulation"
	FactNetworkType = "network-type"
	FactMTU         = "mtu"
	FactEnforcing   = "policy-enforcing" // "ingress", "ingress,egress"
	FactState       = "state"

	// FactAuditVerb is the verb of a request for the object that an audit log
	// recorded, at the event's time; ObjectKind is then the resource's plural.
	FactAuditVerb = "audit-verb"
)

// Tools of a HostFact: the command or file a statement comes from.
const (
	ToolNeigh     = "ip-neigh"  // IP, MAC, Device; Key "state", Value REACHABLE, STALE, FAILED ...
	ToolAddr      = "ip-addr"   // IP, Device; Key "addr", Value with its prefix length
	ToolLink      = "ip-link"   // Device, MAC; Key "state", "mtu", "master", "peer", "flags", "kind"
	ToolRoute     = "ip-route"  // IP = gateway, Device; Key destination, or "get" with IP = destination; Value the rest
	ToolFDB       = "fdb"       // MAC, Device = port; Key = bridge, Value "local", "permanent", "age 12.3s" ...
	ToolSockets   = "ss"        // IP, Port; Key "listen", Value "recv-q/send-q"; Key "process", Value its name
	ToolIPTables  = "iptables"  // IP = destination, Port; Key FirewallDrop ..., Value the rule; Device = interface
	ToolNFT       = "nft"       // as iptables
	ToolNstat     = "nstat"     // Key counter ("TcpExtListenOverflows"), Value number
	ToolCPUStat   = "cpu.stat"  // Key "nr_throttled" ..., Value number
	ToolPSI       = "psi"       // Key "cpu.some.avg10" ..., Value percent, or microseconds for "total"
	ToolConntrack = "conntrack" // Key "count", "max", "insert_failed", "drop" ..., Value number
	ToolSysctl    = "sysctl"    // Key name, Value as printed
	ToolIPAM      = "ipam"      // Key "last-reserved" ..., IP
)

// Keys of firewall facts.
const (
	FirewallDrop       = "drop"
	FirewallReject     = "reject"
	FirewallRedirect   = "redirect"
	FirewallNoTrack    = "notrack"
	FirewallPolicyDrop = "policy-drop" // a base chain drops by default
)
