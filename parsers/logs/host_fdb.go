package logs

import (
	"bytes"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerHost(hostTool{
	name:  "bridge-fdb",
	doc:   "Forwarding tables of bridges: bridge fdb show, brctl showmacs.",
	start: startFDB,
})

func startFDB(h *hostReader) (func([]byte) bool, func()) {
	return func(line []byte) bool {
		if bytes.HasPrefix(line, []byte("port no")) {
			return true
		}
		w := words(line)
		if len(w) == 4 && (w[2] == "yes" || w[2] == "no") { // brctl: port, address, local, age
			mac := parseMAC([]byte(w[1]))
			if mac.IsZero() {
				return false
			}
			value := "local"
			if w[2] == "no" {
				value = "age " + w[3] + "s"
			}
			h.fact(event.HostFact{Tool: event.ToolFDB, MAC: mac, Device: "port " + w[0], Value: value})
			return true
		}
		if len(w) < 3 || w[1] != "dev" {
			return false
		}
		mac := parseMAC([]byte(w[0]))
		if mac.IsZero() {
			return w[0] == "00:00:00:00:00:00" // the default destination of a tunnel
		}
		f := event.HostFact{Tool: event.ToolFDB, MAC: mac, Device: w[2], Key: wordAfter(w, "master")}
		f.IP, _ = ipAddr([]byte(wordAfter(w, "dst")))
		rest := w[3:]
		if i := slices.Index(rest, "master"); i >= 0 && i+1 < len(rest) {
			rest = slices.Delete(slices.Clone(rest), i, i+2)
		}
		f.Value = strings.Join(rest, " ")
		h.fact(f)
		return true
	}, nil
}
