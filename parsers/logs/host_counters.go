package logs

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerHost(hostTool{
	name:  "nstat",
	doc:   "Network counters of the kernel: nstat, /proc/net/netstat, netstat -s. Kept are those that are not zero.",
	start: startNstat,
})

var _ = registerHost(hostTool{
	name:  "cpu-stat",
	doc:   "cpu.stat of a control group, version 1 (throttled_time in nanoseconds) or 2 (throttled_usec).",
	start: startCPUStat,
})

var _ = registerHost(hostTool{
	name:  "psi",
	doc:   "Pressure stall information: /proc/pressure/{cpu,memory,io} or a control group's *.pressure.",
	start: startPSI,
})

var _ = registerHost(hostTool{
	name: "sysctl",
	doc: "Kernel settings: sysctl -a or single values, conntrack -S and -L, nf_conntrack_count. " +
		"Kept are those that bear on connections.",
	start: startSysctl,
})

// oldCounters maps sentences of netstat -s to the counters of nstat.
var oldCounters = []struct{ text, counter string }{
	{"times the listen queue of a socket overflowed", "TcpExtListenOverflows"},
	{"SYNs to LISTEN sockets dropped", "TcpExtListenDrops"},
	{"SYNs to LISTEN sockets ignored", "TcpExtListenDrops"},
	{"segments retransmitted", "TcpRetransSegs"},
	{"segments retransmited", "TcpRetransSegs"}, // spelled so until 2020
	{"failed connection attempts", "TcpAttemptFails"},
	{"connection resets received", "TcpEstabResets"},
	{"resets sent", "TcpOutRsts"},
	{"SYN cookies sent", "TcpExtSyncookiesSent"},
	{"packet reassemblies failed", "IpReasmFails"},
	{"packet reassembles failed", "IpReasmFails"},
	{"connections aborted due to timeout", "TcpExtTCPAbortOnTimeout"},
	{"outgoing packets dropped", "IpOutDiscards"},
}

