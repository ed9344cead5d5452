package probe

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// Reading is what an attempt's output tells.
type Reading struct {
	Class  Class
	Target model.Target
	// Addr is the dialled address, invalid when the text names none. Local is the
	// prober's own address and port where a read error names it: a unique key.
	Addr, Local netip.AddrPort
	Status      int // HTTP status of E-STATUS
}

// Classify reads the output or error text of an attempt. Texts are those of
// kubelet 1.14 to 1.36 built with Go 1.12 to 1.26; see TAXONOMY section 0.
func Classify(outcome event.Outcome, output, handler string) Reading {
	r := Reading{}
	if outcome == event.OutcomeSucceeded || outcome == event.OutcomeWarning {
		r.target(output)
		return r
	}
	r.target(output)
	r.Class = class(outcome, output, handler, &r)
	return r
}

func class(outcome event.Outcome, s, handler string, r *Reading) Class {
	has := func(sub string) bool { return strings.Contains(s, sub) }
	if rest, ok := strings.CutPrefix(s, "HTTP probe failed with statuscode: "); ok {
		r.Status = leadingInt(rest)
		return ClassStatus
	}
	if c := execClass(outcome, s, handler); c != ClassNone {
		return c
	}
	switch {
	case has("timeout: failed to connect service"):
		return ClassGRPCConn
	case has("service unhealthy (responded with"), has("this server does not implement the grpc health protocol"),
		has("timeout: health rpc did not complete"), has("health rpc failed"):
		return ClassGRPCStatus
	case dialsNobody(s):
		return ClassEmptyIP
	case has("server gave HTTP response to HTTPS client"):
		return ClassTLSPlain
	case has("malformed HTTP"):
		return ClassMalformed
	case has("remote error: tls:"), has("tls: "):
		return ClassTLS
	case has("stopped after 10 redirects"):
		return ClassRedirect
	case has("while reading body"), has("unexpected EOF"):
		return ClassBody
	case has("connect: connection refused"), has("getsockopt: connection refused"):
		return ClassRefused
	case has("no route to host"):
		return ClassNoRoute
	case has("network is unreachable"):
		return ClassNetUnreach
	case has("cannot assign requested address"):
		return ClassAddrNotAvail
	case has("connection reset by peer"):
		return ClassReset
	case has("request canceled while waiting for connection"), has("i/o timeout"):
		return ClassConnTimeout
	case has("net/http: request canceled (Client.Timeout exceeded while awaiting headers)"):
		return ClassHdrTimeout
	case has("context deadline exceeded"), has("Client.Timeout exceeded while awaiting headers"):
		return ClassAmbigTimeout
	case strings.HasSuffix(s, "EOF"):
		return ClassEOF
	case has("port") && (has("not found") || has("invalid port number")), has("intOrString had no kind"):
		return ClassPortName
	}
	return ClassOther
}

// execClass recognises exec probes: their outputs are the command's own words, so
// what is left when nothing else matches belongs to an exec handler.
func execClass(outcome event.Outcome, s, handler string) Class {
	switch {
	case strings.HasPrefix(s, "command timed out"), strings.HasPrefix(s, "command \"") && strings.HasSuffix(s, "timed out"):
		return ClassExecTimeout
	case strings.Contains(s, "code = DeadlineExceeded"):
		return ClassExecTimeout
	case strings.HasPrefix(s, "rpc error:"), strings.Contains(s, "failed to exec in container"), strings.Contains(s, "container not running"),
		strings.Contains(s, "container is not running"), strings.Contains(s, "container is not created or running"):
		return ClassRuntime
	case handler == "exec":
		return ClassExecExit
	case s == "" && outcome == event.OutcomeFailed && (handler == "" || handler == "exec"):
		// Only an exec command can fail without a word (exec time-outs before 1.20 too).
		return ClassExecExit
	}
	return ClassNone
}

