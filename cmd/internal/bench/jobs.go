package main

import (
	"strconv"
)

// job is one comparison.
type job struct {
	name  string // also the name of its input
	about string
	// gen are the generator's arguments without the output. stream pipes it into the
	// product instead of storing it; prepare makes the input from what was generated.
	gen     []string
	stream  bool
	prepare string
	needs   string // program that prepare needs
	// product are the product's arguments besides input and output directory.
	product []string
	peers   []peer
	// slow jobs run one round only.
	slow bool
	// fleet makes a case of every file of the input, which is a directory.
	fleet bool
	// check names the counts of the truth that the answer must repeat.
	check []string
	// fails wants every failed attempt of the truth to be counted as one.
	fails bool
	goals []goal
}

// peer is a program that does a part of the job.
type peer struct {
	name, needs string
	line        string // for the shell, $F is the file
	// answer is the count of the truth that it must print as its last number, ""
	// when it prints none.
	answer string
	// slow peers run in the first round only.
	slow bool
	// noHash leaves sha256sum out of its figure.
	noHash bool
}

// goal is one figure to reach.
type goal struct {
	what string // "cpu", "cpu/GB", "rss", or the name of a peer for the ratio to it
	max  float64
	// small goals hold for small inputs too; the others are for the full size.
	small bool
}

// scale sizes the inputs.
type scale struct {
	quick           bool
	packets, stream string
	log, json       string
	pods, events    int
	gatherLog       string
	xzLog           string // packing takes long
	rounds          int
	bundles         []int // of archives
}

// fleetPrefix begins the names of the jobs over many bundles.
const fleetPrefix = "bundles-"

func scaleOf(quick bool) scale {
	if quick {
		return scale{quick: true, packets: "400000", stream: "100M", log: "60M", json: "40M", pods: 250, events: 6000, gatherLog: "20M", xzLog: "2M", rounds: 10, bundles: []int{25, 100}}
	}
	return scale{packets: "8000000", stream: "10G", log: "1070M", json: "270M", pods: 5000, events: 60000, gatherLog: "300M", xzLog: "20M", rounds: 40, bundles: []int{250, 1000}}
}

var packetCounts = []string{"frames", "tcp_syn", "tcp_synack", "tcp_rst", "tcp_syn_retransmitted", "arp_request", "arp_reply"}

const (
	tcpdump = "tcpdump --count -nr $F 'tcp[tcpflags] & tcp-syn != 0'"
	allDone = "term,md,html,json,parquet"
	// words are those of workload.Relevant.
	words = `-e '"Probe failed"' -e '"Probe errored"' -e '"SyncLoop (probe)"' -e '"SyncLoop (PLEG)' -e '"Failed to create sandbox for pod"' -e '"Killing container with a grace period"' -e 'failed liveness probe' -e 'failed startup probe'`
)

