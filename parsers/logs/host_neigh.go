package logs

import (
	"bytes"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerHost(hostTool{
	name:  "ip-neigh",
	doc:   "Neighbour tables: ip neigh, arp -n, arp -an, /proc/net/arp.",
	start: startNeigh,
})

// neighStates are the states that ip neigh prints.
var neighStates = map[string]bool{
	"REACHABLE": true, "STALE": true, "DELAY": true, "PROBE": true, "FAILED": true, "INCOMPLETE": true, "PERMANENT": true,
	"NOARP": true, "NONE": true,
}

func startNeigh(h *hostReader) (func([]byte) bool, func()) {
	put := func(ip, mac, dev, state string) bool {
		a, ok := ipAddr([]byte(ip))
		if ok {
			h.fact(event.HostFact{Tool: event.ToolNeigh, IP: a, MAC: parseMAC([]byte(mac)), Device: dev, Key: "state", Value: state})
		}
		return ok
	}
	return func(line []byte) bool {
		if bytes.HasPrefix(line, []byte("IP address  ")) || bytes.HasPrefix(line, []byte("Address  ")) {
			return true // headers of /proc/net/arp and arp -n
		}
		w := words(line)
		switch {
		case len(w) >= 4 && w[1] == "dev" && neighStates[w[len(w)-1]]:
			return put(w[0], wordAfter(w, "lladdr"), w[2], w[len(w)-1])
		case len(w) >= 6 && w[1][0] == '(' && w[2] == "at": // "? (10.1.2.3) at 02:… [ether] on cbr0"
			state := "REACHABLE"
			if strings.HasPrefix(w[3], "<incomplete>") || w[3] == "(incomplete)" {
				state = "INCOMPLETE"
			} else if slices.Contains(w, "PERM") {
				state = "PERMANENT"
			}
			return put(strings.Trim(w[1], "()"), w[3], w[len(w)-1], state)
		case len(w) == 6 && strings.HasPrefix(w[1], "0x"): // /proc/net/arp: flag 2 complete, 4 permanent
			state := "REACHABLE"
			switch w[2] {
			case "0x0":
				state = "INCOMPLETE"
			case "0x6":
				state = "PERMANENT"
			}
			return put(w[0], w[3], w[5], state)
		case len(w) == 5 && w[1] == "ether": // arp -n
			state := "REACHABLE"
			if strings.Contains(w[3], "M") {
				state = "PERMANENT"
			}
			return put(w[0], w[2], w[4], state)
		case len(w) == 3 && w[1] == "(incomplete)":
			return put(w[0], "", w[2], "INCOMPLETE")
		}
		return false
	}, nil
}
