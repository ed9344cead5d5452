package logs

import (
	"bytes"
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = register(Format{
	Name: "audit-json",
	Doc: "API server audit logs (audit.k8s.io): JSON lines or lists, plain, with the node's name in front (oc adm node-logs), in the wraps of AKS diagnostics and CloudWatch, " +
		"and GKE's own form (protoPayload).",
	Detect: detectAudit,
	Parse: func(ctx context.Context, in *Input) error {
		o := newObjectStream(ctx, in)
		j := newJSONSplitter(o)
		head, _ := j.br.Peek(64 << 10)
		first, _, _ := bytes.Cut(bytes.TrimLeft(head, "\xef\xbb\xbf \r\n"), []byte("\n"))
		if t := bytes.TrimRight(first, " \r,"); len(first) < 64<<10-16 && !bytes.HasSuffix(t, []byte("}")) {
			return o.finish(j.run()) // spread over several lines
		}
		in.R = j.br
		return o.finish(auditLines(o))
	},
})

func detectAudit(head []byte, _ string) int {
	b := withoutNode(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n"))
	if len(b) == 0 || b[0] != '{' && b[0] != '[' {
		return 0
	}
	if bytes.Contains(b, []byte("audit.k8s.io/v1")) && bytes.Contains(b, []byte("auditID")) {
		return 96 // above the forms that AKS and CloudWatch wrap it in
	}
	if bytes.Contains(b, []byte(`"protoPayload"`)) && bytes.Contains(b, []byte("k8s.io")) {
		return 88
	}
	return 0
}

// auditLines reads JSON lines. Most are reads of other resources: they are told
// by their text and not parsed.
func auditLines(o *objectStream) error {
	l := newTextLines(o.in, maxObjectBytes)
	for l.scan() {
		o.lines++
		if l.n&0xff == 0 && o.ctx.Err() != nil {
			return o.ctx.Err()
		}
		text := bytes.TrimRight(withoutNode(bytes.TrimSpace(l.text())), ",")
		if len(text) == 0 || len(text) == 1 {
			continue // a bracket of a list
		}
		at := place{l.n, l.offset}
		switch {
		case !auditWanted(text):
			o.in.Info.Records++
		case l.cut:
			o.in.Info.Records++
			o.in.Info.Rejected++
			o.problem(at, "object-too-large", "an audit event is longer than the limit: left out")
		default:
			o.json(text, at, "")
		}
	}
	return l.err
}

// auditWanted reports whether a line may hold a change of something we read.
func auditWanted(line []byte) bool {
	if i := bytes.Index(line, []byte(`verb`)); i >= 0 {
		v := bytes.TrimLeft(line[i+4:min(i+24, len(line))], "\\\": ")
		if bytes.HasPrefix(v, []byte("get")) || bytes.HasPrefix(v, []byte("list")) || bytes.HasPrefix(v, []byte("watch")) {
			return false
		}
	}
	for _, w := range []string{"pods", "networkpolicies", "endpointslices", "peerauthentications", "adminnetworkpolicies"} {
		if bytes.Contains(line, []byte(w)) {
			return true
		}
	}
	// Every line names a namespace; few change one.
	if bytes.Contains(line, []byte(event.FactMeshMode)) {
		return true
	}
	// A damaged line must be seen, too.
	return line[0] != '{' || line[len(line)-1] != '}'
}

// audited finds the audit events in a JSON value, whatever wraps them, and
// reports whether it is such a value.
func (o *objectStream) audited(f field) bool {
	switch {
	case f.has("auditID") || strings.HasPrefix(f.str("apiVersion"), "audit.k8s.io/"):
		o.audit(f)
	case f.has("protoPayload"):
		o.auditGKE(f)
	case f.has("properties", "log"): // AKS diagnostic settings
		o.auditText(f.get("properties", "log"))
	case f.has("message") && !f.has("kind") && !f.has("reason"): // CloudWatch; an Event in a typed list has a reason
		o.auditText(f.get("message"))
	case f.has("@message"):
		o.auditText(f.get("@message"))
	case f.has("log") && !f.has("kind"): // container log of a self-hosted API server
		o.auditText(f.get("log"))
	case f.has("events") && f.get("events").node().kind == nodeList:
		for e := range f.each("events") {
			o.auditText(e.get("message"))
		}
	default:
		return false
	}
	return true
}

// auditText reads an audit event that stands as a string inside JSON.
func (o *objectStream) auditText(f field) {
	if f.ok() && f.node().kind == nodeMap {
		o.audit(f)
		return
	}
	text := f.raw()
	if !bytes.Contains(text, []byte("audit.k8s.io")) {
		return
	}
	var inner objectTree
	g, err := parseJSON(bytes.TrimSpace(text), &inner)
	if err != nil {
		o.in.Info.Rejected++
		o.problem(o.at, "bad-json", "an audit event inside a string can't be read: "+err.Error())
		return
	}
	o.audit(g)
}

// auditCall is what both forms of an audit record say about one request.
type auditCall struct {
	verb, resource, subresource string
	user                        string
	ref                         event.PodRef
	at                          event.Stamp
	code                        int
	request, response           field
}

func (o *objectStream) audit(f field) {
	if s := f.str("stage"); s != "ResponseComplete" && s != "" {
		return
	}
	ref := f.get("objectRef")
	c := auditCall{
		verb: f.str("verb"), resource: ref.str("resource"), subresource: ref.str("subresource"),
		user: f.str("user", "username"),
		ref:  event.PodRef{Namespace: ref.str("namespace"), Name: ref.str("name"), UID: ref.str("uid")},
		at:   f.stamp("stageTimestamp"), code: f.num(200, "responseStatus", "code"),
		request: f.get("requestObject"), response: f.get("responseObject"),
	}
	o.call(&c)
}

// auditGKE reads the form of Google's cloud audit log: the method names verb and
// resource ("io.k8s.core.v1.pods.status.patch"), the resource's path the object.
func (o *objectStream) auditGKE(f field) {
	p := f.get("protoPayload")
	method := strings.Split(p.str("methodName"), ".")
	path := strings.Split(p.str("resourceName"), "/")
	c := auditCall{
		verb: method[len(method)-1], user: p.str("authenticationInfo", "principalEmail"),
		at: f.stamp("timestamp"), code: 200, request: p.get("request"), response: p.get("response"),
	}
	if n := p.num(0, "status", "code"); n != 0 {
		c.code = 500 // a gRPC code: failed
	}
	for i := 0; i+2 < len(path); i++ { // ".../namespaces/NS/RESOURCE/NAME[/SUBRESOURCE]"
		if path[i] != "namespaces" {
			continue
		}
		c.ref.Namespace, c.resource = path[i+1], path[i+2]
		if i+3 < len(path) {
			c.ref.Name = path[i+3]
		}
		if i+4 < len(path) {
			c.subresource = path[i+4]
		}
		break
	}
	o.call(&c)
}

// call turns one successful write into events. Its times are those of the API
// server's clock, so the events name no node of their own.
func (o *objectStream) call(c *auditCall) {
	if c.code >= 400 || c.at.IsZero() {
		return
	}
	body := c.response
	if !body.has("metadata") {
		body = c.request
	}
	switch c.resource {
	case "pods":
		o.podCall(c, body)
		return
	case "networkpolicies", "ciliumnetworkpolicies", "peerauthentications", "adminnetworkpolicies", "endpointslices":
	case "namespaces":
		o.enrolment(c)
		return
	default:
		return
	}
	o.in.Info.Kept++
	whole := c.verb == "create" || c.verb == "update" || c.response.has("spec") || c.response.has("endpoints")
	if read := readerOf(body.str("kind")); read != nil && whole {
		o.when = c.at
		read(o, body)
		o.when = event.Stamp{}
	}
	if c.resource != "endpointslices" {
		o.emit(c.at, "", &event.ObjectSeen{
			ObjectKind: c.resource, Namespace: c.ref.Namespace, Name: c.ref.Name, UID: c.ref.UID,
			Facts: []event.Fact{{Key: event.FactAuditVerb, Value: c.verb}},
		})
	}
}

// enrolment tells when a namespace joined or left a mesh: the new value of its
// label, "" where a request took it away. Other changes of a namespace bear on no
// probe.
func (o *objectStream) enrolment(c *auditCall) {
	label := c.request.get("metadata", "labels", event.FactMeshMode)
	if !label.ok() {
		return
	}
	mode := string(label.raw())
	if mode == "null" { // a patch that removes it
		mode = ""
	}
	o.in.Info.Kept++
	o.emit(c.at, "", &event.ObjectSeen{ObjectKind: "Namespace", Name: orDefault(c.ref.Name, c.ref.Namespace), UID: c.ref.UID,
		Facts: []event.Fact{{Key: event.FactMeshMode, Value: mode}}})
}

func (o *objectStream) podCall(c *auditCall, body field) {
	if body.ok() {
		c.ref.UID = orDefault(c.ref.UID, body.str("metadata", "uid"))
		c.ref.Name = orDefault(c.ref.Name, body.str("metadata", "name"))
	}
	node, byNode := strings.CutPrefix(c.user, "system:node:")
	op := event.SyncOp(0)
	switch c.verb + " " + c.subresource {
	case "create ":
		op = event.SyncAdd
	case "create eviction":
		op = event.SyncDelete
	case "delete ":
		// The kubelet deletes a pod that has ended, with no grace: then it is gone.
		op = event.SyncDelete
		if byNode || string(c.request.raw("gracePeriodSeconds")) == "0" {
			op = event.SyncRemove
		}
	case "create binding":
		node = c.request.str("target", "name")
	case "patch status", "update status":
		op = event.SyncUpdate
	default:
		return
	}
	if c.ref.Name == "" {
		return // the name of a pod from a template is known from the body only
	}
	o.in.Info.Kept++
	if op != 0 {
		o.emit(c.at, "", &event.PodSync{Op: op, Source: "audit", Pod: c.ref})
	}
	if c.subresource == "binding" && node != "" {
		o.emit(c.at, "", &event.PodSeen{Pod: c.ref, Node: node, Partial: true})
		return
	}
	if !body.has("status") && !body.has("spec") || c.verb == "delete" {
		return
	}
	p := readPod(body)
	p.Partial, p.Pod = true, c.ref
	if p.Node == "" && byNode {
		p.Node = node
	}
	o.emit(c.at, "", p)
	if len(p.IPs) > 0 && op == event.SyncUpdate {
		o.emit(c.at, "", &event.PodIP{Pod: c.ref, IPs: onePerFamily(p.IPs), Fact: event.IPObserved, Via: "audit"})
	}
}

// onePerFamily keeps the first address of each family: after a new sandbox a
// status lists the old addresses behind the new ones for a while.
func onePerFamily(list []netip.Addr) []netip.Addr {
	var kept []netip.Addr
	for _, a := range list {
		if !slices.ContainsFunc(kept, func(k netip.Addr) bool { return k.Is4() == a.Is4() }) {
			kept = append(kept, a)
		}
	}
	return kept
}