// dialsNobody reports whether the host part was empty: the kubelet then dialled
// its own loopback.
func dialsNobody(s string) bool {
	return strings.Contains(s, "dial tcp :") || strings.Contains(s, "://:") || strings.Contains(s, "dial tcp [::]:")
}

// target finds URL and addresses in the text.
func (r *Reading) target(s string) {
	if i := strings.Index(s, "Get "); i >= 0 {
		u := strings.TrimPrefix(s[i+4:], "\"")
		end := strings.IndexAny(u, "\" ")
		if end < 0 {
			end = len(u)
		}
		u = strings.TrimSuffix(u[:end], ":")
		if scheme, rest, ok := strings.Cut(u, "://"); ok {
			r.Target.Scheme = scheme
			hostport, path, _ := strings.Cut(rest, "/")
			r.Target.Path = "/" + path
			r.Target.Host, r.Target.Port = splitHostPort(hostport)
			if r.Target.Port == 0 {
				r.Target.Port = map[string]int{"http": 80, "https": 443}[scheme]
			}
			if ip, err := netip.ParseAddr(r.Target.Host); err == nil {
				r.Addr = netip.AddrPortFrom(ip.Unmap(), uint16(r.Target.Port))
			}
		}
	}
	if i := strings.Index(s, "dial tcp "); i >= 0 {
		hp := token(s[i+len("dial tcp "):])
		if host, port := splitHostPort(hp); port != 0 {
			if r.Target.Scheme == "" {
				r.Target.Scheme = "tcp"
			}
			if r.Target.Host == "" {
				r.Target.Host = host
			}
			r.Target.Port = port
			if ip, err := netip.ParseAddr(host); err == nil {
				r.Addr = netip.AddrPortFrom(ip.Unmap(), uint16(port))
			}
		}
	}
	for _, verb := range [...]string{"read tcp ", "write tcp "} {
		if i := strings.Index(s, verb); i >= 0 {
			local, remote, ok := strings.Cut(token(s[i+len(verb):]), "->")
			if !ok {
				continue
			}
			r.Local, _ = netip.ParseAddrPort(local)
			if ap, err := netip.ParseAddrPort(remote); err == nil {
				r.Addr = ap
				if r.Target.Host == "" {
					r.Target = model.Target{Scheme: "tcp", Host: ap.Addr().String(), Port: int(ap.Port())}
				}
			}
		}
	}
	if i := strings.Index(s, "failed to connect service \""); i >= 0 {
		hp := s[i+len("failed to connect service \""):]
		if j := strings.IndexByte(hp, '"'); j >= 0 {
			host, port := splitHostPort(hp[:j])
			r.Target = model.Target{Scheme: "grpc", Host: host, Port: port}
			if ip, err := netip.ParseAddr(host); err == nil {
				r.Addr = netip.AddrPortFrom(ip.Unmap(), uint16(port))
			}
		}
	}
}

// token is the text up to a blank, less the colon that ends an operation.
func token(s string) string {
	if i := strings.IndexByte(s, ' '); i >= 0 {
		s = s[:i]
	}
	return strings.TrimSuffix(s, ":")
}

// splitHostPort reads "1.2.3.4:80", "[fd00::1]:80", ":80" and "host".
func splitHostPort(s string) (string, int) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.HasSuffix(s, "]") {
		return strings.Trim(s, "[]"), 0
	}
	port, err := strconv.Atoi(s[i+1:])
	if err != nil || port < 0 || port > 65535 {
		return strings.Trim(s, "[]"), 0
	}
	return strings.Trim(s[:i], "[]"), port
}

func leadingInt(s string) int {
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' || n > 9999 {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// Timeout reports whether the class is one of the time-outs of a network probe.
func (c Class) Timeout() bool {
	switch c {
	case ClassConnTimeout, ClassHdrTimeout, ClassAmbigTimeout, ClassGRPCConn:
		return true
	}
	return false
}
