package logs

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerHost(hostTool{
	name:  "ip-route",
	doc:   "Routes: ip route, ip route get, ip rule, route -n.",
	start: startRoute,
})

// routeTypes begin the lines of routes that do not forward.
var routeTypes = map[string]bool{
	"local": true, "broadcast": true, "multicast": true, "anycast": true, "unicast": true, "blackhole": true,
	"unreachable": true, "prohibit": true, "throw": true, "nat": true,
}

func startRoute(h *hostReader) (func([]byte) bool, func()) {
	last := ""
	return func(line []byte) bool {
		w := words(line)
		if len(w) == 0 {
			return false
		}
		switch {
		case w[0] == "nexthop" && last != "":
			putRoute(h, last, w)
			return true
		case w[0] == "cache" && last != "", bytes.HasPrefix(line, []byte("Kernel IP routing table")), w[0] == "Destination" && len(w) == 8:
			return true
		case len(w) >= 4 && strings.HasSuffix(w[0], ":") && w[1] == "from": // ip rule
			return true
		case len(w) == 8 && isDigit(w[0][0]): // route -n
			return oldRoute(h, w)
		}
		kind := ""
		if routeTypes[w[0]] {
			kind, w = w[0], w[1:]
		}
		if len(w) == 0 || w[0] != "default" && !prefixText(w[0]) {
			return false
		}
		if len(w) == 1 && kind == "" { // its next hops follow; a lone address is no route
			last = w[0]
			return strings.Contains(last, "/") || last == "default"
		}
		last = w[0]
		switch {
		case kind == "broadcast" || kind == "multicast" || kind == "anycast":
			return true
		case kind == "local":
			if a, ok := ipAddr([]byte(w[0])); ok && !strings.Contains(w[0], "/") {
				h.fact(event.HostFact{Tool: event.ToolRoute, IP: a, Device: wordAfter(w, "dev"), Key: "local", Value: "local " + strings.Join(w[1:], " ")})
			}
			return true
		case kind == "" && slices.Contains(w, "uid"): // ip route get
			a, _ := ipAddr([]byte(w[0]))
			h.fact(event.HostFact{Tool: event.ToolRoute, IP: a, Device: wordAfter(w, "dev"), Key: "get", Value: strings.Join(w[1:], " ")})
			return true
		case kind != "" && kind != "unicast":
			w[0] = kind + " " + w[0]
		case wordAfter(w, "dev") == "" && wordAfter(w, "via") == "" && !slices.Contains(w, "proto") && !slices.Contains(w, "nhid"):
			return false
		}
		putRoute(h, w[0], w[1:])
		return true
	}, nil
}

func prefixText(s string) bool {
	if _, err := netip.ParsePrefix(s); err == nil {
		return true
	}
	_, err := netip.ParseAddr(s)
	return err == nil
}

func putRoute(h *hostReader, to string, w []string) {
	via, _ := ipAddr([]byte(wordAfter(w, "via")))
	h.fact(event.HostFact{Tool: event.ToolRoute, IP: via, Device: wordAfter(w, "dev"), Key: to, Value: strings.Join(w, " ")})
}

// oldRoute reads "10.244.1.0  0.0.0.0  255.255.255.0  U  0  0  0  cbr0".
func oldRoute(h *hostReader, w []string) bool {
	to, err := netip.ParseAddr(w[0])
	mask, err2 := netip.ParseAddr(w[2])
	if err != nil || err2 != nil || !mask.Is4() {
		return false
	}
	bits := 0
	for _, b := range mask.As4() {
		for ; b&0x80 != 0; b <<= 1 {
			bits++
		}
	}
	key := netip.PrefixFrom(to, bits).String()
	if bits == 0 {
		key = "default"
	}
	via, _ := ipAddr([]byte(w[1]))
	if via.IsUnspecified() {
		via = netip.Addr{}
	}
	h.fact(event.HostFact{Tool: event.ToolRoute, IP: via, Device: w[7], Key: key, Value: "flags " + w[3]})
	return true
}
