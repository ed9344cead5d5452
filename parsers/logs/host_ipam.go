package logs

import (
	"net/netip"
	"path"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerHost(hostTool{
	name: "host-local",
	doc: "State of the host-local IPAM plugin (/var/lib/cni/networks/NET/IP, bridge, flannel and others): the sandbox " +
		"that holds an address; also printed by grep -r. The files tell no time.",
	start: startHostLocal,
})

// startHostLocal reads a file that is named after its address and holds the
// sandbox's id and, since 2018, the interface; or lines "path/IP:id".
func startHostLocal(h *hostReader) (func([]byte) bool, func()) {
	name := path.Base(strings.TrimSuffix(h.path(), ".gz"))
	owner, named := ipAddr([]byte(name))
	held := event.PodIP{Fact: event.IPAllocated, Via: "ipam"}
	flush := func() {
		if held.SandboxID != "" && !h.dry {
			ip := held
			h.said = true
			h.o.emit(event.Stamp{}, h.o.in.Info.Node, &ip)
		}
		held.SandboxID, held.Interface = "", ""
	}
	return func(line []byte) bool {
		text := strings.TrimSpace(string(line))
		if i := strings.LastIndex(text, ":"); i > 0 && strings.HasPrefix(text, "/") || i > 0 && strings.Contains(text[:i], "/") {
			file, value := text[:i], text[i+1:]
			if a, ok := ipAddr([]byte(path.Base(file))); ok {
				switch {
				case sandboxText(value):
					flush()
					held.IPs, held.SandboxID = []netip.Addr{a}, value
				case held.SandboxID == "" || len(held.IPs) != 1 || held.IPs[0] != a || len(value) > 15:
					return false
				default:
					held.Interface = value
				}
				return true
			}
			return strings.HasPrefix(path.Base(file), "last_reserved_ip")
		}
		switch {
		case named && sandboxText(text) && held.SandboxID == "":
			held.IPs, held.SandboxID = []netip.Addr{owner}, text
			return true
		case named && held.SandboxID != "" && held.Interface == "" && len(text) <= 15 && text != "":
			held.Interface = text
			return true
		case strings.HasPrefix(name, "last_reserved_ip"):
			a, ok := ipAddr([]byte(text))
			if ok {
				h.fact(event.HostFact{Tool: event.ToolIPAM, IP: a, Key: "last-reserved"})
			}
			return ok
		}
		return false
	}, flush
}

// sandboxText reports whether a text is a whole container id.
func sandboxText(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
