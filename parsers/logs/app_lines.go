package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// appRule recognises a line of an application's log that bears on its probes.
type appRule struct {
	code string
	// words: one of them must occur, as written.
	words []string
	// most bounds how many lines of a stream are kept, 0 for all.
	most int
}

// appRules are asked in order; the first that fits names the line.
var appRules = []appRule{
	{code: "bind-in-use", words: []string{"ddress already in use", "EADDRINUSE", "ort is already allocated", "nly one usage of each socket address"}, most: 200},
	{code: "oom", words: []string{"OutOfMemoryError", "ut of memory", "cannot allocate memory", "OOMKilled"}, most: 200},
	{code: "envoy-not-ready", words: []string{"nvoy proxy is NOT ready", "nvoy is not ready", "onfig not received from XDS server", "onfig not fully received from XDS server"}, most: 500},
	{code: "agent-probe", words: []string{"equest to probe app failed"}, most: 200},
	{code: "mtls-refused", words: []string{"filter_chain_not_found", "TLS_error:|268435612"}, most: 200},
	{code: "probe-request", words: []string{"kube-probe/"}},
	{code: "panic", words: []string{"panic: ", "PANIC:", "panicked at", "Traceback (most recent call last)", "Unhandled exception", "Uncaught Exception", "core dumped"}, most: 200},
	{code: "fatal", words: []string{"fatal error", "FATAL", "Fatal error", "level=fatal", `"level":"fatal"`, "[emerg]"}, most: 200},
	{code: "listening", words: []string{"istening on", "istening at", "istening for", "istening to port", "ready to accept connections", "eady for connections", "erver started", "started on port", "ready for start up", "erver is ready", "erving on", "ccepting connections"}, most: 200},
	{code: "starting", words: []string{"tarting ", "Booting ", "nitializing ", "tarted "}, most: 50},
}

// appLine looks at one line of a container's log.
func (s *session) appLine(h *hostState, r *record) {
	if s.appSeen == nil {
		s.appSeen = make([]int, len(appRules))
	}
	for i := range appRules {
		rule := &appRules[i]
		if rule.most > 0 && s.appSeen[i] >= rule.most || !containsAny(r.msg, rule.words) {
			continue
		}
		s.appSeen[i]++
		a := &event.AppLog{Pod: s.container.pod, Container: s.container.container, Previous: s.container.previous,
			Code: rule.code, Text: clip(bytes.TrimSpace(r.msg), maxMessage)}
		if rule.code == "probe-request" {
			a.Status = accessStatus(r.msg)
		}
		s.emit(h, r, event.Stamp{}, 0, a)
		return
	}
}

func containsAny(b []byte, words []string) bool {
	for _, w := range words {
		if len(b) >= len(w) && bytes.Contains(b, []byte(w)) {
			return true
		}
	}
	return false
}

// accessStatus finds the HTTP status of an access-log line: the number behind
// the quoted request of the common log format, or the value of a key status or
// code; 0 when there is none.
func accessStatus(b []byte) int {
	if i := bytes.Index(b, []byte(" HTTP/")); i >= 0 {
		if j := bytes.IndexByte(b[i:], '"'); j >= 0 {
			if n, ok := statusCode(skipBlanks(b[i+j+1:])); ok {
				return n
			}
		}
	}
	for _, key := range [...]string{`"status":`, `"status_code":`, `"code":`, `"responseCode":`, "status=", "resp=", "code="} {
		if _, rest, ok := bytes.Cut(b, []byte(key)); ok {
			if n, ok := statusCode(bytes.TrimLeft(rest, ` "`)); ok {
				return n
			}
		}
	}
	return 0
}

// statusCode reads a three-digit number from 100 to 599.
func statusCode(b []byte) (int, bool) {
	n, rest, ok := leadingUint(b)
	if !ok || n < 100 || n > 599 || len(rest) > 0 && (rest[0] == '.' || rest[0] == '-') {
		return 0, false
	}
	return int(n), true
}
