package logs

import (
	"bytes"
	"context"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name: "kubectl-table",
	Doc: "Tables of kubectl or oc get: pods, nodes, events, endpoints, network policies, with or without -o wide and -A. " +
		"Other tables are recognised and left unread. Ages count back from the collection.",
	Detect: func(head []byte, _ string) int { return detectTable(head, kubectlHeader) },
	Parse:  parseKubectlTable,
})

// kubectlHeader tells kubectl's tables from others by columns that stand
// together in none else.
func kubectlHeader(t *textTable) bool {
	first := t.cols[0].name
	switch {
	case first == "NAMESPACE" || first == "NAME":
		return t.has("AGE") || t.has("NAME", "REASON") || t.has("LAST SEEN") || t.has("NAME", "READY")
	case first == "LAST SEEN" || first == "LASTSEEN" || first == "FIRSTSEEN":
		return t.has("REASON", "MESSAGE")
	}
	return false
}

// detectTable looks for a header among the first lines.
func detectTable(head []byte, known func(*textTable) bool) int {
	for n := 0; len(head) > 0 && n < 10; n++ {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		line = bytes.TrimPrefix(bytes.TrimRight(line, " \r"), []byte("\xef\xbb\xbf"))
		if len(line) == 0 || line[0] == '$' || line[0] == '#' {
			continue
		}
		var t textTable
		if t.readHeader(line) && known(&t) {
			return 84
		}
		if n > 2 {
			return 0
		}
	}
	return 0
}

// tableReader reads the tables of a stream: those that a header begins, each
// with the reader that the header calls for.
type tableReader struct {
	o         *objectStream
	table     textTable
	namespace string // of tables without such a column, where a prompt or path names it
	read      func(*tableReader, tableRow) bool
}

func parseKubectlTable(ctx context.Context, in *Input) error {
	o := newObjectStream(ctx, in)
	r := &tableReader{o: o, namespace: orDefault(namespaceInCommand(in.Command), namespaceInPath(in.Path))}
	return o.finish(r.run(kubectlHeader, func(t *textTable) func(*tableReader, tableRow) bool {
		switch {
		case t.has("REASON", "MESSAGE"):
			return (*tableReader).event
		case t.has("NAME", "READY", "STATUS", "RESTARTS"):
			return (*tableReader).pod
		case t.has("NAME", "STATUS", "ROLES"), t.has("NAME", "STATUS", "VERSION", "INTERNAL-IP"):
			return (*tableReader).node
		case t.has("NAME", "ENDPOINTS"):
			return (*tableReader).endpoints
		case t.has("NAME", "POD-SELECTOR"):
			return (*tableReader).policy
		}
		return nil
	}))
}

func (r *tableReader) run(known func(*textTable) bool, choose func(*textTable) func(*tableReader, tableRow) bool) error {
	l := newTextLines(r.o.in, maxObjectBytes)
	open := false
	for l.scan() {
		if l.n&0xfff == 0 && r.o.ctx.Err() != nil {
			return r.o.ctx.Err()
		}
		r.o.lines++
		text := bytes.TrimRight(l.text(), " ")
		if len(text) == 0 {
			continue
		}
		var t textTable
		switch {
		case text[0] == '$' || text[0] == '#':
			open, r.namespace = false, namespaceInCommand(string(text))
			continue
		case text[0] >= 'A' && text[0] <= 'Z' && t.readHeader(text) && known(&t):
			open, r.table, r.read = true, t, choose(&t)
			continue
		}
		r.o.in.Info.Records++
		r.o.at = place{l.n, l.offset}
		row, ok := r.table.row(text)
		switch {
		case !open || !ok:
			r.o.in.Info.Rejected++
			r.o.problem(r.o.at, "unknown-line", "a line stands outside any table")
		case r.read != nil && r.read(r, row):
			r.o.in.Info.Kept++
		}
	}
	return l.err
}