func startNstat(h *hostReader) (func([]byte) bool, func()) {
	put := func(key, value string) {
		if value != "0" {
			h.fact(event.HostFact{Tool: event.ToolNstat, Key: key, Value: value})
		}
	}
	var names []string // of the pair of lines in /proc/net
	sentences := false
	return func(line []byte) bool {
		w := words(line)
		if len(w) == 0 {
			return false
		}
		if string(line) == "#kernel" {
			return true
		}
		if group, ok := strings.CutSuffix(w[0], ":"); ok && len(w) > 1 && line[0] != ' ' && line[0] != '\t' {
			if _, err := strconv.ParseInt(w[1], 10, 64); err != nil {
				names = w
				return len(w) > 2 && w[1][0] >= 'A' && w[1][0] <= 'Z'
			}
			if len(names) != len(w) || names[0] != w[0] {
				return false
			}
			for i := 1; i < len(w); i++ {
				put(group+names[i], w[i])
			}
			return true
		}
		if len(w) == 1 && strings.HasSuffix(w[0], ":") && line[0] != ' ' && slices.Contains([]string{"Ip:", "Icmp:", "Tcp:", "TcpExt:", "Udp:", "IpExt:", "UdpLite:", "IcmpMsg:", "MPTcpExt:", "Sctp:"}, w[0]) {
			sentences = true // netstat -s
			return true
		}
		if sentences && (line[0] == ' ' || line[0] == '\t') {
			text := strings.TrimSpace(string(line))
			for _, c := range oldCounters {
				if n, rest, ok := strings.Cut(text, " "); ok && strings.HasPrefix(rest, c.text) {
					if _, err := strconv.ParseUint(n, 10, 64); err == nil {
						put(c.counter, n)
					}
				}
			}
			return true
		}
		if len(w) < 2 || len(w) > 3 || !upper(w[0][0]) || !strings.ContainsAny(w[0], "abcdefghijklmnopqrstuvwxyz") || strings.ContainsAny(w[0], ":/.=") {
			return false
		}
		if _, err := strconv.ParseInt(w[1], 10, 64); err != nil {
			return false
		}
		if len(w) == 3 {
			if _, err := strconv.ParseFloat(w[2], 64); err != nil {
				return false
			}
		}
		put(w[0], w[1])
		return true
	}, nil
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

// cpuStatKeys are the lines of cpu.stat in both versions.
var cpuStatKeys = map[string]bool{
	"nr_periods": true, "nr_throttled": true, "throttled_time": true, "throttled_usec": true, "nr_bursts": true,
	"burst_time": true, "burst_usec": true, "usage_usec": true, "user_usec": true, "system_usec": true, "nice_usec": true,
	"core_sched.force_idle_usec": true, "wait_sum": true, "current_bw": true,
}

func startCPUStat(h *hostReader) (func([]byte) bool, func()) {
	pod := event.PodRef{}
	return func(line []byte) bool {
		w := words(line)
		if len(w) != 2 || !cpuStatKeys[w[0]] {
			if p := podInPath(string(line)); p.UID != "" && len(w) == 1 { // "==> …/podUID/cpu.stat <==" and its like
				pod = p
				return true
			}
			return false
		}
		if _, err := strconv.ParseUint(w[1], 10, 64); err != nil {
			return false
		}
		h.fact(event.HostFact{Tool: event.ToolCPUStat, Pod: pod, Key: w[0], Value: w[1]})
		return true
	}, nil
}

func startPSI(h *hostReader) (func([]byte) bool, func()) {
	pod := event.PodRef{}
	resource := pressureOf(h.path())
	return func(line []byte) bool {
		w := words(line)
		if len(w) == 1 && strings.Contains(w[0], "pressure") { // a path between outputs
			resource = pressureOf(w[0])
			pod = podInPath(w[0])
			return true
		}
		if len(w) > 2 { // "cpu:some avg10=…" of grep
			if name, rest, ok := strings.Cut(w[0], ":"); ok {
				resource, w[0] = pressureOf(name), rest
			}
		}
		if len(w) != 5 || w[0] != "some" && w[0] != "full" || !strings.HasPrefix(w[1], "avg10=") || !strings.HasPrefix(w[4], "total=") {
			return false
		}
		for _, s := range w[1:] {
			k, v, _ := strings.Cut(s, "=")
			if _, err := strconv.ParseFloat(v, 64); err != nil {
				return false
			}
			key := w[0] + "." + k
			if resource != "" {
				key = resource + "." + key
			}
			h.fact(event.HostFact{Tool: event.ToolPSI, Pod: pod, Key: key, Value: v})
		}
		return true
	}, nil
}

// pressureOf finds the resource in a file's name: "cpu", "memory", "io" or "irq".
func pressureOf(name string) string {
	base := path.Base(name)
	for _, r := range []string{"cpu", "memory", "io", "irq"} {
		if base == r || strings.HasPrefix(base, r+".") || strings.Contains(base, "pressure_"+r) || strings.Contains(base, r+"_pressure") || strings.HasSuffix(base, "."+r) {
			return r
		}
	}
	return ""
}

// sysctlPrefixes begin the settings that bear on connections.
var sysctlPrefixes = []string{
	"net.netfilter.nf_conntrack", "net.nf_conntrack_max", "net.ipv4.neigh.default.gc_thresh", "net.ipv6.neigh.default.gc_thresh", "net.core.somaxconn",
	"net.core.netdev_max_backlog", "net.ipv4.tcp_max_syn_backlog", "net.ipv4.tcp_syncookies", "net.ipv4.ip_local_port_range",
	"net.ipv4.ip_forward", "net.bridge.bridge-nf-call", "net.ipv4.conf.all.rp_filter", "net.ipv4.conf.default.rp_filter",
	"net.ipv4.tcp_tw_reuse", "net.ipv4.tcp_abort_on_overflow", "net.ipv4.conf.all.route_localnet", "net.ipv6.conf.all.disable_ipv6",
}

// conntrackStats are the counters of conntrack -S that tell of trouble.
var conntrackStats = []string{"invalid", "insert_failed", "drop", "early_drop", "error", "search_restart", "clash_resolve", "chaintoolong"}

func startSysctl(h *hostReader) (func([]byte) bool, func()) {
	sums := map[string]int64{} // of conntrack -S, over the CPUs
	entries, unreplied := int64(0), int64(0)
	single := ""
	if base := path.Base(h.path()); strings.HasPrefix(base, "nf_conntrack_") {
		single = base
	}
	put := func(name, value string) {
		switch name {
		case "net.netfilter.nf_conntrack_count", "nf_conntrack_count":
			h.fact(event.HostFact{Tool: event.ToolConntrack, Key: "count", Value: value})
		case "net.netfilter.nf_conntrack_max", "net.nf_conntrack_max", "nf_conntrack_max":
			h.fact(event.HostFact{Tool: event.ToolConntrack, Key: "max", Value: value})
		default:
			for _, p := range sysctlPrefixes {
				if strings.HasPrefix(name, p) {
					h.fact(event.HostFact{Tool: event.ToolSysctl, Key: name, Value: value})
					return
				}
			}
		}
	}
	line := func(line []byte) bool {
		w := words(line)
		switch {
		case len(w) == 1 && single != "":
			if _, ok := allDigits([]byte(w[0])); !ok {
				return false
			}
			put(single, w[0])
			return true
		case len(w) >= 2 && strings.HasPrefix(w[0], "cpu=") && strings.Contains(w[1], "="): // conntrack -S
			for _, s := range w[1:] {
				k, v, _ := strings.Cut(s, "=")
				if n, err := strconv.ParseInt(v, 10, 64); err == nil && slices.Contains(conntrackStats, k) {
					sums[k] += n
				}
			}
			return true
		case len(w) >= 8 && bytes.Contains(line, []byte(" src=")) && bytes.Contains(line, []byte(" dst=")) && isDigit(w[1][0]):
			entries++
			if bytes.Contains(line, []byte("[UNREPLIED]")) {
				unreplied++
			}
			return true
		case bytes.HasPrefix(line, []byte("conntrack v")):
			return true
		}
		name, value, ok := strings.Cut(string(line), " =")
		if !ok || strings.ContainsAny(name, " \t{}\"") || !strings.Contains(name, ".") {
			return false
		}
		switch first, _, _ := strings.Cut(name, "."); first {
		case "net", "kernel", "vm", "fs", "abi", "debug", "dev", "user", "crypto", "sunrpc", "fscache":
		default:
			return false
		}
		put(name, strings.TrimSpace(value))
		return true
	}
	return line, func() {
		for _, k := range conntrackStats {
			if n, ok := sums[k]; ok {
				h.fact(event.HostFact{Tool: event.ToolConntrack, Key: k, Value: fmt.Sprint(n)})
			}
		}
		if entries > 0 {
			h.fact(event.HostFact{Tool: event.ToolConntrack, Key: "entries", Value: fmt.Sprint(entries)})
			h.fact(event.HostFact{Tool: event.ToolConntrack, Key: "unreplied", Value: fmt.Sprint(unreplied)})
		}
	}
}
