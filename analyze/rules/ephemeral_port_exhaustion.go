package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/probe"
)

var _ = register(Rule{
	ID: "ephemeral-port-exhaustion", Family: FamilyPath, Tier: 2, Rank: 86,
	Title:      "the kubelet ran out of local ports",
	Definition: "The kubelet could not get a local port for the connection.",
	Notes: []string{
		"Log: \"connect: cannot assign requested address\". Packets: no SYN for the attempt.",
	},
	Needs:       []string{"\"cannot assign requested address\" on connect."},
	Supports:    []string{"A kubelet before 1.27, whose probe sockets stay in TIME_WAIT for a minute.", "Many probes with a short period."},
	Contradicts: []string{"The text is absent."},
	LookAlikes:  []LookAlike{{"pod-ip-empty", "the error text names no IP"}},
	Limits:      []Limit{{"kubelet log alone", 0.90}},
	Sentence:    "The kubelet had no local port left to probe %s.",
	Recommend:   []string{"ephemeral-ports"},
	Collect:     []string{MissKernelLog, MissKubeletLog},
	Precedents:  []string{"https://github.com/kubernetes/kubernetes/pull/115143", "https://github.com/kubernetes/kubernetes/pull/115321"},
	Eval:        evalEphemeralPorts,
})

func evalEphemeralPorts(c *Case) (v Verdict) {
	as := c.OfClass(probe.ClassAddrNotAvail)
	if len(as) == 0 || c.Share(as) < 0.4 {
		return v
	}
	v.Satisfied = v.Need(GroupKubelet, WeightLiteral, factOf(fmt.Sprintf("%d attempts could not get a local port.", len(as)), as))
	if n := c.Index.Node(c.Node); n != nil && n.Seen != nil && lingering(n.Seen.KubeletVersion) {
		v.Sup(GroupSpec, WeightSmell, Fact{Claim: "Kubelet " + n.Seen.KubeletVersion + " keeps every probe socket for a minute.", Refs: cite(n.SeenRef), N: 1})
	}
	v.Limit(0.90, "the text names the shortage, not who uses the ports")
	v.Ask(MissKernelLog)
	return v
}

// lingering reports whether a kubelet leaves probe sockets in TIME_WAIT for the
// whole minute: before 1.27, late patch releases of 1.24 to 1.26 aside.
func lingering(version string) bool {
	major, rest, ok := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	return ok && err == nil && major == "1" && n < 24
}