// jobs are all comparisons in the order of the report.
func jobs(s scale) []job {
	out := []job{
		{name: "packets.pcap", about: "capture on a node's bridge: probes of 250 pods, ten times as much other traffic",
			gen: []string{"-kind", "packets", "-n", s.packets}, check: packetCounts,
			peers: []peer{
				{name: "tcpdump --count", needs: "tcpdump", line: tcpdump, answer: "tcp_syn_flag"},
				{name: "tcptrace", needs: "tcptrace", line: "tcptrace -n $F >/dev/null", slow: true, noHash: true},
			},
			goals: []goal{{"tcpdump --count", 2, true}, {"tcptrace", 0.2, false}, {"rss", 64, true}}},
		{name: "packets-96.pcap", about: "the same, 96 bytes of each packet", gen: []string{"-kind", "packets", "-n", s.packets, "-snaplen", "96"}, check: packetCounts,
			peers: []peer{{name: "tcpdump --count", needs: "tcpdump", line: tcpdump, answer: "tcp_syn_flag"}},
			goals: []goal{{"tcpdump --count", 2, true}, {"rss", 64, true}}},
		{name: "packets.pcapng", about: "the same as pcapng", gen: []string{"-kind", "packets", "-n", s.packets, "-format", "pcapng"}, check: packetCounts,
			peers: []peer{{name: "tcpdump --count", needs: "tcpdump", line: tcpdump, answer: "tcp_syn_flag"}},
			goals: []goal{{"tcpdump --count", 2, true}, {"rss", 64, true}}},
		{name: "kubelet.log", about: "kubelet journal (short-precise), one line in fifty about a probe", gen: []string{"-kind", "journal", "-size", s.log},
			check: []string{"lines", "probe_failed"}, fails: true,
			peers: []peer{
				{name: "rg -c -F", needs: "rg", line: "rg --no-config -c -F " + words + " $F", answer: "relevant"},
				{name: "grep -c -F", needs: "grep", line: "grep -c -F " + words + " $F", answer: "relevant"},
			},
			goals: []goal{{"rg -c -F", 4, false}, {"grep -c -F", 1, false}, {"rss", 200, true}}},
		{name: "kubelet.json", about: "the same as journalctl -o json", gen: []string{"-kind", "journal", "-format", "json", "-size", s.json},
			check: []string{"lines", "probe_failed"}, fails: true,
			peers: []peer{{name: "jq", needs: "jq", line: `jq -c 'select(.MESSAGE | contains("\"Probe failed\"")) | .MESSAGE' $F | wc -l`, answer: "probe_failed", slow: true}},
			goals: []goal{{"cpu/GB", 2.5, false}}},
		{name: "kubelet.export", about: "the same as journalctl -o export", gen: []string{"-kind", "journal", "-format", "export", "-size", s.json},
			check: []string{"probe_failed"}, fails: true},
		{name: "binary-journal", about: "the same as binary journals, a directory of them", gen: []string{"-kind", "journal", "-format", "export", "-size", s.json},
			prepare: "mkdir -p $OUT && " + journalRemote + " -o $OUT/system.journal - <$F >/dev/null", needs: journalRemote,
			check: []string{"probe_failed"}, fails: true,
			peers: []peer{{name: "journalctl -g", needs: "journalctl", line: `journalctl --directory=$F -u kubelet -g '"Probe failed"' -o cat | wc -l`, answer: "probe_failed"}},
			goals: []goal{{"journalctl -g", 0.5, false}}},
	}
	if !s.quick {
		out = append(out, job{name: "million.pcap", about: "the same, 1 M packets", gen: []string{"-kind", "packets", "-n", "1000000"}, check: packetCounts,
			peers: []peer{
				{name: "tcpdump --count", needs: "tcpdump", line: tcpdump, answer: "tcp_syn_flag"},
				{name: "tshark -z conv,tcp", needs: "tshark", line: "tshark -n -q -z conv,tcp -r $F >/dev/null 2>&1", slow: true, noHash: true},
			},
			goals: []goal{{"tcpdump --count", 2, false}, {"rss", 64, true}}})
	}
	for _, z := range []string{"gz", "zst", "xz"} {
		line := map[string]string{"gz": "tar xzOf $F", "zst": "zstd -dc $F | tar xOf -", "xz": "xz -dc $F | tar xOf -"}[z]
		log := s.gatherLog
		if z == "xz" {
			log = s.xzLog
		}
		j := job{name: "must-gather.tar." + z, about: strconv.Itoa(s.pods) + " pods, " + strconv.Itoa(s.events) + " events, two kubelet logs of " + log + "B, audit log",
			gen:   []string{"-kind", "gather", "-pods", strconv.Itoa(s.pods), "-events", strconv.Itoa(s.events), "-log-size", log},
			check: []string{"probe_failed"},
			peers: []peer{{name: "tar, grep -c", needs: "tar", line: line + ` | grep -c -F '"Probe failed"'`, answer: "probe_failed"}},
			goals: []goal{{"rss", 200, true}}}
		switch z {
		case "gz":
			j.goals = append(j.goals, goal{"tar, grep -c", 0.9, false})
		case "zst":
			j.peers[0].needs = "zstd"
		case "xz":
			j.peers[0].needs, j.slow = "xz", true
		}
		out = append(out, j)
	}
	out = append(out,
		job{name: "events.yaml", about: "a namespace's events as YAML", gen: []string{"-kind", "events", "-n", strconv.Itoa(s.events)},
			goals: []goal{{"cpu", 1, true}, {"rss", 64, true}}},
		job{name: "small.tar.gz", about: "a must-gather of 20 pods with a log and a capture: start-up", slow: false,
			gen: []string{"-kind", "gather", "-pods", "20", "-fault-every", "10", "-events", "200", "-log-size", "400K", "-audit", "100", "-capture", "3000"}, check: []string{"probe_failed"},
			product: []string{"-f", allDone}, goals: []goal{{"cpu", 0.3, true}}},
		job{name: "all-formats.pcap", about: "a capture, every output, tables included", gen: []string{"-kind", "packets", "-n", s.packets}, check: packetCounts,
			product: []string{"-f", allDone}, goals: []goal{{"rss", 200, true}}},
		job{name: "stream-packets", about: s.stream + "B of packets through a pipe, every output", gen: []string{"-kind", "packets", "-size", s.stream}, stream: true, slow: true,
			check: packetCounts, product: []string{"-f", allDone}, goals: []goal{{"rss", 200, true}}},
		job{name: "stream-log", about: s.stream + "B of kubelet log through a pipe, one line in 500 about a probe, every output", gen: []string{"-kind", "journal", "-size", s.stream, "-noise", "499"}, stream: true, slow: true,
			check: []string{"lines", "probe_failed"}, fails: true, product: []string{"-f", allDone}, goals: []goal{{"rss", 200, true}}},
	)
	for _, k := range []int{1, 2, 4, 8} {
		out = append(out, job{name: "growth-" + strconv.Itoa(k), about: "objects, log and capture of 250 pods that all fail, " + strconv.Itoa(k) + "x the time",
			gen:   []string{"-kind", "node", "-pods", "250", "-fault-every", "1", "-bulk", "1", "-noise", "5", "-rounds", strconv.Itoa(s.rounds * k)},
			check: []string{"probe_failed", "tcp_syn"}})
	}
	for _, n := range s.bundles {
		out = append(out, job{name: fleetPrefix + strconv.Itoa(n), about: strconv.Itoa(n) + " small must-gathers, each a case of its own, two at a time",
			gen: []string{"-kind", "bundles", "-n", strconv.Itoa(n)}, fleet: true, slow: true, product: []string{"--each", "--workers", "2", "-f", "json"},
			check: []string{"probe_failed", "tcp_syn"}, goals: []goal{{"rss", 200, true}}})
	}
	return append(out, job{name: "attempts", about: strconv.Itoa(s.pods) + " pods that all fail, objects, logs and captures of all nodes: " + strconv.Itoa(s.pods*20) + " failed attempts to join",
		gen:   []string{"-kind", "node", "-pods", strconv.Itoa(s.pods), "-fault-every", "1", "-bulk", "0", "-noise", "0", "-rounds", "40"},
		check: []string{"probe_failed", "tcp_syn"}, slow: true, goals: []goal{{"cpu", 60, true}}})
}
