package view

import (
	"fmt"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// steps lists what is known of a connection's packets; scheme is that of the
// probe.
func steps(f *event.Flow, scheme string) []Step {
	var out []Step
	add := func(m event.Mark, from Side, text, detail string) *Step {
		if !m.Seen() {
			return nil
		}
		out = append(out, Step{At: m.At, Packet: m.Packet, From: from, Text: text, Detail: detail})
		return &out[len(out)-1]
	}
	if s := add(f.SYN, Client, "SYN", join(toMAC(f.SYNDstMAC), on(f.SYNInterfaces))); s != nil {
		s.Unanswered = unanswered(f, 0)
	}
	out = append(out, repeats(f)...)
	add(f.SYNACK, Server, "SYN-ACK", join(fromMAC(f.AnswerMAC), on(f.AnswerInterfaces)))
	if f.SYNACKs > 1 && f.LastSYNACK.Packet != f.SYNACK.Packet {
		add(f.LastSYNACK, Server, fmt.Sprintf("SYN-ACK again, the last of %d", f.SYNACKs), "")
	}
	add(f.ACK, Client, "ACK", "")
	if s := add(f.Request, Client, request(f, scheme), size(f.ClientBytes)); s != nil {
		s.Unanswered = !f.RequestACK.Seen() && !f.Response.Seen()
	}
	if f.RequestACK.Packet != f.Response.Packet {
		add(f.RequestACK, Server, "ACK of the request", "")
	}
	add(f.Response, Server, response(f, scheme), size(f.ServerBytes))
	add(f.ClientFIN, Client, "FIN", "")
	add(f.ServerFIN, Server, "FIN", "")
	if s := add(f.ClientRST, Client, "RST", ""); s != nil {
		s.Refusal = true
	}
	if s := add(f.ServerRST, Server, "RST", join(fromMAC(f.AnswerMAC), ttl(f.RSTTTL))); s != nil {
		s.Refusal = true
	}
	if s := add(f.ICMP.Mark, Network, icmp(f.ICMP), ""); s != nil {
		s.Refusal = true
		if f.ICMP.From.IsValid() {
			s.Detail = "from " + f.ICMP.From.Unmap().String()
		}
	}
	return out
}

// unanswered reports whether a SYN, by its place in SYNTimes, got no answer: the
// first answer, if any, came after the next SYN, which was sent because none
// had come.
func unanswered(f *event.Flow, i int) bool {
	var answer event.Nanos
	for _, m := range []event.Mark{f.SYNACK, f.ServerRST, f.ICMP.Mark} {
		if m.Seen() && (answer == 0 || m.At < answer) {
			answer = m.At
		}
	}
	return answer == 0 || i+1 < len(f.SYNTimes) && f.SYNTimes[i+1] < answer
}

// repeats are the SYNs after the first; their frame numbers were not kept.
func repeats(f *event.Flow) []Step {
	var out []Step
	for i, at := range f.SYNTimes {
		if i == 0 {
			continue
		}
		out = append(out, Step{At: at, From: Client, Text: "SYN again", Unanswered: unanswered(f, i)})
	}
	if more := int(f.SYNs) - len(f.SYNTimes); more > 0 && len(out) > 0 {
		out[len(out)-1].Text = fmt.Sprintf("SYN again, and %d more later", more)
	}
	return out
}

func request(f *event.Flow, scheme string) string {
	switch {
	case f.Method != "":
		return strings.TrimSpace(f.Method + " " + f.Path)
	case f.App == "tls":
		return "TLS client hello"
	case f.App == "h2" || f.App == "grpc":
		return "HTTP/2 request"
	case scheme == "http":
		return "HTTP request, content not captured"
	default:
		return "first data from the client"
	}
}

func response(f *event.Flow, scheme string) string {
	switch {
	case f.Status != 0:
		return fmt.Sprintf("HTTP %d", f.Status)
	case f.TLSAlert != "":
		return "TLS alert: " + f.TLSAlert
	case f.GRPCStatus != "":
		return "gRPC health: " + f.GRPCStatus
	case f.App == "text":
		return "text from the server"
	case scheme == "http":
		return "HTTP response, content not captured"
	default:
		return "first data from the server"
	}
}

func icmp(e event.ICMPError) string {
	if e.V6 {
		return fmt.Sprintf("ICMPv6 error type %d code %d%s", e.Type, e.Code, codeName(map[uint8]string{0: "no route", 1: "prohibited", 3: "address unreachable", 4: "port unreachable"}, e.Code))
	}
	return fmt.Sprintf("ICMP error type %d code %d%s", e.Type, e.Code, codeName(map[uint8]string{0: "network unreachable", 1: "host unreachable", 3: "port unreachable", 9: "network prohibited", 10: "host prohibited", 13: "prohibited"}, e.Code))
}

func codeName(names map[uint8]string, code uint8) string {
	if n := names[code]; n != "" {
		return " (" + n + ")"
	}
	return ""
}

func toMAC(m event.MAC) string {
	if m.IsZero() {
		return ""
	}
	return "to " + m.String()
}

func fromMAC(m event.MAC) string {
	if m.IsZero() {
		return ""
	}
	return "from " + m.String()
}

func on(interfaces []string) string {
	if len(interfaces) == 0 {
		return ""
	}
	return "on " + List(interfaces, 4)
}

func ttl(v uint8) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf("TTL %d", v)
}

func size(n int64) string {
	if n == 0 {
		return ""
	}
	return Count(n, "byte", "bytes") + " in all"
}

func join(parts ...string) string { return strings.Join(nonEmpty(parts...), ", ") }
