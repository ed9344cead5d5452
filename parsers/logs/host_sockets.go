package logs

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerHost(hostTool{
	name: "ss",
	doc: "Sockets: ss -ltn and netstat -ltn, with or without processes. Kept are listeners with their queues: " +
		"a receive queue above the send queue is an accept queue that overflows.",
	start: startSockets,
})

var socketStates = map[string]bool{
	"LISTEN": true, "ESTAB": true, "SYN-SENT": true, "SYN-RECV": true, "FIN-WAIT-1": true, "FIN-WAIT-2": true, "TIME-WAIT": true,
	"CLOSE-WAIT": true, "LAST-ACK": true, "CLOSING": true, "UNCONN": true, "CLOSED": true,
	"ESTABLISHED": true, "SYN_SENT": true, "SYN_RECV": true, "FIN_WAIT1": true, "FIN_WAIT2": true, "TIME_WAIT": true,
	"CLOSE": true, "CLOSE_WAIT": true, "LAST_ACK": true,
}

var socketFamilies = map[string]bool{"tcp": true, "tcp6": true, "udp": true, "udp6": true, "sctp": true, "raw": true, "mptcp": true}

func startSockets(h *hostReader) (func([]byte) bool, func()) {
	return func(line []byte) bool {
		w := words(line)
		if len(w) < 5 {
			return false
		}
		switch {
		case w[0] == "State" && w[1] == "Recv-Q", w[0] == "Netid" && w[1] == "State", w[0] == "Proto" && w[1] == "Recv-Q",
			w[0] == "Active" && w[1] == "Internet":
			return true
		}
		state, recv, send, local, process := "", "", "", "", ""
		switch {
		case socketFamilies[w[0]] && socketStates[w[1]] && len(w) >= 6: // ss with Netid
			state, recv, send, local = w[1], w[2], w[3], w[4]
			process = ssProcess(w[5:])
		case socketStates[w[0]]:
			state, recv, send, local = w[0], w[1], w[2], w[3]
			process = ssProcess(w[4:])
		case socketFamilies[w[0]] && len(w) >= 6 && socketStates[w[5]]: // netstat
			state, recv, send, local = w[5], w[1], w[2], w[3]
			if len(w) > 6 {
				_, process, _ = strings.Cut(w[6], "/")
			}
		case socketFamilies[w[0]] && strings.HasPrefix(w[0], "udp"):
			return true
		default:
			return false
		}
		if _, err := strconv.Atoi(recv); err != nil {
			return false
		}
		if state != "LISTEN" || strings.HasPrefix(w[0], "udp") {
			return true
		}
		ip, port, ok := listenAddr(local)
		if !ok {
			return false
		}
		h.fact(event.HostFact{Tool: event.ToolSockets, IP: ip, Port: port, Key: "listen", Value: recv + "/" + send})
		if process != "" {
			h.fact(event.HostFact{Tool: event.ToolSockets, IP: ip, Port: port, Key: "process", Value: process})
		}
		return true
	}, nil
}

// listenAddr reads "0.0.0.0:8080", "[::]:8080", "*:8080", ":::8080" and
// "127.0.0.53%lo:53".
func listenAddr(s string) (netip.Addr, int, bool) {
	host, p := cutPort(s)
	port, err := strconv.Atoi(p)
	if err != nil || port < 0 || port > 65535 {
		return netip.Addr{}, 0, false
	}
	host, _, _ = strings.Cut(host, "%")
	switch host {
	case "*", "::":
		return netip.IPv6Unspecified(), port, true
	}
	a, err := netip.ParseAddr(host)
	return a, port, err == nil
}

// ssProcess takes the name from users:(("nginx",pid=1,fd=6)).
func ssProcess(w []string) string {
	for _, s := range w {
		if rest, ok := strings.CutPrefix(s, `users:(("`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			return name
		}
	}
	return ""
}