// namespaceInCommand finds -n or --namespace in a pasted command line.
func namespaceInCommand(line string) string {
	words := strings.Fields(line)
	for i, w := range words {
		if v, ok := strings.CutPrefix(w, "--namespace="); ok {
			return v
		}
		if v, ok := strings.CutPrefix(w, "-n="); ok {
			return v
		}
		if (w == "-n" || w == "--namespace") && i+1 < len(words) {
			return words[i+1]
		}
	}
	return ""
}

// namespaceInPath finds the namespace in the mangled command that sosreport
// names a file after: "kubectl_..._get_--namespace_shop_pods".
func namespaceInPath(name string) string {
	_, rest, ok := strings.Cut(path.Base(name), "--namespace_")
	if !ok {
		return ""
	}
	ns, _, _ := strings.Cut(rest, "_")
	return ns
}

// object splits "pod/web-0" and takes the namespace from the row, the prompt or
// the path.
func (r *tableReader) object(row tableRow, column string) (kind, namespace, name string) {
	name = row.str(column)
	if k, n, ok := strings.Cut(name, "/"); ok {
		kind, name = k, n
	}
	return kind, orDefault(row.str("NAMESPACE"), r.namespace), name
}

// podPhases maps what the STATUS column shows to the phase behind it, where it
// is certain.
var podPhases = map[string]string{
	"Running": "Running", "NotReady": "Running", "Completed": "Succeeded", "Succeeded": "Succeeded",
	"Pending": "Pending", "ContainerCreating": "Pending", "PodInitializing": "Pending", "SchedulingGated": "Pending",
	"Failed": "Failed", "Evicted": "Failed", "NodeLost": "Unknown", "Unknown": "Unknown",
}

// pod reads a row of pods. Its one container status has no name: it sums up
// all of the pod's containers, as the columns do.
func (r *tableReader) pod(row tableRow) bool {
	_, ns, name := r.object(row, "NAME")
	status := row.str("STATUS")
	p := &event.PodSeen{
		Pod: event.PodRef{Namespace: ns, Name: name}, Node: row.str("NODE"), Partial: true,
		Phase: podPhases[status],
	}
	if strings.HasPrefix(status, "Init:") {
		p.Phase = "Pending"
	}
	if status != p.Phase {
		p.Reason = status
	}
	if ip, ok := ipAddr(row.raw("IP")); ok {
		p.IPs = []netip.Addr{ip}
	}
	restarts, _, _ := leadingUint(row.raw("RESTARTS"))
	sum := event.ContainerStatus{RestartCount: int(min(restarts, 1<<30))}
	if ready, all, ok := bytes.Cut(row.raw("READY"), []byte("/")); ok {
		sum.Ready = bytes.Equal(ready, all)
		cond := event.Condition{Type: "ContainersReady", Status: "False"}
		if sum.Ready {
			cond.Status = "True"
		}
		p.Conditions = []event.Condition{cond}
	}
	switch status {
	case "Running", "Terminating":
		sum.State = "running"
	case "CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull", "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		sum.State, sum.Reason = "waiting", status
	case "Error", "OOMKilled", "Completed":
		sum.State, sum.Reason = "terminated", status
	}
	if sum != (event.ContainerStatus{}) {
		p.Statuses = []event.ContainerStatus{sum}
	}
	r.o.emit(event.Stamp{}, p.Node, p)
	return true
}

func (r *tableReader) node(row tableRow) bool {
	_, _, name := r.object(row, "NAME")
	n := &event.NodeSeen{
		Name: name, KubeletVersion: row.str("VERSION"), Runtime: row.str("CONTAINER-RUNTIME"),
		Kernel: row.str("KERNEL-VERSION"), OSImage: row.str("OS-IMAGE"),
	}
	for _, s := range strings.Split(row.str("STATUS"), ",") {
		switch s {
		case "Ready":
			n.Conditions = append(n.Conditions, event.Condition{Type: "Ready", Status: "True"})
		case "NotReady":
			n.Conditions = append(n.Conditions, event.Condition{Type: "Ready", Status: "False"})
		case "SchedulingDisabled":
			n.Unschedulable = true
		}
	}
	for _, column := range []string{"INTERNAL-IP", "EXTERNAL-IP"} {
		if ip, ok := ipAddr(row.raw(column)); ok && !slices.Contains(n.Addresses, ip) {
			n.Addresses = append(n.Addresses, ip)
		}
	}
	r.o.emit(event.Stamp{}, name, n)
	return true
}

