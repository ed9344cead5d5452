package logs

import (
	"bytes"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerHost(hostTool{
	name:  "ip-addr",
	doc:   "Interfaces and their addresses: ip addr, ip link, with -o, -d, -s or -br.",
	start: startAddr,
})

func startAddr(h *hostReader) (func([]byte) bool, func()) {
	device := ""
	return func(line []byte) bool {
		w := words(bytes.ReplaceAll(line, []byte(`\ `), []byte("  ")))
		if len(w) < 2 {
			return device != "" && (line[0] == ' ' || line[0] == '\t')
		}
		if line[0] == ' ' || line[0] == '\t' {
			return device != "" && detail(h, device, w)
		}
		if n := w[0]; isDigit(n[0]) && n[len(n)-1] == ':' { // "2: eth0@if3: <…> mtu …" or "2: eth0    inet …"
			if _, ok := allDigits([]byte(n[:len(n)-1])); !ok {
				return false
			}
			name := strings.TrimSuffix(w[1], ":")
			flags := len(w) > 2 && w[2][0] == '<'
			if !flags && (len(w) < 4 || w[2] != "inet" && w[2] != "inet6") {
				return false
			}
			device, _, _ = strings.Cut(name, "@")
			if !flags {
				return detail(h, device, w[2:])
			}
			link(h, name, w)
			return true
		}
		// -br: "eth0@if3  UP  10.1.2.3/24 …" or "eth0  UP  02:… <FLAGS>"
		if len(w) < 3 || w[1] != "UP" && w[1] != "DOWN" && w[1] != "UNKNOWN" && w[1] != "LOWERLAYERDOWN" {
			return false
		}
		name, peer, _ := strings.Cut(w[0], "@")
		mac := parseMAC([]byte(w[2]))
		_, isAddr := ipAddr([]byte(w[2]))
		if mac.IsZero() && !isAddr && w[2] != "00:00:00:00:00:00" {
			return false
		}
		h.fact(event.HostFact{Tool: event.ToolLink, Device: name, MAC: mac, Key: "state", Value: w[1]})
		if peer != "" {
			h.fact(event.HostFact{Tool: event.ToolLink, Device: name, Key: "peer", Value: peer})
		}
		for _, s := range w[2:] {
			if a, ok := ipAddr([]byte(s)); ok {
				h.fact(event.HostFact{Tool: event.ToolAddr, IP: a, Device: name, Key: "addr", Value: s})
			}
		}
		return true
	}, nil
}

// link emits what the first line of an interface says.
func link(h *hostReader, name string, w []string) {
	device, peer, _ := strings.Cut(name, "@")
	put := func(key, value string) {
		if value != "" {
			h.fact(event.HostFact{Tool: event.ToolLink, Device: device, Key: key, Value: value})
		}
	}
	put("flags", strings.Trim(w[2], "<>"))
	put("state", wordAfter(w, "state"))
	put("mtu", wordAfter(w, "mtu"))
	put("master", wordAfter(w, "master"))
	put("peer", peer)
	for i, s := range w { // ip -o link keeps the address on the same line
		if strings.HasPrefix(s, "link/") && i+1 < len(w) {
			detail(h, device, w[i:])
		}
	}
}

// detail reads the indented lines of an interface. All of them belong to the
// form, few say anything.
func detail(h *hostReader, device string, w []string) bool {
	switch {
	case strings.HasPrefix(w[0], "link/"):
		if mac := parseMAC([]byte(w[1])); !mac.IsZero() {
			h.fact(event.HostFact{Tool: event.ToolLink, Device: device, MAC: mac, Key: "mac", Value: w[0][5:]})
		}
		if id := wordAfter(w, "link-netnsid"); id != "" {
			h.fact(event.HostFact{Tool: event.ToolLink, Device: device, Key: "netnsid", Value: id})
		}
	case w[0] == "inet" || w[0] == "inet6":
		a, ok := ipAddr([]byte(w[1]))
		if !ok {
			return false
		}
		h.fact(event.HostFact{Tool: event.ToolAddr, IP: a, Device: device, Key: "addr", Value: w[1]})
	case w[0] == "veth" || w[0] == "bridge" || w[0] == "vxlan" || w[0] == "ipvlan" || w[0] == "macvlan" || w[0] == "geneve":
		h.fact(event.HostFact{Tool: event.ToolLink, Device: device, Key: "kind", Value: w[0]})
	}
	return true
}
