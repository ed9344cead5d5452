package source

// Why members are not read. Each is a sentence about all of them.
const (
	whyCollector = "the collector's own log or settings"
	whyVersion   = "version of a tool"
	whyRendered  = "a rendered copy of objects that are read in their own form"
	whyKind      = "Kubernetes objects without a bearing on probes"
	whySecret    = "configuration and secrets are not read"
	whyImages    = "lists of container images"
	whyOVN       = "database of the network plug-in"
	whyMetrics   = "metrics and profiles"
	whyHost      = "host inventory without a bearing on probes"
)

// layouts are the collectors whose trees are known. What their rules do not
// name is judged by its content alone, so a rule is needed only where the path
// tells something the content does not. Sources of each tree: the collectors'
// own scripts, named after the layout.
var layouts = []layout{
	// openshift/must-gather collection-scripts, openshift/oc pkg/cli/admin/inspect.
	{"must-gather", []rule{
		{"host_service_logs/masters/*", RoleHostLog, ""},
		{"host_service_logs/workers/*", RoleHostLog, ""},
		{"host_service_logs/{node}/*", RoleHostLog, ""},
		{"nodes/{node}/*_logs_kubelet", RoleHostLog, ""},
		{"nodes/{node}/*_logs_*", RoleHostLog, ""},
		{"audit_logs/*/{node}-audit-*.log", RoleAudit, ""},
		{"audit_logs/*/{node}-audit.log", RoleAudit, ""},
		{"namespaces/{ns}/pods/{pod}/{container}/*/logs/*", RoleContainerLog, ""},
		{"namespaces/{ns}/pods/{pod}/{container}/*/logs/rotated/*", RoleContainerLog, ""},
		{"namespaces/{ns}/pods/{pod}/*.yaml", RoleObjects, ""},
		{"api_priority_and_fairness/**", "", whyMetrics},
		{"namespaces/{ns}/core/secrets.yaml", "", whySecret},
		{"namespaces/{ns}/core/configmaps.yaml", "", whySecret},
		{"namespaces/{ns}/core/secrets/**", "", whySecret},
		{"namespaces/{ns}/core/configmaps/**", "", whySecret},
		{"namespaces/{ns}/core/serviceaccounts/**", "", whyKind},
		{"namespaces/{ns}/core/persistentvolumeclaims.yaml", "", whyKind},
		{"namespaces/{ns}/core/replicationcontrollers.yaml", "", whyKind},
		{"namespaces/{ns}/build.openshift.io/**", "", whyKind},
		{"namespaces/{ns}/image.openshift.io/**", "", whyKind},
		{"namespaces/{ns}/route.openshift.io/**", "", whyKind},
		{"namespaces/{ns}/monitoring.coreos.com/**", "", whyKind},
		{"namespaces/{ns}/operators.coreos.com/**", "", whyKind},
		{"namespaces/{ns}/rbac.authorization.k8s.io/**", "", whyKind},
		{"namespaces/{ns}/cloudcredential.openshift.io/**", "", whyKind},
		{"namespaces/{ns}/tuned.openshift.io/**", "", whyKind},
		{"namespaces/{ns}/machine.openshift.io/**", "", whyKind},
		{"cluster-scoped-resources/apiextensions.k8s.io/**", "", whyKind},
		{"cluster-scoped-resources/apiregistration.k8s.io/**", "", whyKind},
		{"cluster-scoped-resources/rbac.authorization.k8s.io/**", "", whyKind},
		{"cluster-scoped-resources/storage.k8s.io/**", "", whyKind},
		{"cluster-scoped-resources/imageregistry.operator.openshift.io/**", "", whyKind},
		{"cluster-scoped-resources/machineconfiguration.openshift.io/**", "", whyKind},
		{"cluster-scoped-resources/operators.coreos.com/**", "", whyKind},
		{"cluster-scoped-resources/console.openshift.io/**", "", whyKind},
		{"cluster-scoped-resources/oauth.openshift.io/**", "", whyKind},
		{"cluster-scoped-resources/security.openshift.io/**", "", whyKind},
		{"cluster-scoped-resources/apiserver.openshift.io/**", "", whyKind},
		{"cluster-scoped-resources/helm.openshift.io/**", "", whyKind},
		{"cluster-scoped-resources/samples.operator.openshift.io/**", "", whyKind},
		{"cluster-scoped-resources/migration.k8s.io/**", "", whyKind},
		{"ingress_controllers/**", "", whyHost},
		{"web_hooks/**", "", whyKind},
		{"event-filter.html", "", whyRendered},
		{"must-gather.logs", "", whyCollector},
		{"gather.logs", "", whyCollector},
		{"gather-debug.log", "", whyCollector},
		{"nodes/skipped_nodes.txt", "", whyCollector},
		{"network_logs/*db*", "", whyOVN},
		{"network_logs/ovnk_database_store*/**", "", whyOVN},
		{"etcd_info/**", "", whyMetrics},
		{"monitoring/**", "", whyMetrics},
		{"pod_network_connectivity_check/*.yaml", RoleObjects, ""},
	}},
	// awslabs/amazon-eks-ami eks-log-collector.sh.
	{"eks", []rule{
		{"kubelet/kubelet.log", RoleHostLog, ""},
		{"kubelet/svc.log", "", whyCollector},
		{"containerd/containerd-log.txt", RoleHostLog, ""},
		{"ipamd/ipam.json", RoleNetwork, ""},
		{"ipamd/*_ignore.txt", "", whyCollector},
		{"networking/iproute.txt", RoleNetwork, ""},
		{"networking/conntrack.txt", RoleNetwork, ""},
		{"networking/resolv.conf", "", whyHost},
		{"nodeadm/**", "", whyHost},
		{"sandbox-image/**", "", whyImages},
		{"system/instance-id.txt", "", whyHost},
		{"system/region.txt", "", whyHost},
		{"system/script-params.txt", "", whyCollector},
		{"docker/docker.log", RoleHostLog, ""},
		{"kernel/uname.txt", "", whyHost},
	}},
	// sosreport/sos plug-ins: a command's output under its mangled name.
	{"sos", []rule{
		{"sos_commands/*/journalctl_*", RoleHostLog, ""},
		{"sos_commands/date/date", RoleContext, ""},
		{"sos_commands/kubernetes/**", RoleObjects, ""},
		{"sos_commands/openshift/**", RoleObjects, ""},
		{"sos_commands/networking/**", RoleNetwork, ""},
		{"sos_commands/firewall_tables/**", RoleNetwork, ""},
		{"sos_commands/host/hostname", "", whyHost},
		{"sos_commands/rpm/**", "", whyHost},
		{"sos_commands/hardware/**", "", whyHost},
		{"sos_commands/block/**", "", whyHost},
		{"sos_commands/filesys/**", "", whyHost},
		{"sos_commands/selinux/**", "", whyHost},
		{"sos_commands/systemd/**", "", whyHost},
		{"sos_logs/**", "", whyCollector},
		{"sos_reports/**", "", whyCollector},
		{"sos_strings/**", "", whyHost},
		{"version.txt", "", whyVersion},
		{"installed-rpms", "", whyHost},
		{"etc/machine-id", "", whyHost},
		{"etc/hostname", "", whyHost},
	}},
	// rancherlabs/support-tools rancher2_logs_collector.sh.
	{"rancher", []rule{
		{"{node}-20??-??-??_??_??_??/collector-output.log", "", whyCollector},
		{"{node}-20??-??-??_??_??_??/systeminfo/date", RoleContext, ""},
		{"{node}-20??-??-??_??_??_??/systeminfo/dmesg", RoleHostLog, ""},
		{"{node}-20??-??-??_??_??_??/systeminfo/**", "", whyHost},
		{"{node}-20??-??-??_??_??_??/journald/*", RoleHostLog, ""},
		{"{node}-20??-??-??_??_??_??/networking/*", RoleNetwork, ""},
		{"{node}-20??-??-??_??_??_??/rke2/agent-logs/*", RoleHostLog, ""},
		{"{node}-20??-??-??_??_??_??/rke2/containerd.log", RoleHostLog, ""},
		{"*/kubectl/version", "", whyVersion},
		{"*/kubectl/*", RoleObjects, ""},
		{"*/kubectl/poddescribe/*", RoleObjects, ""},
	}},
	// Azure/aks-periscope exporter.
	{"aks-periscope", []rule{
		{"systemlogs/kubelet", RoleHostLog, ""},
		{"systemlogs/docker", RoleHostLog, ""},
		{"kubeobjects/{ns}_pod_{pod}", RoleObjects, ""},
		{"kubeobjects/*", RoleObjects, ""},
		{"dns/kubernetes", "", whyHost},
		{"dns/virtualmachine", "", whyHost},
		{"kubeletcmd/kubeletcmd", "", whyHost},
		{"networkconfig/networkconfig", "", whyHost},
		{"poddisruptionbudget/pdb", "", whyKind},
	}},
	// replicatedhq/troubleshoot collectors.
	{"troubleshoot", []rule{
		{"cluster-resources/*-errors.json", "", whyCollector},
		{"cluster-resources/configmaps/**", "", whySecret},
		{"cluster-resources/pods/logs/{ns}/{pod}/{container}-previous.log", RoleContainerLog, ""},
		{"cluster-resources/pods/logs/{ns}/{pod}/{container}.log", RoleContainerLog, ""},
		{"cluster-resources/**", RoleObjects, ""},
		{"cluster-info/cluster_version.json", "", whyVersion},
		{"host-collectors/run-host/*-info.json", "", whyCollector},
		{"host-collectors/run-host/*", RoleHostLog, ""},
		{"host-collectors/journald/*", RoleHostLog, ""},
		{"host-collectors/{node}/*/*", RoleHostLog, ""},
		{"analysis.json", "", whyCollector},
		{"version.yaml", "", whyVersion},
	}},
	// A node's own /var/log.
	{"node", []rule{
		{"var/log/pods/{ns}_{pod}_{uid}/{container}/*.log", RoleContainerLog, ""},
		{"var/log/containers/{pod}_{ns}_{container}-????????????????????????????????????????????????????????????????.log", RoleContainerCopy, ""},
	}},
	// kubernetes-sigs/kind pkg/cluster/internal/logs.
	{"kind", []rule{
		{"{node}/pods/{ns}_{pod}_{uid}/{container}/*.log", RoleContainerLog, ""},
		{"{node}/containers/{pod}_{ns}_{container}-????????????????????????????????????????????????????????????????.log", RoleContainerCopy, ""},
		{"{node}/journal.log", RoleHostLog, ""},
		{"kind-version.txt", "", whyVersion},
		{"docker-info.txt", "", whyVersion},
		{"podman-info.txt", "", whyVersion},
		{"*/kubernetes-version.txt", "", whyVersion},
		{"*/images.log", "", whyImages},
		{"*/inspect.json", "", whyHost},
		{"*/serial.log", "", whyHost},
	}},
	// kubectl cluster-info dump.
	{"cluster-info-dump", []rule{
		{"{ns}/{pod}/logs.txt", RoleContainerLog, ""},
		{"*/replication-controllers.json", "", whyKind},
	}},
	// Whatever the collector.
	{"", []rule{
		{"timestamp", RoleContext, ""},
		{"version", RoleContext, ""},
		{"*.png", "", "images"}, {"*.jpg", "", "images"}, {"*.jpeg", "", "images"}, {"*.gif", "", "images"},
		{"*.svg", "", "images"}, {"*.ico", "", "images"}, {"*.webp", "", "images"},
		{"*.html", "", "web pages"}, {"*.htm", "", "web pages"}, {"*.css", "", "web pages"}, {"*.js", "", "web pages"},
		{"*.woff", "", "web pages"}, {"*.woff2", "", "web pages"}, {"*.ttf", "", "web pages"},
		{"*.pdf", "", "documents"}, {"*.docx", "", "documents"}, {"*.xlsx", "", "documents"}, {"*.md", "", "documents"},
		{"*.crt", "", "certificates and keys"}, {"*.pem", "", "certificates and keys"}, {"*.key", "", "certificates and keys"},
		{"*.csr", "", "certificates and keys"}, {"*.p12", "", "certificates and keys"},
		{"*.pprof", "", whyMetrics}, {"*.prom", "", whyMetrics}, {"*.metrics", "", whyMetrics},
		{"*.so", "", "programs"}, {"*.class", "", "programs"}, {"*.pyc", "", "programs"}, {"*.exe", "", "programs"},
		{"*.sh", "", "programs"}, {"*.py", "", "programs"}, {"*.go", "", "programs"},
		{".DS_Store", "", "left by the operating system"}, {"__MACOSX/**", "", "left by the operating system"},
	}},
}