// objectKinds maps the short names of the OBJECT column.
var objectKinds = map[string]string{
	"pod": "Pod", "node": "Node", "replicaset": "ReplicaSet", "statefulset": "StatefulSet", "daemonset": "DaemonSet",
	"deployment": "Deployment", "job": "Job", "cronjob": "CronJob", "service": "Service", "endpoints": "Endpoints",
	"endpointslice": "EndpointSlice", "horizontalpodautoscaler": "HorizontalPodAutoscaler",
	"persistentvolumeclaim": "PersistentVolumeClaim", "namespace": "Namespace", "ingress": "Ingress",
}

func objectKind(short string) string {
	short, _, _ = strings.Cut(strings.ToLower(short), ".")
	return orDefault(objectKinds[short], short)
}

// event reads a row of events in any of kubectl's layouts.
func (r *tableReader) event(row tableRow) bool {
	e := &event.K8sEvent{
		Type: row.str("TYPE"), Reason: row.str("REASON"), Message: clip(row.raw("MESSAGE"), maxEventMessage),
		FieldPath: row.str("SUBOBJECT"), TimesUnknown: true,
	}
	column := "OBJECT"
	if !r.table.has(column) {
		column = "NAME" // until 1.13, beside KIND
	}
	e.ObjectKind, e.Namespace, e.Name = r.object(row, column)
	if i := strings.LastIndexByte(e.Name, '.'); i > 0 && column == "NAME" {
		e.Name = e.Name[:i] // the event's own name: the object's and a number
	}
	e.ObjectKind = objectKind(orDefault(e.ObjectKind, row.str("KIND")))
	if e.Reason == "" || e.Name == "" {
		return false
	}
	if e.ObjectKind == "Node" {
		e.Namespace = "" // of the event, not of the node
	}
	e.UID = uidInMessage(e)
	e.Container = containerOf(e.FieldPath)
	source := orDefault(row.str("SOURCE"), row.str("FROM"))
	e.Component, e.Host, _ = strings.Cut(source, ", ")
	e.Last, e.First, e.Count, _ = parseAges(orRaw(row.raw("LAST SEEN"), row.raw("LASTSEEN")))
	if first, ok := parseAge(orRaw(row.raw("FIRST SEEN"), row.raw("FIRSTSEEN"))); ok {
		e.First = first
	}
	if n, ok := allDigits(row.raw("COUNT")); ok {
		e.Count = max(n, 1)
	}
	r.o.emit(e.Last, e.Host, e)
	if e.Reason == "AddedInterface" {
		r.o.addedInterface(e)
	}
	return true
}

func orRaw(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}

// endpoints reads the addresses that the ENDPOINTS column shows: the first few.
func (r *tableReader) endpoints(row tableRow) bool {
	_, ns, name := r.object(row, "NAME")
	s := &event.ObjectSeen{ObjectKind: "Endpoints", Namespace: ns, Name: name}
	if r.table.has("ADDRESSTYPE") {
		s.ObjectKind = "EndpointSlice"
	}
	list, _, _ := bytes.Cut(row.raw("ENDPOINTS"), []byte(" + "))
	for _, a := range bytes.Split(list, []byte(",")) {
		if ap, err := netip.ParseAddrPort(string(a)); err == nil {
			s.IPs = append(s.IPs, ap.Addr())
		} else if ip, ok := ipAddr(a); ok {
			s.IPs = append(s.IPs, ip)
		}
	}
	return r.o.seen(s, nil)
}

func (r *tableReader) policy(row tableRow) bool {
	_, ns, name := r.object(row, "NAME")
	s := &event.ObjectSeen{ObjectKind: "NetworkPolicy", Namespace: ns, Name: name}
	return r.o.seen(s, factList{{Key: event.FactPodSelector, Value: row.str("POD-SELECTOR")}})
}
