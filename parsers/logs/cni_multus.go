package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerDialect(dialect{name: "cni-stamped", starts: "2", read: readStampedCNI})

// readStampedCNI reads the lines of CNI plugins that put an ISO stamp and a
// level in brackets in front: multus and old aws-node, Calico.
//
//	2021-08-03T09:18:35Z [verbose] Add: NS:POD:UID:NETWORK(NAME):IFACE {result}
//	2020-03-16T15:05:28.412Z [INFO] Received AddNetwork …
//	2024-10-29 18:49:40.278 [INFO][4242] ipam/ipam_plugin.go 284: …
func readStampedCNI(s *session, h *hostState, r *record) bool {
	st, rest, ok := isoStamp(r.msg)
	if !ok || len(rest) < 8 || rest[0] != ' ' || rest[1] != '[' {
		return false
	}
	level, rest, ok := cutByte(rest[2:], ']')
	if !ok || len(level) > 10 {
		return false
	}
	if r.stamp.IsZero() {
		s.see(st)
	}
	st = h.completeZone(st, r.stamp)
	if len(rest) > 0 && rest[0] == '[' {
		if _, text, ok := cutByte(rest[1:], ']'); ok {
			readCalico(s, h, r, st, skipBlanks(text))
		}
		return true
	}
	text := skipBlanks(rest)
	if awsLine(s, h, r, st, text) {
		return true
	}
	readMultus(s, h, r, st, text)
	return true
}

// completeZone gives a stamp without a zone the offset that brings it nearest to
// the complete stamp of the same record.
func (h *hostState) completeZone(st, outer event.Stamp) event.Stamp {
	if st.Missing != event.MissingZone || outer.IsZero() || outer.Missing != 0 {
		return st
	}
	if off := st.At.Sub(outer.At).Round(zoneStep); off.Abs() <= maxZone {
		st.At, st.Missing = st.At.Add(-off), 0
	}
	return st
}

// readMultus reads "Add:", "Del:", and the daemon's "ADD finished CNI request".
func readMultus(s *session, h *hostState, r *record, st event.Stamp, text []byte) {
	if rest, ok := after(text, "Add: "); ok {
		s.multusAdd(h, r, st, rest)
	} else if rest, ok := after(text, "Del: "); ok {
		pod, dev, _ := s.multusName(rest)
		if pod.Name != "" && viaInterface(dev, "") == "" {
			s.emit(h, r, st, 0, &event.SandboxChange{Pod: pod, Op: event.SandboxStopped, Reason: "network-torn-down", Attempt: -1})
		}
	} else if rest, ok := after(text, "ADD finished CNI request "); ok {
		s.multusFinished(h, r, st, rest)
	}
}

// multusName reads "NS:POD:UID:NETWORK(NAME):IFACE "; NETWORK may hold a slash,
// and the name in brackets is missing in a Del.
func (s *session) multusName(b []byte) (pod event.PodRef, dev string, rest []byte) {
	name, rest, _ := cutByte(b, ' ')
	parts := bytes.SplitN(name, []byte(":"), 5)
	if len(parts) < 5 {
		return pod, "", rest
	}
	pod = event.PodRef{Namespace: s.intern(parts[0]), Name: s.intern(parts[1]), UID: s.intern(parts[2])}
	dev = s.intern(parts[4][bytes.LastIndexByte(parts[4], ':')+1:])
	return pod, dev, rest
}

func (s *session) multusAdd(h *hostState, r *record, st event.Stamp, b []byte) {
	pod, dev, result := s.multusName(b)
	ip := &event.PodIP{Pod: pod, Interface: dev, Fact: event.IPAllocated, Via: viaInterface(dev, "cni-result")}
	cniResult(result, ip)
	if pod.Name != "" && len(ip.IPs) > 0 {
		s.emit(h, r, st, 0, ip)
	}
}

// multusFinished reads the daemon's `ContainerID:"SB" … Args:"…K8S_POD_NAME=…;…"
// …, result: "{…}", err: <nil>`; quotes are missing in older versions.
func (s *session) multusFinished(h *hostState, r *record, st event.Stamp, b []byte) {
	request, result, ok := bytes.Cut(b, []byte("result: "))
	if !ok {
		return
	}
	if i := bytes.LastIndex(result, []byte("err: ")); i >= 0 {
		if err := bytes.TrimSpace(result[i+len("err: "):]); string(err) != "<nil>" && len(err) > 0 {
			return // the runtime and the kubelet tell of it
		}
	}
	ip := &event.PodIP{Interface: podInterface, Fact: event.IPAllocated, Via: "cni-result"}
	ip.Pod, ip.SandboxID = s.cniArgs(request)
	s.scratch = appendUnquoted(s.scratch[:0], result)
	cniResult(s.scratch, ip)
	if len(ip.IPs) > 0 && (ip.Pod.Name != "" || ip.SandboxID != "") {
		s.emit(h, r, st, 0, ip)
	}
}

// cniArgs reads CNI_ARGS: "K8S_POD_NAMESPACE=…;K8S_POD_NAME=…;
// K8S_POD_INFRA_CONTAINER_ID=…;K8S_POD_UID=…".
func (s *session) cniArgs(b []byte) (pod event.PodRef, sandbox string) {
	arg := func(key string) string {
		v, _ := betweenAny(b, key, `;" ,)`)
		return s.intern(v)
	}
	pod = event.PodRef{Namespace: arg("K8S_POD_NAMESPACE="), Name: arg("K8S_POD_NAME="), UID: arg("K8S_POD_UID=")}
	return pod, arg("K8S_POD_INFRA_CONTAINER_ID=")
}
